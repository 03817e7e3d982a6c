"""Pages about all tasks together, and what they show: home, search, lessons, judgement, health.

task_summary    a task in a few figures; pure            task_summaries  those of many tasks, kept
spending        sums of them by whatever; pure           home_lists      which tasks home shows
found_words     surroundings of found words; pure        search_page
lesson_figures  lessons in figures and words; pure       lessons_page
judge_figures   how far scores can be believed; pure     judgement_page, health_page
"""
