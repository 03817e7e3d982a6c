"""The head of a Markdown file: what is read, and what is refused with its line."""

import pytest

from agentic.text.front_matter import FrontMatter, FrontMatterError, read_front_matter


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Only text.\n", FrontMatter({}, "Only text.")),
        ("---\n---\nText", FrontMatter({}, "Text")),
        ("---\nname: dba\ntools: [read, shell]\ntier: 3\n---\n\nBe brief.\n\n---\nStill text.\n",
         FrontMatter({"name": "dba", "tools": ["read", "shell"], "tier": 3}, "Be brief.\n\n---\nStill text.")),
        ("\ufeff---\r\nname: x\r\n---\r\nText", FrontMatter({"name": "x"}, "Text")),
        ("---\ntext: a --- b\n---", FrontMatter({"text": "a --- b"}, "")),
    ],
)  # fmt: skip
def test_a_file_is_its_fields_and_its_text(text: str, read: FrontMatter) -> None:
    assert read_front_matter(text) == read


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\nname: x\n", "does not end with ---"),
        ("---\n" + "a" * 9_000 + "\n---\n", "within 8,000 characters"),
        ("---\nname: x\nname: y\n---\n", "line 3: “name” stands twice"),
        ("---\na: &a [x, x]\nb: [*a, *a]\n---\n", "line 3: an alias"),
        ("---\nname: [x\nnext: y\n---\n", "line "),
        ("---\nwhen: !!python/object:os.system x\n---\n", "line 2: "),
        ("---\n- x\n---\n", "not a list of “field: value”"),
        ("---\n1: x\n---\n", "not a list of “field: value”"),
        ("---\n? [a, b]\n: x\n---\n", "line 2: the name of a field"),
        ("---\n" + "[" * 7_000 + "\n---\n", "not YAML"),
        ("---\nn: " + "9" * 5_000 + "\n---\n", "not YAML"),
    ],
)
def test_what_is_wrong_is_named(text: str, said: str) -> None:
    with pytest.raises(FrontMatterError, match=f"^.*{said}") as raised:
        read_front_matter(text)
    assert len(str(raised.value)) < 300
