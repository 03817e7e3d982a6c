"""The prompt of each role, one file a role: it follows the tools in the system prompt."""

from agentic.prompts.roles import (
    architect,
    code_reviewer,
    dba,
    devops,
    documentation,
    js_ts_coder,
    planner,
    python_coder,
    researcher,
    shell,
)

TEXTS = {
    "planner": planner.TEXT,
    "python-coder": python_coder.TEXT,
    "js-ts-coder": js_ts_coder.TEXT,
    "shell": shell.TEXT,
    "devops": devops.TEXT,
    "architect": architect.TEXT,
    "code-reviewer": code_reviewer.TEXT,
    "documentation": documentation.TEXT,
    "dba": dba.TEXT,
    "researcher": researcher.TEXT,
}
