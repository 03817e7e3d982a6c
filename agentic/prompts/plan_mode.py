"""What a model is told while it makes a plan.

Reason: the person wants to agree before anything is changed.  The rules refuse what changes, so the model is told how
to get on.
"""

PLANNING = (
    "You are making a plan: nothing is changed before the person agrees. Read what you need, ask what only the person knows,"
    " then call propose_plan with the whole plan."
)
