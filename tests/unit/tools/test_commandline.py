"""What a command line runs where that does not stand there plainly: here-documents, here-strings, pipes into a shell."""

from __future__ import annotations

import pytest

from agentic.core.rules.approvals import reasons
from agentic.tools.approval.command_rules import DEEP, UNREADABLE, gate
from agentic.tools.approval.named_paths import look
from agentic.tools.approval.python_rules import TOO_LONG

GATED = [
    "cat <<< EOF\nrm -rf src",
    "echo '<<EOF'\nrm -rf src",
    "# see <<EOF\nrm -rf src",
    "echo $((1<<2))\nrm -rf src",
    "cat <<A <<B\na\nA\nb\nB\nrm -rf src",
    "cat <<\\EOF > x\na\nEOF\nrm -rf src",
    'cat <<"END-X" > x\na\nEND-X\nrm -rf src',
    "cat <<EOF > x\n$(rm -rf src)\nEOF",
    "cat <<'EOF' | sh\nrm -rf src\nEOF",
    "bash <<< 'rm -rf src'",
    "printf 'rm -rf src' | sh -s",
    "function f { rm -rf src; }; f",
    "find . ! -name '*.pyc' -delete",
    "find . -name '*.pyc' -o -delete",
    "find . -type f | xargs -I{} sh -c 'rm {}'",
    "rm --recurs src",
    "npx rimraf src",
    "mkdir src; rm -rf src",
    "mkdir src & rm -rf src",
    "git clone https://example.org/x.git src; rm -rf src",
    "toybox rm -rf src",
    "uv run rm -rf src",
    "flock lock rm -rf src",
    "git checkout -- src/",
    "git checkout -B main HEAD~3",
]

FREE = [
    "git reset --hard --help",
    "git commit -m \"$(cat <<'EOF'\nDon't rm -rf src; (it's bad\nEOF\n)\" && git push",
    'git commit -m "$(cat <<EOF\nFix it :)\n\nIt\'s `whoami` who did\nEOF\n)"',
    "cat > a.sh <<EOF\nX=$(date)\nrm -rf src\nEOF",
    "find . \\( -name '*.pyc' -o -name '*.pyo' \\) -delete",
    "find . -name '*.pyc' -o -name __pycache__ -delete",
    "npx rimraf dist",
    "echo 'ls' | bash",
    "echo done | tee log",
    "make || bash fallback.sh",
    "cat list | xargs -I{} sh -c 'wc -l {}'",
    "function g { ls; }",
    "echo $((1 << 4))",
]


@pytest.mark.parametrize("command", GATED)
def test_what_would_run_is_found(command: str) -> None:
    assert gate(command)


@pytest.mark.parametrize("command", FREE)
def test_what_would_not_run_holds_nothing_up(command: str) -> None:
    assert not gate(command)


@pytest.mark.parametrize(
    "opening", ["$(", "`", "(", "<(", '"$(', "bash -c ", "eval ", "a=$a$a; ", "2>", "find . -exec "]
)
def test_no_command_is_too_deep_to_be_read(opening: str) -> None:
    """A model may write anything; what cannot be read is gated or nothing, and never ends the execution."""
    for length in (900, 59_990):
        command = opening * (length // len(opening))
        assert reasons(gate(command)) in ("", DEEP, TOO_LONG)
        assert isinstance(look(command), str)


@pytest.mark.parametrize(
    "command", ["{rm,-rf,src}", "for i in 1; { rm -rf src; }", "for D in; do :; done; rm x", "bash -c '{rm,x}'"]
)
def test_what_the_grammar_cannot_read_asks_where_it_names_what_may_destroy(command: str) -> None:
    assert reasons(gate(command)) == UNREADABLE


def test_a_file_of_any_usual_length_is_written_without_asking() -> None:
    code = "values = [(1, 2), {3: 4}]  # rm -rf / is a text\n" * 1_000
    assert not gate(f"cat > notes.py <<'EOF' && python notes.py\n{code}EOF")
    assert gate(f"cat > notes.py <<'EOF'\n{code}EOF\nrm -rf src")
    assert gate(f"python3 - <<'EOF'\nimport shutil\n{code}shutil.rmtree('src')\nEOF")
