"""Logs whose turns are one call with its result, without what the rules would do about it."""

from __future__ import annotations

from pydantic import JsonValue

from agentic.core.events.execution_events import ToolFinished, TurnEnded
from agentic.core.events.values import (
    Confidence,
    ConfidenceParts,
    FileChange,
    Outcome,
)
from tests.unit.core.building import Log

NEUTRAL = ConfidenceParts(self_report=70, tool_ok=1, same_error=0, tests=0.5, progress=1, corrections=0)


class Work(Log):
    """A log whose turns are one call with its result, without what the rules would do about it."""

    def did(
        self,
        tool: str,
        said: str = "",
        outcome: Outcome = "ok",
        *,
        error: str = "",
        changes: tuple[FileChange, ...] = (),
        tests: tuple[int, int] | None = None,
        **arguments: JsonValue,
    ) -> Work:
        self.answer((tool, arguments))
        call = self.start()
        self.add(
            ToolFinished(
                call=call,
                outcome=outcome,
                preview=said,
                error=error,
                changes=changes,
                tests_passed=tests[0] if tests else None,
                tests_failed=tests[1] if tests else None,
            )
        )
        return self.end()

    def end(self) -> Work:
        self.add(
            TurnEnded(turn=self.execution.turn.number, confidence=Confidence(shown=70, heuristic=70, parts=NEUTRAL))
        )
        return self

    def looked(self, *names: str) -> Work:
        for name in names:
            self.did("look", f"this is {name}", name=name)
        return self


def change(path: str, before: str, after: str) -> FileChange:
    return FileChange(path=path, kind="modified", sha_before=before, sha_after=after)


def finished(preview: str, outcome: Outcome = "ok", error: str = "") -> ToolFinished:
    return ToolFinished(call="c", outcome=outcome, preview=preview, error=error)
