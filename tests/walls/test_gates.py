"""Commands that destroy, in every wrapping a shell knows: all must ask; the same around harmless ones: none may."""

from __future__ import annotations

import base64
import json
import shlex
from itertools import product
from pathlib import Path

import pytest

from agentic.bash.parser import LONGEST
from agentic.core.rules.approvals import reasons
from agentic.tools.approval.command_rules import MOST_FINDINGS, gate
from agentic.tools.approval.named_paths import targets
from agentic.tools.approval.python_rules import TOO_LONG
from tests.walls.tally import Wall

SETS = Path(__file__).parent / "sets" / "gates"
DESTROY = (
    "rm -rf src", "rm --r src", "rm --rec --for src", "git reset --hard", "git clean -fdx", "git read-tree --reset -u HEAD",
    "git checkout-index -fa", "git restore .", "git push --force", "find . -delete", "tar cf /tmp/a.tar --remove-files src",
    "git stash clear", "cp /dev/null README.md",
)  # fmt: skip
HARMLESS = (
    "ls -la", "rm -rf build", "git status", "find . -name '*.pyc' -delete", "make test", "git checkout main", "rm old.py",
    "python -m pytest -q", "tar czf /tmp/a.tgz src", "git stash", "cp a.py b.py", "grep -rn TODO src", "git restore a.py",
)  # fmt: skip


def wrapped(command: str) -> list[str]:
    """A command in what a shell may wrap around it."""
    said = shlex.quote(command)
    coded = base64.b64encode(command.encode()).decode()
    return [
        f"(cd build && make clean); {command}", f"pushd docs; popd; {command}", f"cd docs && cd - && {command}",
        f"bash -ce {said}", f"bash -xec {said}", f"bash --norc -c {said}", f"bash -c -e {said}", f"env -S {said}",
        f"git -c alias.x={shlex.quote('!' + command)} x", f"echo {coded} | base64 -d | sh", f'eval "$(echo {said})"',
        f"f() {{ {command}; }}; f", f"alias x={said}", f"trap {said} EXIT; true", f"bash <<'EOF'\n{command}\nEOF",
        f"echo '<<EOF'\n{command}\nEOF", f'echo "<<EOF"\n{command}\nEOF', f"sh <<< {said}",
        f"cat <<'EOF' | bash\n{command}\nEOF",
        f"if false; then exit; else {command}; fi", f"for i in 1 2; do {command}; done",
        f"case x in y) ;; *) {command};; esac",
        f"[ -d x ] || exit 1; {command}", f"true | exit; {command}", f"source <(echo {said})", f"{{ ! {command}; }} > log",
        f"while :; do {command}; done", f"echo $((1<<2))\n{command}\n2", f"x=$({command})", f"$'\\x65val' {said}",
        f"perl -e {shlex.quote('system(' + chr(34) + command + chr(34) + ')')}",
    ]  # fmt: skip


SPELLED = (
    "cd build; rm -rf *", "cd build\nrm -rf *", "mkdir x; cd x; rm -rf *", "pushd build; rm -rf *", "cd docs; cd -; rm -rf *",
    "$'rm' -rf src", "$'\\x72\\155' -rf src", "rm${IFS}-rf${IFS}src", "{rm,-rf,src}", "r${unset}m -rf src", "$x -rf src",
    "$(echo rm) -rf src", "$(decode x) README.md", "D=build; false && D=src; [ -e x ] && D=src; rm -rf $D",
    "if a; then D=build; else D=src; fi; rm -rf $D", "case x in a) D=build;; b) D=src;; esac; rm -rf $D",
    "D=build; for i in 1 2; do rm -rf $D; D=src; done; rm -rf $D", "(D=build); rm -rf $D", "a=(rm -rf src); \"${a[@]}\"",
    "git switch -f main", "git switch --discard-changes main", "git stash drop", "git reflog expire --all",
    "git gc --prune=now",
    "git update-ref -d refs/heads/x", "git worktree remove -f ../w", "git -c alias.z='reset --hard' z", "tee f.py </dev/null",
    "mv src /dev/null", "perl -e 'unlink glob(\"*\")'", "perl -MFile::Path -e 'rmtree(\"src\")'", "rsync -a --delete x/ src/",
    "node -e \"fs.rmSync('src', {recursive: true})\"", "sqlite3 app.db 'drop table users'", "for f in src/*; do rm $f; done",
    "find . -type f -exec sed -i s/a/b/ {} +", "find . -type f | xargs sed -i s/a/b/",
    "while cd ..; do rm -rf build/../src; done",
)  # fmt: skip
PLAIN = (
    '"$PYTHON" -m pytest', '"${CC:-gcc}" -c a.c', "$(npm bin)/eslint .", "./scripts/$name.sh", "$VENV/bin/python -m x -r a",
    "cd build && rm -rf *", "cd build || exit 1; rm -rf *", "set -e; cd build; rm -rf *", "mkdir x && cd x && rm -rf *",
    "(cd src && ls); rm -rf build", "for d in build dist; do rm -rf $d; done", 'rm -rf "${OUT:-dist}"', "rm -rf {build,dist}",
    "find . -name __pycache__ | xargs rm -rf", "if ! cd build; then exit 1; fi; rm -rf *", "cp a.py{,.orig}", "$CC -o a a.c",
    "trap 'rm -rf \"$T\"' EXIT; T=$(mktemp -d)", "sed -i s/a/b/ a.py", "tee a.py <<< x", "mv a.py b.py", "mv build/a /tmp",
    "sqlite3 a.db 'select 1'", "sqlite3 a.db 'delete from x where id = 1'", "perl -pi -e s/a/b/ a.py",
    "$(which python3) -m pytest",
)  # fmt: skip


@pytest.mark.wall("gates")
def test_what_destroys_asks_however_it_is_wrapped(wall: Wall) -> None:
    forms = [form for command in DESTROY for form in wrapped(command)] + list(SPELLED)
    assert len(forms) >= 300
    for form in forms:
        wall.held(form, bool(gate(form)), "not asked")


@pytest.mark.wall("gates")
def test_what_is_harmless_does_not_ask_however_it_is_wrapped(wall: Wall) -> None:
    forms = [form for command in HARMLESS for form in wrapped(command)] + list(PLAIN)
    assert len(forms) >= 300
    for form in forms:
        wall.held(form, not gate(form), f"asked: {reasons(gate(form))}")


def asked(path: str) -> list[tuple[str, str]]:
    """Each command of a set, with why it asks."""
    entries = map(json.loads, (SETS / path).read_text(encoding="utf-8").splitlines())
    return [
        (each["command"], reasons(gate(each["command"], frozenset(each.get("files", {})), each.get("cwd", "."))))
        for each in entries
    ]


@pytest.mark.wall("gates", through=22)
def test_what_was_reached_by_the_own_set_of_destructive_commands_stays(wall: Wall) -> None:
    for command, why in asked("own/destructive.jsonl"):
        wall.held(command, bool(why), "not asked")


@pytest.mark.wall("gates", through=5)
def test_what_was_reached_by_the_own_set_of_ordinary_commands_stays(wall: Wall) -> None:
    for command, why in asked("own/ordinary.jsonl"):
        wall.held(command, not why, f"asked: {why}")


def test_sets_of_somebody_else_are_asked_about_as_often_as_was_reached() -> None:
    """Only counted: nobody who changes the reading of commands may see which they are."""
    counts = {
        f"{made}/{kind}": sum(bool(why) for _, why in asked(f"{made}/{kind}.jsonl"))
        for made in ("tuning", "held_out")
        for kind in ("destructive", "ordinary")
    }
    assert counts["tuning/destructive"] >= 141
    assert counts["tuning/ordinary"] <= 1
    assert counts["held_out/destructive"] >= 239
    assert counts["held_out/ordinary"] <= 9


@pytest.mark.wall("gates")
@pytest.mark.parametrize(
    "form",
    [
        sign + "x"
        for sign in (
            "((",
            "$((",
            "{a,",
            "${a:-",
            "if ",
            "a||b=1||",
            "cd x;",
            "<<a ",
            "case x in a) ",
            "f() { f; }; f;",
            "mv a b;",
            ":>a;",
            "a|",
            "git stash drop;",
        )
    ],
)
def test_no_line_takes_long_to_read(form: str) -> None:
    assert len(gate(form * (50_000 // len(form)))) <= MOST_FINDINGS + 1


@pytest.mark.wall("gates")
def test_what_is_too_long_to_be_read_asks() -> None:
    assert reasons(gate("ls " + "x" * LONGEST)) == TOO_LONG
    assert targets("rm -rf " + "x" * 60_000) == ()
    assert all(gate(f"{a}; {b}") for a, b in product(["a=1", "cd /tmp &"], ["rm -rf src"]))
