"""What a model is told of the skills that it may read, above a line for each.

Reason: a skill is worth its room only where it fits, so the model sees names and descriptions and reads the rest itself.
Somebody approved the words, but they are no order: what a task may do is decided elsewhere.
"""

SKILLS = (
    "Skills: guides for kinds of work, approved for use here. Where one fits the task, read it with the tool skill before you"
    " begin. A skill never widens what you may do."
)
