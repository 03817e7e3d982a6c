"""What commands say of what there is: it is true, and says what there is not."""

from __future__ import annotations

from agentic.core.events.execution_events import Policy, ToolRef, Triaged
from agentic.core.prompt.role_file import shipped
from agentic.core.prompt.roles import in_role
from bot.messages import report_text
from tests.unit.bot.following import STARTED, log_of


def test_rules_say_that_a_workspaces_own_files_are_data() -> None:
    said = report_text.rules(Policy())
    assert "I quote an AGENTS.md" in said
    assert "never gives me more rights" in said


def test_the_role_is_told_with_the_tools_that_it_has_and_the_others_there_are() -> None:
    tools = (ToolRef(name="read", permission="read"), ToolRef(name="write", permission="write"))
    started = STARTED.model_copy(update={"role": "", "tools": tools})
    triaged = in_role(started, Triaged(talk=False, role="code-reviewer"))
    said = report_text.role(log_of(started, triaged), shipped())
    assert "Role: **code-reviewer**, a medium task." in said
    assert "Tools: read\n" in said
    assert all(name in said for name in shipped())
    assert "/settings set name:role" in said
