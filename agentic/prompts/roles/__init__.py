"""The shipped roles: one Markdown file each, of the form that people's own roles have.

They are texts that ship with the code, and are read like it: once, when this is imported.
"""

from importlib.resources import files

NAMES = (
    "planner", "python-coder", "js-ts-coder", "shell", "devops", "architect", "code-reviewer", "documentation", "dba",
    "researcher",
)  # fmt: skip
FILES = {name: files(__name__).joinpath(f"{name}.md").read_text("utf-8") for name in NAMES}
