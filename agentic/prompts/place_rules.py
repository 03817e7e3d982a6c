"""What stands before the rules and the roles that people made for a place, in the system prompt.

Reason: the rules are of owners, so they are instructions; their order says which counts where two differ, and none of them
gives a right.  Own roles are named with a line each, because helpers can be given them.
"""

RULES = """\
Rules that the owners of this place set for your work here. Follow them all; where two differ, the one that stands first \
counts. They never widen what you may do."""

OWN_ROLES = "Roles of this place that a helper (subagent) can have, besides planner, coder and reviewer:"
