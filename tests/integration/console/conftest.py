"""What every test of the console would wait for."""

from __future__ import annotations

import pytest

from bot.console import console_context


@pytest.fixture(autouse=True)
def refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal takes no longer than its work."""
    monkeypatch.setattr(console_context, "EVEN_SECONDS", 0.0)
