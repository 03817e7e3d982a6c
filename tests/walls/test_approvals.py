"""What a person decides about is what is there, whatever the agent planted in its home, its repository and its files."""

from __future__ import annotations

import ast
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agentic.tools.approval.named_paths import look
from agentic.workspace.git_objects import GitProblem, Objects
from agentic.workspace.git_repository import Offered, Repository
from agentic.workspace.workspace import RealWorld
from tests.integration.world.rungs import Ground, docker_url, ground, rung_name
from tests.integration.world.test_masks import world_on
from tests.walls.tally import Wall

__all__ = ["docker_url", "ground", "rung_name"]

ROOT = Path(__file__).parents[2]
BRANCH = "threadwright/round-prices-abcd1234"
GOOD, EVIL = "a = 1\nb = 2\nc = 4\n", "a = 1\nb = 2\nc = steal()\n"
START = (
    "set -e; cd /workspace; rm -rf r ~/.local ~/.gitconfig ~/.config ~/.bashrc ~/.profile /tmp/lie*; mkdir -p r ~/.local/bin"
    " ~/.config/git; cd r; git init -q -b main .; git config user.name P; git config user.email p@example.org;"
    " printf 'a = 1\\nb = 2\\nc = 3\\n' > price.py; echo other > other.py; git add .; git commit -qm first;"
    f" printf '{EVIL}' > price.py; printf '{GOOD}' > /tmp/good\n"
)
"""A repository in which the agent changed price.py; what is planted comes after it."""
TOOLS = ("git", "sh", "rm", "find", "sort", "sha256sum")
LIES = {
    "says only README": 'case "$*" in *diff*|*cat-file*) echo "README.md | 1 +";; *) exec /usr/bin/git "$@";; esac',
    "says nothing": 'case "$*" in *diff*) exit 0;; *) exec /usr/bin/git "$@";; esac',
    "diffs another commit": 'case "$*" in *" diff "*) exec /usr/bin/git diff HEAD HEAD;; *) exec /usr/bin/git "$@";; esac',
    "touches a file": 'touch /workspace/ran; exec /usr/bin/git "$@"',
}
LIE = "printf '#!/bin/sh\\ntouch /workspace/ran\\ncat /tmp/good\\n' > /tmp/lie; chmod +x /tmp/lie\n"
EVIL_BLOB = '"$(git hash-object -w price.py)"'


def _programs() -> Iterator[tuple[str, str]]:
    for name in TOOLS:
        lies = LIES if name == "git" else {"touches a file": "touch /workspace/ran; exit 0"}
        for lie, script in lies.items():
            yield (
                f"{name} in the home {lie}",
                f"cat > ~/.local/bin/{name} <<'END'\n#!/bin/sh\n{script}\nEND\n"
                + (f"/bin/chmod +x ~/.local/bin/{name}"),
            )


def _settings() -> Iterator[tuple[str, str]]:
    for key in ("core.fsmonitor", "core.pager", "diff.external", "diff.lie.command", "diff.lie.textconv", "alias.diff"):
        yield key, f"{LIE}git config {key} /tmp/lie; echo '*.py diff=lie' > .git/info/attributes"
    for key in ("core.fsmonitor", "diff.external"):
        yield f"{key} of the home", f"{LIE}git config --global {key} /tmp/lie"
    for key, value in (("core.attributesFile", "/tmp/lie-attributes"), ("core.bigFileThreshold", "1")):
        yield f"{key}={value}", f"echo '*.py -diff' > /tmp/lie-attributes; git config {key} {value}"
    yield "attribute of the tree", "echo '*.py -diff' > .gitattributes"
    for attribute in ("-diff", "binary", "-text"):
        yield f"attribute {attribute}", f"echo '*.py {attribute}' > .git/info/attributes"
    for hook in ("reference-transaction", "post-index-change", "post-checkout", "pre-merge-commit"):
        yield f"hook {hook}", f"{LIE}mkdir -p .git/hooks; cp /tmp/lie .git/hooks/{hook}"
    for file in (".bashrc", ".profile"):
        yield file, f"echo 'touch /workspace/ran; git() {{ echo nothing; }}' > ~/{file}"


def _objects() -> Iterator[tuple[str, str]]:
    for name, replaced in (("blob", "/tmp/good"), ("blob by the old one", "other.py")):
        yield f"a replaced {name}", f"git replace {EVIL_BLOB} $(git hash-object -w {replaced})"
    yield "a graft", "mkdir -p .git/info; git rev-parse HEAD > .git/info/grafts"
    yield "a branch called as an id", "git branch $(git rev-parse HEAD) 2>/dev/null || true"
    yield "a tag called HEAD", "git update-ref refs/tags/HEAD HEAD; git update-ref refs/heads/HEAD HEAD"
    yield (
        "a blob exchanged on the disk",
        (
            f"id={EVIL_BLOB}; good=$(git hash-object -w /tmp/good); p() {{ echo .git/objects/$(echo $1 | cut -c1-2)/"
            "$(echo $1 | cut -c3-); }; /bin/chmod u+w $(p $id); cp -f $(p $good) $(p $id)"
        ),
    )


PLANTED = dict([*_programs(), *_settings(), *_objects()])
IN_DOCKER = dict([*list(_programs())[:2], *list(_objects())[:1]])
"""The same seams in another kind of sandbox: a few forms show that they hold."""


@pytest.fixture
async def world(ground: Ground) -> AsyncIterator[RealWorld]:
    """A world whose agent did what it could."""
    sandboxes, world = world_on(ground)
    try:
        yield world
    finally:
        await sandboxes.close()


async def sh(world: RealWorld, command: str) -> str:
    result = await world.exec(f"exec /bin/bash -c '{command}'" if "'" not in command else command, timeout=20)
    return result.text.strip()


async def planted(world: RealWorld, script: str) -> None:
    """The repository, and what the agent planted."""
    await sh(world, "/bin/rm -rf ~/.local ~/.gitconfig ran")
    result = await world.exec(START + script, timeout=20)
    assert result.ok, (script, result.text)


async def offer(world: RealWorld) -> Offered | None:
    """What is offered; None where it is refused."""
    try:
        return await Repository(world, "r").commit("offer-1", BRANCH, "Round prices", ("price.py",))
    except GitProblem:
        return None


async def on_main(world: RealWorld, path: str) -> str:
    """A file as main has it, read by the system's git."""
    return (
        await world.exec(f"cd r && GIT_NO_REPLACE_OBJECTS=1 /usr/bin/git show main:{path} 2>/dev/null", timeout=20)
    ).text


@pytest.mark.wall("isolation")
async def test_an_offer_shows_what_its_commit_holds(world: RealWorld, ground: Ground, wall: Wall) -> None:
    """Or it is refused; and nothing that was planted runs in a command of ours but a filter of the repository."""
    merged = dict(_objects())
    for form, script in (PLANTED if ground.rung_name == "bubblewrap" else IN_DOCKER).items():
        await planted(world, f"{script}\n/bin/rm -f /workspace/ran")
        offered = await offer(world)
        ran = (world.workspace / "ran").exists()
        shown = offered is None or ("+c = steal()" in offered.diff and offered.created.files == ("price.py",))
        wall.held(form, shown and not ran, f"ran {ran}, shown {offered.diff[:200] if offered else ''!r}")
        if offered is not None and form in merged and (wrong := await _merged_wrongly(world, offered)):
            wall.held(f"{form}, merged", False, wrong)


async def _merged_wrongly(world: RealWorld, offered: Offered) -> str:
    try:
        await Repository(world, "r").merge(offered.created)
    except GitProblem as problem:
        return "" if "steal" not in await on_main(world, "price.py") else f"{problem}, yet it stands on main"
    got = await on_main(world, "price.py")
    return "" if got == EVIL and await on_main(world, "other.py") == "other\n" else f"main has {got!r}"


MERGES = {
    "strategy ours": "git config branch.main.mergeOptions '-s ours'",
    "a strategy of its own": (
        "printf '#!/bin/sh\\ncp /tmp/evil other.py; git add other.py\\n' > ~/.local/bin/git-merge-lie;"
        " /bin/chmod +x ~/.local/bin/git-merge-lie; git config branch.main.mergeOptions '-s lie'"
    ),
    "a driver": "git config merge.lie.driver 'cp /tmp/evil %A'; echo '* merge=lie' > .git/info/attributes",
    "the driver of all": "git config merge.lie.driver 'cp /tmp/evil %A'; git config merge.default lie",
    "a driver of the tree": "git config merge.lie.driver 'cp /tmp/evil %A'; echo '* merge=lie' > .gitattributes",
    "a hook": "printf '#!/bin/sh\\ncp /tmp/evil other.py; git add .\\n' > .git/hooks/pre-merge-commit;"
    " /bin/chmod +x .git/hooks/*; cp .git/hooks/pre-merge-commit .git/hooks/post-checkout",
    "a planted git": "cat > ~/.local/bin/git <<'END'\n#!/bin/sh\ncase \"$*\" in *merge*) cp /tmp/evil other.py;"
    ' /usr/bin/git add .;; esac\nexec /usr/bin/git "$@"\nEND\n/bin/chmod +x ~/.local/bin/git',
    "the base set back": "git checkout -q main && git reset -q --soft HEAD~1 && git commit -q --amend -m other",
}


@pytest.mark.wall("isolation")
async def test_a_merge_comes_to_what_was_offered(world: RealWorld, ground: Ground, wall: Wall) -> None:
    """Where both sides changed the file, and what the agent set up would make something else of it."""
    for form, script in list(MERGES.items())[: None if ground.rung_name == "bubblewrap" else 2]:
        lines = "".join(f"line {n}\\n" for n in range(20))
        await planted(world, f"printf '{lines}' > long.py; git checkout -q price.py; git add .; git commit -qm long")
        await world.exec("cd r; sed -i 's/line 2$/line two/' long.py; echo evil > /tmp/evil", timeout=20)
        offered = await Repository(world, "r").commit("offer-1", BRANCH, "Two", ("long.py",))
        moved = "cd r; mkdir -p .git/hooks; sed -i 's/line 18$/line eighteen/' long.py; git commit -qam theirs; "
        await world.exec(moved + script, timeout=20)
        before = await on_main(world, "long.py")
        try:
            await Repository(world, "r").merge(offered.created)
            wanted = before.replace("line 2\n", "line two\n")
        except GitProblem:
            wanted = before
        got, other = await on_main(world, "long.py"), await on_main(world, "other.py")
        wall.held(form, (got, other) == (wanted, "other\n"), f"{got!r}, {other!r}")


CHANGES = {
    "a file written": "echo more > src/a",
    "a file written with its time set back": "printf xyz > src/a; touch -d @1000000000 src/a",
    "a file exchanged for another of its size and time": "printf xyz > n; touch -d @1000000000 n; mv n src/a",
    "a mode": "chmod 600 src/a",
    "a link turned": "ln -sfn b src/l",
    "a file added": "touch src/new",
    "a commit": "git commit -q --allow-empty -m more",
    "an untracked file": "touch elsewhere",
    "a name with a line end": "touch 'src/x\n y f 1'",
}
HIDING = {
    "nothing": "true",
    **{
        f"a planted {name}": f"printf '#!/bin/sh\\nexit 0\\n' > ~/.local/bin/{name}"
        for name in ("git", "find", "sort", "sha256sum")
    },
    "an fsmonitor": "git config core.fsmonitor /bin/true; git update-index --fsmonitor",
    "settings": "git config status.showUntrackedFiles no; git config core.trustctime false; git config core.checkStat minimal",
    "settings of the home": "git config --global status.showUntrackedFiles no",
    "a folder called as an option": "mkdir -p ./-delete; touch ./-delete/x",
}


@pytest.mark.wall("isolation")
async def test_an_approval_is_bound_to_what_is_there(world: RealWorld, ground: Ground, wall: Wall) -> None:
    """What changed after a person was asked is noticed, whatever hides it."""
    command = "rm -rf ! src -delete/x"
    for hiding, how in list(HIDING.items())[: None if ground.rung_name == "bubblewrap" else 2]:
        await sh(world, "/bin/rm -rf /workspace/* /workspace/.git ~/.local ~/.gitconfig")
        made = "mkdir -p src ~/.local/bin; printf abc > src/a; touch -d @1000000000 src/a; ln -s a src/l; git init -q -b main"
        who = "git config user.name P; git config user.email p@example.org; git add .; git commit -qm first"
        result = await world.exec(f"{made}; {who}; {how}; /bin/chmod +x ~/.local/bin/* 2>/dev/null; true", timeout=20)
        assert result.ok, result.text
        before = await seen(world, command)
        wall.held(f"looking twice behind {hiding}", before == await seen(world, command))
        for form, change in CHANGES.items():
            fixed = f"export PATH=/usr/bin:/bin; {change}"
            assert (await world.exec(f"exec /bin/sh -c {_quoted(fixed)}", timeout=20)).ok, change
            after = await seen(world, command)
            wall.held(f"{form} behind {hiding}", before != after)
            before = after


async def seen(world: RealWorld, command: str) -> bytes:
    """What an approval of the command is bound to."""
    result = await world.own(look(command), timeout=20)
    assert result.ok
    return result.output


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


@pytest.mark.wall("isolation")
async def test_bytes_are_believed_only_for_their_id() -> None:
    """Another object, another kind, a shortened one, one more byte, nothing."""
    body = b"tree " + b"a" * 40 + b"\n\nwords\n"
    id = "9f1e6f7b1c4e8b0b8f0c3f0a9a7d0c5b6e4d3c2b"
    for raw in (
        b"", b"%s missing\n" % id.encode(), b"%s commit %d\n%s\n" % (id.encode(), len(body), body),
        b"%s blob %d\n%s\n" % (id.encode(), len(body), body), b"%s commit 999999999999\n%s\n" % (id.encode(), body),
    ):  # fmt: skip

        async def fetch(ids: object, raw: bytes = raw) -> bytes:
            return raw

        with pytest.raises(GitProblem):
            await Objects(fetch).commit(id)


def test_nobody_else_runs_a_command_of_the_products_own() -> None:
    """What the agent or a person chose runs by ``exec``, from one place each; whatever else runs goes through ``own``."""
    may = ("agentic/tools/shell/shell.py", "agentic/workspace/workspace.py", "bot/schedules/gate.py")
    for path in [*(ROOT / "agentic").rglob("*.py"), *(ROOT / "bot").rglob("*.py"), *(ROOT / "reflexion").rglob("*.py")]:
        place = path.relative_to(ROOT).as_posix()
        text = path.read_text(encoding="utf-8")
        tree = ast.walk(ast.parse(text)) if ".exec(" in text else ()
        for call in (node for node in tree if isinstance(node, ast.Call)):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "exec":
                assert place in may, f"{place}:{call.lineno}: commands of ours go through own()"
