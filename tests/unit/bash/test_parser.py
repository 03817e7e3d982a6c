"""What a command line is made of, where the grammar alone would say it otherwise, and the bounds of reading."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentic.bash.parser import LONGEST, TooDeep, TooLong, parse
from agentic.bash.steps import read, run_by, written
from agentic.bash.tree import AndOr, Command, Pipeline, Substitution
from agentic.core.prompt.roles import looks
from agentic.tools.approval.command_rules import gate

ROOT = Path(__file__).parents[3]


def documents(command: str) -> list[str | None]:
    """The texts of the here-documents of the first command."""
    node = parse(command).body.statements[0][0]
    first = node.parts[0] if isinstance(node, Pipeline) else node
    assert isinstance(first, Command)
    return [redirect.target.plain() for redirect in first.redirects if redirect.sign == "<<"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("git switch - 2>/dev/null", (("git", "switch", "-"),)),
        ("a >x b 2>&1 c <y d", (("a", "b", "c", "d"),)),
        ("a | b > x", (("a",), ("b",))),
        ("echo $\"a b\" $'c\\x41'", (("echo", "a b", "cA"),)),
        ("r''m \"$x\"-y {a,b} \\$z", (("rm", "$x-y", "{a,b}", "$z"),)),
        ("ls \\\n -l # all", (("ls", "-l"),)),
        ("[ -d x ] && make", (("[", "-d", "x", "]"), ("make",))),
        ("export A=1 B; unset C", (("export", "A=1", "B"), ("unset", "C"))),
        ("> x", ()),
    ],
)
def test_words_are_those_that_a_shell_reads(command: str, words: tuple[tuple[str, ...], ...]) -> None:
    assert written(command) == words


@pytest.mark.parametrize(
    "command",
    ["(a)", "{ a; }", "a $(b)", "a `b`", "a <(b)", "a <<E\nb\nE", "a <<< b", "! a", "f() { a; }", "if a; then b; fi",
     "while a; do b; done", "for x in a; do b; done", "case x in a) b;; esac", "a ${x:-$(b)}", "((1))", "echo 'a", "a )"],
)  # fmt: skip
def test_what_only_a_shell_knows_is_no_plain_line(command: str) -> None:
    assert written(command) is None
    assert read(command) is None


@pytest.mark.parametrize(
    "command",
    ["case $(rm x) in *) ;; esac", "echo ${x:-${y:-$(rm x)}}", "echo ${a[$(rm x)]}", "echo ${x#$(rm x)}", "echo ${x/`rm x`/b}",
     "a[$(rm x)]=1 ls", 'echo "${a[`rm x`]}"', "echo $((a[$(rm x)]))", "[[ a == $(rm x) ]]", "ls > $(rm x)", "[ -n `rm x` ]",
     "[[ a =~ $(rm x) ]]", "echo \"${x:-\"$(rm x)\"}\"", "for i in $(rm x); do ls; done", "echo {1..$(rm x)}"],
)  # fmt: skip
def test_a_substitution_is_found_wherever_it_hides(command: str) -> None:
    assert written(command) is None
    assert not looks(command)
    assert gate(command.replace("rm x", "rm -rf src"))


def test_the_steps_of_any_line_are_told() -> None:
    line = run_by(
        "if a; then (cd x && pytest) | tail; else for i in 1; do b; done; fi; case x in y) c;; esac; ! d; while e; do f; done"
    )
    assert [step.program for step in line.steps] == ["a", "pytest", "tail", "b", "c", "d", "e", "f"]
    assert run_by("echo 'a").steps == ()


def test_the_rest_of_a_line_behind_a_here_document_belongs_to_the_line() -> None:
    for joint in ("|", "&&"):
        node = (
            parse(f"cat <<E > x {joint} b c\nd\nE").body.statements[0][0]
            if joint == "&&"
            else parse(f"cat <<E {joint} b c\nd\nE").body.statements[0][0]
        )
        assert not isinstance(node, Command)
    assert documents("cat <<'E' | b\n$x\nE") == ["$x\n"]
    assert documents("cat <<E | b\na \\$x $y\nE") == ["a $x $y\n"]


def test_a_pipeline_is_fed_by_the_command_before_it_alone() -> None:
    line = read("a && b 2>log | c")
    assert line is not None
    assert [(step.program, step.joint) for step in line.steps] == [("a", ""), ("b", "&&"), ("c", "|")]
    node = parse("a && b 2>log | c").body.statements[0][0]
    assert isinstance(node, AndOr)
    assert isinstance(node.parts[1], Pipeline)


def test_blanks_between_variables_in_quotes_are_kept() -> None:
    assert written('echo "$a $b  ${c} d"') == (("echo", "$a $b  ${c} d"),)


def test_substitutions_in_a_here_document_are_found_wherever_they_stand() -> None:
    node = parse('cat <<E\n`a` "$b"\n  $(c) d\nE').body.statements[0][0]
    assert isinstance(node, Command)
    assert sum(isinstance(part, Substitution) for part in node.redirects[0].target.parts) == 2


def test_long_here_documents_are_no_bound_but_what_only_looks_like_one_is() -> None:
    code = "x = [(1, 2), {3: 4}]\n" * 2_000
    assert documents(f"cat > a.py <<'EOF'\n{code}EOF\nls") == [code]
    with pytest.raises(TooLong):
        parse(f"echo \"<<'EOF'\n\"\n{code}EOF\nls")
    with pytest.raises(TooLong):
        parse(f"cat <<EOF\n$(rm -rf x)\n{code}EOF")
    with pytest.raises(TooLong):
        parse("a" * (LONGEST + 1))


def test_what_is_deeper_than_anybody_writes_is_not_read() -> None:
    with pytest.raises(TooDeep):
        parse("$(" * 100 + "ls" + ")" * 100)


def test_what_is_no_shell_is_not_sound() -> None:
    assert not parse("echo 'a").sound
    assert parse("echo 'a'").sound


HIGH = ("\u00e9", "\u4e2d", "\U00031860", "\U000e0100", "\U000f0000", "\U00100000", "\U0010ffff", "\ud800")


@pytest.mark.parametrize("character", HIGH)
def test_no_character_ends_the_process_that_reads_it(character: str) -> None:
    """The grammar's scanner looks characters up in tables that end long before Unicode does."""
    code = f"from agentic.bash.parser import parse; parse('{{' + {character!a})"
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("name", HIGH)
def test_what_is_no_ascii_is_read_as_it_was_written(name: str) -> None:
    """It is a part of words, of no name, and moves nothing that comes after it."""
    assert written(f"rm -rf {name}a '{name} b' && echo {name}") == (
        ("rm", "-rf", f"{name}a", f"{name} b"),
        ("echo", name),
    )
    assert written(f"{name}=1 rm x") == ((f"{name}=1", "rm", "x"),)
    assert documents(f"cat <<'E'\n{name} $x\nE\nrm y") == [f"{name} $x\n"]
