"""What all pages of the console have in common."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.console import page_templates
from bot.console.page_templates import Pages


def loaded() -> set[str]:
    """The addresses of scripts and styles that a page loads."""
    page = Pages().render("trouble.html", words="Nothing here.", status=404, viewer=None)
    return set(re.findall(r'"(/static/[^"]+\.(?:js|css)[^"]*)"', page))


def test_a_browser_that_kept_a_script_loads_it_anew_once_it_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = loaded()
    assert len(before) == 4
    assert loaded() == before
    (tmp_path / "console.js").write_text("// newer", encoding="utf-8")
    monkeypatch.setattr(page_templates, "STATIC", tmp_path)
    assert not loaded() & before
