"""The head of a Markdown file: fields in YAML between two lines of dashes, then the text.

Roles, rule files and skills are such files.  They come from people and from repositories, so what YAML can do beyond
plain values is refused: anchors (they grow without bound when they are copied), tags, and a field that stands twice.
"""

import re
from collections.abc import Hashable
from typing import Any, NamedTuple, cast

import yaml

HEAD_CHARACTERS = 8_000
_HEAD = re.compile(r"\A\ufeff?---[ \t]*\r?\n(?:(.*?)\r?\n)??---[ \t]*(?:\r?\n|\Z)", re.DOTALL)


class FrontMatter(NamedTuple):
    """The fields of a file's head, and the text below it."""

    fields: dict[str, object]
    body: str


class FrontMatterError(ValueError):
    """A head that cannot be read: what is wrong, and in which line of the file."""


class _PlainLoader(yaml.SafeLoader):
    """Plain values only, each field once."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = cast("yaml.Event", self.peek_event())  # pyright: ignore[reportUnknownMemberType]
        if isinstance(event, yaml.AliasEvent):
            raise _trouble("an alias (*name) is not understood here", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _trouble("the name of a field is one word", key.start_mark)
            if key.value in seen:
                raise _trouble(f"“{key.value}” stands twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_front_matter(text: str) -> FrontMatter:
    """Split a Markdown file into the fields of its head and its text; a file without a head has no fields.

    Raise `FrontMatterError` for a head that does not end, is longer than 8,000 characters, or is not a list of
    ``field: value``.
    """
    if not text.removeprefix("\ufeff").startswith("---"):
        return FrontMatter({}, text.strip())
    found = _HEAD.match(text[: HEAD_CHARACTERS + 10])
    if found is None:
        raise FrontMatterError(
            f"the head that begins with --- does not end with --- within {HEAD_CHARACTERS:,} characters"
        )
    try:
        fields = yaml.load(found[1] or "", _PlainLoader)  # noqa: S506 a SafeLoader with less
    except yaml.MarkedYAMLError as error:
        raise _trouble(error.problem or "this is not YAML", error.problem_mark) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise FrontMatterError(f"its head is not YAML: {error}") from error
    named = cast("dict[object, object]", {} if fields is None else fields)
    if not isinstance(fields, dict | None) or not all(isinstance(name, str) for name in named):
        raise FrontMatterError("its head is not a list of “field: value”")
    return FrontMatter(cast("dict[str, object]", named), text[found.end() :].strip())


def _trouble(problem: str, mark: yaml.Mark | None) -> FrontMatterError:
    return FrontMatterError(problem if mark is None else f"line {mark.line + 2}: {problem}")
