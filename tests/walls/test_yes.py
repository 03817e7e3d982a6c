"""A person's yes covers what they were shown: whatever else the call then destroys is put back and asked about anew."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agentic.ports.runtime import Observation, Prepared
from agentic.tools.toolbox import StandardToolbox
from tests.walls.tally import Wall
from tests.walls.test_losses import going_on, place, standing

TOOL = "import shutil; shutil.rmtree('do' + 'cs')"
MORE = f"{TOOL}; shutil.rmtree('s' + 'rc')"
OTHER = "import shutil; shutil.rmtree('s' + 'rc')"
EDIT = "open('docs/p0.md', 'a').write('three hours of work')"
Change = Callable[[Path], None]
Form = tuple[str, Change]
"""A call that is put back at first, or that a gate asks about, and what happens before it runs with the yes."""


def rewrite(name: str, text: str) -> Change:
    """A script is exchanged, as something that was left running may do."""

    def change(work: Path) -> None:
        (work / name).write_text(text)

    return change


def by_hand(code: str) -> Change:
    """Something else changes, by whoever owns the workspace."""

    def change(work: Path) -> None:
        owner = work.stat()
        subprocess.run(["python3", "-c", code], cwd=work, check=True, user=owner.st_uid, group=owner.st_gid)

    return change


def nothing(_: Path) -> None:
    """All is as it was shown."""


SH = "rm -r do?s"
WRITTEN_ANEW = "'of another day and of other things, with nothing of what was there before. ' * 30"
BEYOND: dict[str, Form] = {
    "a script does more": ("python3 tool.py", rewrite("tool.py", MORE)),
    "a script does something else": ("python3 tool.py", rewrite("tool.py", OTHER)),
    "a script deletes one file more": ("python3 tool.py", rewrite("tool.py", f"{TOOL}; __import__('os').unlink('src/m0.py')")),
    "a script writes one file anew as well": (
        "python3 tool.py", rewrite("tool.py", f"{TOOL}; open('data/t0.csv', 'w').write({WRITTEN_ANEW})")),
    "a script only writes one file anew": (
        "python3 tool.py", rewrite("tool.py", f"open('data/t0.csv', 'w').write({WRITTEN_ANEW})")),
    "a script locks a folder": ("python3 tool.py", rewrite("tool.py", f"{TOOL}; __import__('os').chmod('src', 0)")),
    "a module": ("python3 -m tool", rewrite("tool.py", MORE)),
    "a module of a package": ("python3 -m pack.work", rewrite("pack/work.py", MORE)),
    "an import of the script": ("python3 uses.py", rewrite("tool.py", MORE)),
    "a program": ("./run", rewrite("run", f"#!/bin/sh\n{SH} s?c\n")),
    "a target of make": ("make fresh", rewrite("Makefile", "fresh:\n\tpython3 tool.py; rm -r s?c\n")),
    "what a target calls": ("make fresh", rewrite("tool.py", MORE)),
    "a file that a shell reads": (". ./steps", rewrite("steps", f"{SH} s?c\n")),
    "a list of names": ("xargs rm -r < names", rewrite("names", "docs src\n")),
    "a name in the environment file": (". ./env; rm -r $D", rewrite("env", "D='docs src'\n")),
    "a file was edited meanwhile": ("python3 tool.py", by_hand(EDIT)),
    "a file came to the folder": ("python3 tool.py", by_hand("open('docs/new.md', 'w').write('work of today')")),
    "another file of the same name": ("python3 tool.py", by_hand("open('docs/p0.md', 'w').write('another page')")),
    "a link to another folder": ("xargs -I @ sh -c 'rm -r @/*' < at", rewrite("at", "src\n")),
    "named, and a script that does more": ("rm -rf docs && python3 other.py", rewrite("other.py", OTHER)),
    "named, and a target": ("rm -rf docs; make rest", rewrite("Makefile", "rest:\n\trm -r s?c\n")),
    "named by a pattern, and a script": ("rm -rf docs/p*; python3 other.py", rewrite("other.py", OTHER)),
    "a pattern that only another step names": (
        "rm -f none*; ls * >/dev/null; python3 other.py", rewrite("other.py", OTHER)),
    "a pattern of files, and a script": ("rm -f s*; python3 other.py", rewrite("other.py", OTHER)),
    "code that names it, and imports": ("#import shutil; shutil.rmtree('docs'); import other", rewrite("other.py", OTHER)),
    "history of git": ("python3 tool.py", rewrite("tool.py", f"{TOOL}; shutil.rmtree('.g' + 'it')")),
}  # fmt: skip
SHOWN: dict[str, Form] = {
    "a script": ("python3 tool.py", nothing),
    "a target of make": ("make fresh", nothing),
    "a script, while others work elsewhere": ("python3 tool.py", by_hand("open('src/new.py', 'w').write('x = 1')")),
    "a script that does less": ("python3 tool.py", rewrite("tool.py", "import os; os.unlink('docs/p0.md')")),
    "a script that leaves something": ("python3 tool.py", rewrite("tool.py", f"{TOOL}; open('new', 'w').write('x')")),
    "a folder that is named": ("rm -rf docs", nothing),
    "folders that are named, and what is ordinary": ("rm -rf docs src; sed -i s/n/m/ data/t*.csv", nothing),
    "a pattern that is named": ("rm -rf docs/* && ls", nothing),
    "code that names it": ("#import shutil; shutil.rmtree('docs')", nothing),
}  # fmt: skip


def scripts(work: Path) -> None:
    """What the calls run; somebody's."""
    owner = work.stat()
    (work / "pack").mkdir()
    texts = {
        "tool.py": TOOL, "pack/__init__.py": "", "pack/work.py": TOOL, "uses.py": "import tool", "other.py": "",
        "run": f"#!/bin/sh\n{SH}\n", "steps": f"{SH}\n", "names": "docs\n", "env": "D=docs\n", "at": "docs\n",
        "Makefile": "fresh:\n\tpython3 tool.py\nrest:\n\ttrue\n",
    }  # fmt: skip
    for name, text in texts.items():
        (work / name).write_text(text)
        (work / name).chmod(0o777)
    subprocess.run(["chown", "-R", f"{owner.st_uid}:{owner.st_gid}", "."], cwd=work, check=True)


async def run(toolbox: StandardToolbox, said: str, **more: object) -> Observation:
    """The call as the loop makes it; the gate is somebody else's question."""
    tool, arguments = ("python", {"code": said[1:]}) if said[0] == "#" else ("shell", {"command": said})
    prepared = toolbox.prepare(tool, {**arguments, "timeout": 60})
    assert isinstance(prepared, Prepared), prepared
    return await toolbox.run(tool, "c1", replace(prepared, **more), lambda _: None)  # type: ignore[arg-type]


async def tried(form: Form, work: Path, toolbox: StandardToolbox) -> tuple[Observation, dict[str, bytes]]:
    """What the call comes to with the yes, and the files as they stood before that."""
    said, change = form
    await asyncio.to_thread(scripts, work)
    prepared = toolbox.prepare("shell", {"command": said}) if said[0] != "#" else None
    shown = frozenset[str]()
    if said[0] != "#" and isinstance(prepared, Prepared) and not prepared.gate:
        seen = await run(toolbox, said)
        assert seen.put_back is not None, (said, seen.preview)
        shown = frozenset(seen.put_back.losses)
    await asyncio.to_thread(change, work)
    before = standing(work)
    return await run(toolbox, said, approved=True, shown=shown), before


async def each(forms: dict[str, Form], judge: Callable[[str, Observation, bool], None]) -> None:
    """Each form in a place of its own, two at a time; ``judge`` is told whether all files stand as before the yes."""
    places = asyncio.Semaphore(2)
    with tempfile.TemporaryDirectory(prefix="tw-yes-", ignore_cleanup_errors=True) as scratch:
        Path(scratch).chmod(0o755)

        async def one(number: int, name: str, form: Form) -> None:
            async with places, place(Path(scratch) / str(number)) as (work, toolbox):
                seen, before = await tried(form, work, toolbox)
                judge(name, seen, standing(work).items() >= before.items())

        await asyncio.gather(*(one(number, *form) for number, form in enumerate(forms.items())))


@pytest.mark.wall("yes")
async def test_what_was_not_shown_is_put_back_and_asked_about_anew(wall: Wall) -> None:
    def judge(name: str, seen: Observation, whole: bool) -> None:
        wall.held(name, whole and seen.put_back is not None and bool(seen.put_back.losses), seen.preview)

    await each(BEYOND, judge)


@pytest.mark.wall("yes")
async def test_what_was_shown_stays_as_the_call_leaves_it(wall: Wall) -> None:
    def judge(name: str, seen: Observation, whole: bool) -> None:
        wall.held(name, seen.put_back is None and not whole, seen.preview)

    await each(SHOWN, judge)


@pytest.mark.wall("yes")
async def test_something_left_running_exchanges_the_script_once_it_was_put_back(tmp_path: Path) -> None:
    async with place(tmp_path / "one") as (work, toolbox):
        await asyncio.to_thread(scripts, work)
        waits = 'mkfifo go; (read x < go; echo "' + MORE + '" > tool.py; touch gone) >/tmp/o 2>&1 & true'
        assert (await run(toolbox, waits)).put_back is None
        seen = await run(toolbox, "python3 tool.py")
        assert seen.put_back is not None
        await going_on(work, "gone", "go")
        again = await run(toolbox, "python3 tool.py", approved=True, shown=frozenset(seen.put_back.losses))
        assert again.put_back is not None
        assert "10 files" in again.put_back.destroyed
        assert len([*(work / "docs").iterdir(), *(work / "src").iterdir()]) == 10
        assert (
            await run(toolbox, "python3 tool.py", approved=True, shown=frozenset(again.put_back.losses))
        ).put_back is None
        assert not (work / "src").exists()
