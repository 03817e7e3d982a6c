"""How files are cut: every line is in a chunk, none is longer than fifty lines, and cuts follow the syntax."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from agentic.code_index.chunks import MOST_LINES, OVERLAP, Chunk, line_count
from agentic.code_index.grammars import grammar_of, grammars
from agentic.code_index.syntax_process import chunks_of
from agentic.code_index.syntax_reader import SyntaxReader

SAMPLES: dict[str, tuple[str, str, str, str, tuple[str, ...]]] = {
    "python": ("a.py", "class Cart:\n    @property\n    def total(self):\n", "        x = {}\n", "        return 1\n",
               ("Cart", "total")),
    "javascript": ("a.jsx", "class Cart {\n  total() {\n", "    f({});\n", "  }\n}\n", ("Cart", "total")),
    "typescript": ("a.ts", "interface Priced { p: number }\nclass Cart {\n  total(): number {\n", "    f({});\n", "  }\n}\n",
                   ("Priced", "Cart", "total")),
    "tsx": ("a.tsx", "type Props = {};\nconst Cart = (p: Props) => {\n", "  f({});\n", "};\n", ("Props", "Cart")),
    "go": ("a.go", "package a\ntype Cart struct{}\nfunc (c *Cart) Total() int {\n", "\tf({})\n", "}\n", ("Cart", "Total")),
    "rust": ("a.rs", "impl Cart {\n  fn total(&self) {\n", "    f({});\n", "  }\n}\n", ("Cart", "total")),
    "java": ("A.java", "class Cart {\n  int total() {\n", "    f({});\n", "  }\n}\n", ("Cart", "total")),
    "c": ("a.h", "struct cart { int p; };\nchar *total(struct cart *c) {\n", "  f({});\n", "}\n", ("cart", "total")),
    "cpp": ("a.cc", "namespace shop {\nclass Cart { };\nint total() {\n", "  f({});\n", "}\n}\n", ("shop", "Cart", "total")),
    "c_sharp": ("A.cs", "namespace Shop {\nclass Cart {\n  int Total() {\n", "    f({});\n", "  }\n}\n}\n",
                ("Shop", "Cart", "Total")),
    "ruby": ("a.rb", "module Shop\nclass Cart\n  def total\n", "    f({})\n", "  end\nend\nend\n", ("Shop", "Cart", "total")),
    "php": ("a.php", "<?php\nclass Cart {\n  function total() {\n", "    f({});\n", "  }\n}\n", ("Cart", "total")),
    "bash": ("a.sh", "total() {\n  echo\n", "  f {}\n", "}\n", ("total",)),
}  # fmt: skip
"""Of each grammar a file name, a beginning, a line that may follow often, an end, and what is defined."""


@pytest.fixture(scope="module")
def reader() -> Iterator[SyntaxReader]:
    opened = SyntaxReader()
    yield opened
    opened.close()


def holds(chunks: tuple[Chunk, ...], source: bytes) -> None:
    """What is true of the chunks of any file."""
    held = [line for chunk in chunks for line in range(chunk.first, chunk.last + 1)]
    assert sorted(set(held)) == list(range(1, line_count(source) + 1))
    assert all(0 <= chunk.last - chunk.first < MOST_LINES for chunk in chunks)
    assert [chunk.first for chunk in chunks] == sorted(chunk.first for chunk in chunks)


def test_each_grammar_reads_names_and_any_length_of_text_around_them(reader: SyntaxReader) -> None:
    assert set(SAMPLES) == set(grammars())
    for grammar, (path, begin, line, end, names) in SAMPLES.items():
        assert grammar_of(path) == grammar
        for times in (0, 3, 46, 47, 48, 49, 50, 51, 200, 3_000):
            source = (begin + "".join(line.replace("{}", str(n)) for n in range(times)) + end).encode()
            chunks = reader.chunks(path, source)
            holds(chunks, source)
            assert {name for chunk in chunks for name in chunk.names} == set(names), (grammar, times)
        assert any(names[-1] in chunk.within for chunk in chunks), grammar


def test_functions_are_cut_apart_with_what_leads_them_and_short_ones_stay_together(reader: SyntaxReader) -> None:
    one = "# about it\n@cached\ndef f{0}(a):\n" + "    a += 1\n" * 36 + "    return a\n\n"
    source = "".join(one.format(number) for number in range(4)).encode()
    assert [(chunk.first, chunk.last, chunk.names) for chunk in reader.chunks("a.py", source)] == [
        (1, 41, ("f0",)), (42, 82, ("f1",)), (83, 123, ("f2",)), (124, 164, ("f3",)),
    ]  # fmt: skip
    short = "".join(f"def g{number}():\n    return {number}\n\n\n" for number in range(20)).encode()
    assert [(chunk.first, chunk.last) for chunk in reader.chunks("a.py", short)] == [(1, 40), (41, 80)]
    method = "class Cart:\n    rate = 1\n\n" + "".join(
        f"    def m{number}(self):\n" + "        self.x()\n" * 40 for number in range(3)
    )
    assert [(chunk.first, chunk.names, chunk.within) for chunk in reader.chunks("a.py", method.encode())] == [
        (1, ("Cart", "m0"), ()), (45, ("m1",), ("Cart",)), (86, ("m2",), ("Cart",)),
    ]  # fmt: skip


def test_what_has_no_syntax_to_cut_along_is_cut_by_lines_that_overlap(reader: SyntaxReader) -> None:
    text = "".join(f"line {number}\n" for number in range(120))
    for path, source in (("a.txt", text), ("a.py", f'"""{text[:-1]}"""\n'), ("Makefile", text)):
        chunks = reader.chunks(path, source.encode())
        holds(chunks, source.encode())
        assert len(chunks) == 3
        assert [one.last - two.first + 1 for one, two in pairwise(chunks)] == [OVERLAP] * 2


def test_any_text_is_cut_whole(reader: SyntaxReader) -> None:
    """Broken syntax, other line ends, tabs, very long lines, nothing at all."""
    texts = [
        "", "\n", "x", "x\n", "\n" * 300, "def f(:\n  class\n" * 80, "}\n" * 200, "(" * 5_000, "((\n" * 400,
        "if x:\r\n\ty = 1\r\n" * 60, "a\rb\rc" * 40, "x = '" + "y" * 100_000 + "'\n" + "z = 1\n" * 70, "é\n" * 80,
        "\ufeffdef f():\n    pass\n", "a = [\n" + "1,\n" * 300 + "]\n", "f(" * 80 + "\n" * 90 + ")" * 80, "\0\n" * 60,
    ]  # fmt: skip
    for path, *_ in (*SAMPLES.values(), ("a.unknown",)):
        for text in texts:
            source = text.encode()
            chunks = reader.chunks(path, source)
            holds(chunks, source)
            assert bool(chunks) == bool(source)
    holds(reader.chunks("a.py", b"\xff\xfe\n" * 100), b"\xff\xfe\n" * 100)


def test_a_file_that_syntax_takes_too_long_over_is_cut_by_lines_and_the_next_one_is_read(reader: SyntaxReader) -> None:
    hopeless = b"a|" * 100_000 + b"\n" + b"b\n" * 60
    chunks = reader.chunks("a.sh", hopeless)
    holds(chunks, hopeless)
    assert [chunk.first for chunk in chunks] == [1, 41]
    assert reader.chunks("b.py", b"def f():\n    pass\n")[0].names == ("f",)


def test_a_reader_that_was_closed_cuts_by_lines_and_starts_nothing() -> None:
    closed = SyntaxReader()
    closed.close()
    assert closed.chunks("a.py", b"def f():\n    pass\n") == (Chunk(1, 2),)


def test_the_process_and_this_one_cut_alike(reader: SyntaxReader) -> None:
    source = b"class A:\n    def b(self):\n        return 1\n" * 40
    assert reader.chunks("a.py", source) == chunks_of("python", source)
