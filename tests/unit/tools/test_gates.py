"""Which commands a person must approve first, both ways."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentic.core.rules.approvals import reasons
from agentic.ports.runtime import Prepared
from agentic.tools.approval.command_rules import DEEP, gate, gate_code
from agentic.tools.approval.disposable_files import shown_to_a_person
from agentic.tools.approval.named_paths import targets
from agentic.tools.shell.python import PYTHON_TOOL
from agentic.tools.shell.shell import SHELL_TOOL
from agentic.workspace.snapshots.losses import Shown

CREATED = frozenset(("notes.md", "src/new.py"))

GATED = [
    "rm -rf src",
    "rm --recursive --force docs",
    "rm -rf .",
    "rm -rf /*",
    "rm -rf /workspace/src",
    "rm -rf build/../src",
    "rm -rf -- -odd",
    "cd $SOMEWHERE && rm -rf lib",
    "rm -rf $DIR",
    'rm -rf "${DIR:?}"/x',
    "echo $(rm -rf src)",
    'echo "$(rm -rf src)"',
    "diff <(rm -rf src) a",
    "if true; then rm -rf src; fi",
    "for d in src tests; do rm -rf $d; done",
    "sudo rm -rf src",
    "timeout 10 rm -rf src",
    "\\rm -rf src",
    "r''m -rf src",
    "bash -c 'rm -rf src'",
    'bash -lc "cd / && rm -rf workspace"',
    "sh -c \"bash -c 'rm -rf src'\"",
    "eval rm -rf src",
    "bash <<'EOF'\nrm -rf src\nEOF",
    "rm -rf \\\n  src",
    "find . -name '*.py' | xargs rm",
    "ls | parallel rm {}",
    "rm *",
    "find . -delete",
    "find . -name '*.py' -exec rm {} +",
    "find . -type d -exec rm -rf {} \\;",
    "git push --force",
    "git push --force-with-lease=main:abc origin main",
    "git push origin +main",
    "git push origin :old",
    "git reset --hard",
    "git checkout -- .",
    "git checkout -f main",
    "git restore .",
    "git switch -f main",
    "git clean -fd",
    "git stash drop",
    "git branch -D feature",
    "git rebase --onto HEAD~3 HEAD~1",
    "git reset --soft HEAD~6",
    "git filter-branch --tree-filter 'rm x' HEAD",
    "git filter-repo --path x",
    "git reflog expire --expire=now --all",
    "git gc --prune=now",
    "git update-ref -d refs/heads/x",
    "git ls-files -m | xargs git checkout --",
    "sqlite3 data/latest.db 'drop table t'",
    "git branch --contains feature; git branch -D feature",
    'f() { rm -rf "$1"; }; f src',
    "D=src bash -c 'rm -rf $D'",
    "bash -c 'rm -rf \"$1\"' _ src",
    "cat > x.sh <<'EOF'\nrm -rf src\nEOF\nbash x.sh",
    "printf 'all:\\n\\trm -rf src\\n' | make -f -",
    "git ls-files | sed 's/^/rm /' | sh",
    "for f in docs/*.md; do sort $f > $f; done",
    "sort notes.csv > notes.csv",
    "docker volume rm data",
    "crontab -r",
    "sqlite3 data/app.db 'delete from t where 1=1'",
    "make reset",
    "GIT_EDITOR='rm -rf src #' git commit --amend",
    "python3 -c \"import shutil; d = 'src'; shutil.rmtree(d)\"",
    "git rm -r src",
    "chmod -R 777 .",
    "chown -R nobody src",
    "truncate -s 0 src/app.py",
    ": > src/app.py",
    "cat /dev/null > src/app.py",
    "dd if=/dev/zero of=disk.img bs=1M count=1",
    "mkfs.ext4 /dev/sda1",
    "time -p rm -rf src",
    "env -i rm -rf src",
    "coproc rm -rf src",
    "xargs -a list rm",
    "case x in a) rm -rf src;; esac",
    "f() { rm -rf src; }; f",
    "rm 2>&1 -rf src",
    "rm -rf >/dev/null src",
    "rm -rf {src,tests}",
    "rm -rf $(cat list)",
    'while read f; do rm "$f"; done < list',
    "python3 - <<'EOF'\nimport shutil\nshutil.rmtree('src')\nEOF",
    "shred -u secrets.txt",
    "rsync -a --delete empty/ src/",
    "python -c \"import shutil; shutil.rmtree('src')\"",
    "python3 -c \"import os; os.system('rm -rf src')\"",
]

FREE = [
    "ls -la",
    "rm build.log",
    "rm -f src/a.py src/b.py",
    "rm notes.md src/new.py",
    "rm -rf node_modules",
    "rm -rf ./node_modules package-lock.json.bak",
    "rm -rf build dist *.egg-info",
    "rm -rf build/*",
    "rm -rf .venv && python -m venv .venv",
    "rm -rf __pycache__ .pytest_cache",
    "rm -rf /tmp/work",
    "cd /tmp && rm -rf work",
    't=$(mktemp -d); git archive HEAD | tar x -C "$t"; rm -rf "$t"',
    "rm -rf $TMPDIR/x",
    'rm -rf "$PWD/build"',
    "test -d build && rm -rf build/ || true",
    "find . -name node_modules -prune -exec rm -rf '{}' +",
    "find . -type f -name '*.log' -delete",
    "python3 - <<'EOF'\nimport shutil\nshutil.rmtree('build')\nEOF",
    "mkdir scratch && touch scratch/a && rm -rf scratch",
    "git clone https://example.org/x.git copy && rm -rf copy",
    "rm -rf ~/.cache/pip",
    "echo 'rm -rf /'",
    'echo "do not rm -rf src"',
    "grep -rn 'rm -rf' .",
    "# rm -rf src",
    "cat > clean.sh <<'EOF'\nrm -rf src\nEOF",
    "printf '%s\\n' 'git push --force'",
    "find . -name '*.pyc' -delete",
    "find . -name __pycache__ -exec rm -rf {} +",
    "find /tmp/x -delete",
    "find . -name '*.py' -exec grep -l foo {} +",
    "git push",
    "git push --force --dry-run",
    "git push origin main:main",
    "git commit --amend --no-edit",
    "git commit -am 'git reset --hard explained'",
    "git reset HEAD a.py",
    "git reset --soft HEAD~1",
    "git checkout main",
    "git checkout -- src/a.py",
    "git restore src/a.py",
    "git clean -nd",
    "git stash",
    "git stash pop",
    "git branch -d merged",
    "git rebase main",
    "git stash apply && git stash drop",
    "git branch try && git branch -D try",
    "git clone -q . /tmp/copy && cd /tmp/copy && git reset --hard",
    "git clean -fdx build",
    "git checkout main -- src/a.py",
    'cleanup() { rm -rf "$work"; }; work=$(mktemp -d); trap cleanup EXIT',
    'rm -rf "$(git rev-parse --show-toplevel)/build"',
    "find . -name '*.pyc' | while read -r f; do rm -f \"$f\"; done",
    "find . -type d -empty -delete",
    "chmod -R u+rwX src",
    ": > found.txt; ls >> found.txt",
    "for f in *.md; do sort $f > tmp.1 && mv tmp.1 $f; done",
    "sqlite3 data/app.db 'begin; delete from t; rollback'",
    "make -n reset",
    "sqlite3 build/x.db 'drop table t'",
    "psql -d app_test -c 'truncate t'",
    "git rm --cached -r build",
    "git rm old.py",
    "git",
    "chmod -R u+x node_modules/.bin",
    "echo hi > a.txt",
    "make test > result.txt 2>&1",
    "pytest -q 2>/dev/null",
    "python -m pytest -q tests/test_cart.py",
    "python -c \"print('rm -rf src')\"",
    "python -c \"import shutil; shutil.rmtree('/tmp/x')\"",
    "dd if=disk.img of=/dev/null",
    "rsync -an --delete a/ b/",
    "sed -i 's/a/b/' src/a.py",
    "tar czf /tmp/a.tgz src",
    "sudo apt-get remove x",
    "timeout 100 sleep 60",
    "env",
    "bash run.sh -r",
    "bash",
    "truncate -s 0 notes.md",
    "export PATH=$PATH:/x; ls $((1+2))",
    "echo 'unclosed",
    'echo "unclosed $(',
    "a=${b",
    "",
]  # fmt: skip


@pytest.mark.parametrize("command", GATED)
def test_a_person_must_approve(command: str) -> None:
    assert gate(command, CREATED)


@pytest.mark.parametrize("command", FREE)
def test_ordinary_work_is_not_held_up(command: str) -> None:
    assert not gate(command, CREATED)


def test_the_reason_names_what_would_go() -> None:
    whole = "including files this task didn't create"
    assert (
        reasons(gate("rm -rf src $X docs tests"))
        == f"deletes `src`, `…`, `docs` and 1 more with everything in them, {whole}"
    )
    assert (
        reasons(gate("rm -rf reports/2019 ~/x")) == f"deletes `reports/2019` and `~/x` with everything in them, {whole}"
    )
    assert reasons(gate("rm -rf src")) == f"deletes `src` with everything in it, {whole}"
    assert reasons(gate("rm -rf 'a`b'")) == f"deletes `aˋb` with everything in it, {whole}"
    assert "forced push" in reasons(gate("git push -f"))


def test_a_folder_of_which_this_execution_made_one_file_is_not_its_own() -> None:
    assert gate("rm -rf src", CREATED)
    assert not gate("rm -r src/new.py", CREATED)
    assert not gate("rm -rf new.py", CREATED, cwd="src")


def test_what_is_nested_too_deep_is_gated() -> None:
    command = "rm x"
    for _ in range(8):
        command = f"eval {command!r}"
    assert gate(command)[0].text == DEEP


@pytest.mark.parametrize(
    ("code", "held"),
    [
        ("import shutil\nshutil.rmtree('src')", True),
        ("from shutil import rmtree\nrmtree('/workspace/src')", True),
        ("import subprocess\nsubprocess.run(['git', 'push', '--force'])", True),
        ("subprocess.check_output('rm -rf src', shell=True)", True),
        ("shutil.rmtree('build')", False),
        ("shutil.rmtree(folder)", False),
        ("subprocess.run(['ls', 1])", False),
        ("subprocess.run()", False),
        ("print('shutil.rmtree(1)')", False),
        ("def broken(", False),
    ],
)
def test_code_is_read_as_far_as_it_says_what_it_does(code: str, held: bool) -> None:
    assert bool(gate_code(code)) == held
    prepared = PYTHON_TOOL.prepare({"code": code})
    assert isinstance(prepared, Prepared)
    assert bool(prepared.gate) == held


@pytest.mark.parametrize("field", ["command", "fallback", "alternatives"])
def test_the_shell_tool_is_gated_by_everything_that_may_run(field: str) -> None:
    arguments = {"command": "ls"} | ({field: "git push -f"} if field != "alternatives" else {})
    if field == "alternatives":
        arguments["alternatives"] = [  # pyright: ignore[reportArgumentType]
            {"command": "ls", "trade_off": "", "chosen": False},
            {"command": "git push -f", "trade_off": "", "chosen": True},
        ]
    prepared = SHELL_TOOL.prepare(arguments)  # pyright: ignore[reportArgumentType]
    assert isinstance(prepared, Prepared)
    assert "forced push" in prepared.gate
    assert prepared.who_may == "operator"
    plain = SHELL_TOOL.prepare({"command": "rm src/new.py", "cwd": "."}, CREATED)
    assert isinstance(plain, Prepared)
    assert plain.gate == ""


def test_what_an_approval_looks_at_are_the_paths_of_the_command() -> None:
    assert targets("cd src && rm -rf lib $X /workspace/a", ".") == ("src", "src/lib", "a")


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("ls *; git push --force origin main", ()), ("echo '*'; git push -f", ()), ("cp * /tmp; dropdb prod", ()),
        ("find . -name '*' -newer x -delete", ()), ("rm -rf src/*; ls *", ("src/*/**",)), ("rm -f *", ("*",)),
        ("cd src && rm **/*.py", ("src/*/*.py",)), ("rm -rf docs && ls *", ("docs/**",)),
        ("> notes.txt; ls *", ("notes.txt",)), ("rm -rf build/*; git push -f; ls *", ()),
        ("rm --recursive a*; git push -f", ("a*/**",)),
    ],
)  # fmt: skip
def test_a_yes_counts_for_patterns_of_what_deletes_them_alone_and_as_deep_as_that_does(
    command: str, named: tuple[str, ...]
) -> None:
    prepared = SHELL_TOOL.prepare({"command": command})
    assert isinstance(prepared, Prepared)
    assert prepared.gate
    assert shown_to_a_person(replace(prepared, shown=frozenset())) == Shown(named=named)


@pytest.mark.wall("gates")
@pytest.mark.parametrize("name", ["x" * 50_000, "x/" * 25_000 + "*"])
@pytest.mark.parametrize("command", ["rm -rf {0}", "> {0}", "rm -rf {0} {0} {0}", "find {0} -delete"])
def test_a_reason_is_no_longer_than_a_person_reads(command: str, name: str) -> None:
    assert 0 < len(reasons(gate(command.format(name)))) <= 300
