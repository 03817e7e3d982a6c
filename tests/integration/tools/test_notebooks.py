"""Notebooks in a real sandbox: read by cells, changed one cell at a time, under the rules that hold for every file."""

from __future__ import annotations

import json
from dataclasses import replace

from agentic.tools.files.notebook_edit import NOTEBOOK_EDIT_TOOL, notebooks_in
from agentic.tools.toolbox import STANDARD, StandardToolbox
from agentic.workspace.workspace import RealWorld

from .bench import Bench

SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
BOOK = {
    "cells": [
        {"cell_type": "markdown", "id": "top", "metadata": {}, "source": ["# Sales"]},
        {
            "cell_type": "code", "execution_count": 1, "id": "load", "metadata": {},
            "outputs": [{"name": "stdout", "output_type": "stream", "text": ["42\n"]}],
            "source": [f"token = '{SECRET}'\n", "rows = 42"],
        },
    ],
    "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
}  # fmt: skip
TEXT = json.dumps(BOOK, indent=1) + "\n"


def with_notebooks(bench: Bench) -> Bench:
    async def world() -> RealWorld:
        return bench.world

    return replace(bench, toolbox=StandardToolbox(world, (*STANDARD, NOTEBOOK_EDIT_TOOL)))


async def test_a_cell_is_replaced_after_the_notebook_was_read_and_nothing_else_changes(bench: Bench) -> None:
    here = with_notebooks(bench)
    assert not notebooks_in(here.workspace)
    file = here.put("work/a.ipynb", TEXT)
    assert notebooks_in(here.workspace)
    change = {"path": "work/a.ipynb", "action": "replace", "cell": "top", "source": "# Sales of May"}
    unread = await here.call("notebook_edit", **change)
    assert (unread.outcome, "Read it first" in unread.preview) == ("refused", True)
    seen = await here.call("read", path="work/a.ipynb")
    assert "[2] code id=load\ntoken = '[secret: GitHub token]'\nrows = 42\n  printed:\n    42" in seen.preview
    assert SECRET not in seen.preview
    done = await here.call("notebook_edit", **change)
    assert (done.outcome, [change.path for change in done.changes]) == ("ok", ["work/a.ipynb"])
    assert "cell 1 is replaced." in done.preview
    assert file.read_text() == TEXT.replace("# Sales", "# Sales of May")

    source = "token = '[secret: GitHub token]'\nrows = 43"
    kept = await here.call("notebook_edit", path="work/a.ipynb", action="replace", cell=2, source=source)
    assert (kept.outcome, SECRET in kept.preview) == ("ok", False)
    assert "What it had printed is gone with it." in kept.preview
    cells = json.loads(file.read_text())["cells"]
    assert cells[1]["source"] == [f"token = '{SECRET}'\n", "rows = 43"], "the secret stays what it is"
    assert cells[1]["outputs"] == []

    stray = await here.call("notebook_edit", path="work/a.ipynb", action="insert", cell=0, source="[secret: AWS key]")
    assert (stray.outcome, "stands for a secret" in stray.preview) == ("refused", True)
    for action, cell in (("insert", 2), ("delete", 1)):
        given = {"source": "1 + 1"} if action == "insert" else {}
        assert (
            await here.call("notebook_edit", path="work/a.ipynb", action=action, cell=cell, **given)
        ).outcome == "ok"
    assert [cell["cell_type"] for cell in json.loads(file.read_text())["cells"]] == ["code", "code"]
    none = await here.call("notebook_edit", path="work/a.ipynb", action="delete", cell=7)
    assert none.preview == "Nothing was written to work/a.ipynb: there is no cell 7; it has cells 1 to 2."

    file.write_text(TEXT)
    stale = await here.call("notebook_edit", path="work/a.ipynb", action="delete", cell=1)
    assert (stale.outcome, "changed since you read it" in stale.preview) == ("refused", True)
    assert file.read_text() == TEXT


async def test_what_is_hidden_or_broken_is_not_changed(bench: Bench) -> None:
    here = with_notebooks(bench)
    here.put(".aiignore", "hidden.ipynb\n")
    here.put("hidden.ipynb", TEXT)
    broken = here.put("broken.ipynb", TEXT[:-3])
    hidden = await here.call("notebook_edit", path="hidden.ipynb", action="delete", cell=1)
    assert (hidden.outcome, hidden.barred) == ("refused", "hidden")
    seen = await here.call("read", path="broken.ipynb")
    assert seen.preview.startswith("(It cannot be shown by cells: it is no JSON: line ")
    assert '"cell_type": "markdown"' in seen.preview
    told = await here.call("notebook_edit", path="broken.ipynb", action="delete", cell=1)
    assert told.preview.startswith("broken.ipynb is no notebook that can be changed by cells: it is no JSON: line ")
    assert told.preview.endswith("Mend it with edit or python.")
    assert broken.read_text() == TEXT[:-3]
    missing = await here.call("notebook_edit", path="brokn.ipynb", action="delete", cell=1)
    assert "Similar names there: broken.ipynb" in missing.preview
