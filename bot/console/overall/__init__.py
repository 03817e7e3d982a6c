"""Pages about all tasks together: home's lists, search, lessons, judgement, health.

figures         what they show; pure
task_summaries  a few figures of each of many tasks, kept
home_lists      which tasks somebody sees, and what these cost
"""
