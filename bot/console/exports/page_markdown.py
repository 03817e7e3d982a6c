"""A page of the console as Markdown; pure.

Only our own templates make markup of a page, so foreign text is no markup there. Nor does it become any here: in a line each
sign that Markdown reads is escaped, and what keeps its lines stands in a block of code that it cannot leave. Menus, forms,
pictures and links that copy are left out; of a chart its description is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

from bot.console.exports.markdown_export import code, fence

_SPACE = re.compile(r"[\s\x00-\x1f\x7f\u0085\u2028\u2029]+")
_SIGNS = re.compile(r"[\\`*\[\]<>~|&]|(?<![^\W_])_|_(?![^\W_])|(?<=www)\.|:(?=//)", re.IGNORECASE)
_START = re.compile(r"(\d{1,9}(?=[.)])|(?=[-+=#]))(.)", re.DOTALL)
_DOT = re.compile(r"·(?= |$)")
_PIPE = re.compile(r"(?<!\\)\|")
_ENDS = re.compile(r"\r\n?")
_DIGIT = re.compile(r"\d")
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr"})
_INLINE = frozenset(
    {"", "a", "abbr", "b", "br", "code", "em", "ins", "del", "mark", "small", "span", "strong", "time", "wbr"}
)
_LEFT_OUT = frozenset({"script", "style", "form", "button", "hr", "img", "input"})


@dataclass(slots=True)
class _Element:
    """An element with what is in it; one without a name is a text."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    inside: list[_Element] = field(default_factory=list["_Element"])
    text: str = ""

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    @property
    def keeps_lines(self) -> bool:
        return self.tag == "pre" or "words" in self.classes

    @property
    def left_out(self) -> bool:
        hidden = self.attributes.get("aria-hidden") == "true" or "data-copy" in self.attributes
        return hidden or self.tag in _LEFT_OUT or "exports" in self.classes


def page_markdown(page: str) -> str:
    """What stands in the main part of a page."""
    tree = _Tree()
    tree.feed(page)
    tree.close()
    return "\n\n".join(_blocks(tree.main.inside)) + "\n"


def prose(text: str) -> str:
    """Foreign text in a line, without a sign that Markdown reads."""
    return _SIGNS.sub(r"\\\g<0>", _SPACE.sub(" ", text))


class _Tree(HTMLParser):
    """The elements of a page's main part."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.main = _Element("main")
        self._open: list[_Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "main":
            self._open = [self.main]
        elif self._open:
            one = _Element(tag, {name: value or "" for name, value in attrs})
            self._open[-1].inside.append(one)
            if tag not in _VOID:
                self._open.append(one)

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1].tag == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open:
            self._open[-1].inside.append(_Element("", text=data))


def _blocks(inside: Iterable[_Element]) -> list[str]:
    """The blocks that elements become; those of a line that stand side by side are one."""
    found: list[str] = []
    line: list[_Element] = []
    for one in inside:
        if one.left_out:
            continue
        if one.tag in _INLINE and not one.keeps_lines:
            line.append(one)
            continue
        found += _paragraph(_line(line))
        line.clear()
        found += _block(one)
    return found + _paragraph(_line(line))


def _block(one: _Element) -> list[str]:
    if one.keeps_lines:
        text = _ENDS.sub("\n", _raw(one)).strip("\n")
        return [fence(text, "diff" if any("diff" in name for name in one.classes) else "")] if text else []
    match one.tag:
        case "h1" | "h2" | "h3" | "h4" | "h5" | "h6":
            return ["#" * int(one.tag[1]) + " " + _line(one.inside).strip()]
        case "ul" | "ol" | "dl":
            return _list(one)
        case "table":
            return _table(one)
        case "summary" | "figcaption" | "caption":
            return _bold(one)
        case "nav":  # where one is, without the ways to elsewhere
            return _blocks(each for each in one.inside if each.tag != "a")
        case "svg":
            return _blocks(each for each in one.inside if each.tag == "desc")
        case _:
            if "who" in one.classes:
                return _bold(one)
            facts = "facts" in one.classes or any("data-copy" in each.attributes for each in one.inside)
            return _paragraph(_facts(one)) if one.tag == "p" and facts else _blocks(one.inside)


def _bold(one: _Element) -> list[str]:
    return [f"**{line}**"] if (line := _line(one.inside, bold=False).strip()) else []


def _paragraph(line: str) -> list[str]:
    """A line as a block; it begins neither a heading nor a list."""
    line = line.strip()
    return [_START.sub(r"\1\\\2", line, count=1) if _START.match(line) else line] if line else []


def _facts(one: _Element) -> str:
    """A line of facts between dots. A link without a number that stands there alone only leads to elsewhere."""
    shown = [
        _Element("", text=" ") if each.tag == "a" and not _DIGIT.search(_raw(each)) else each for each in one.inside
    ]
    parts = _DOT.split(_SPACE.sub(" ", _line(shown)))
    return " · ".join(part.strip() for part in parts if part.strip())


def _list(one: _Element) -> list[str]:
    items: list[str] = []
    for number, each in enumerate(_items(one), 1):
        mark = f"{each.attributes.get('value') or number}. " if one.tag == "ol" else "- "
        text = "\n\n".join(_blocks(each.inside))
        if text:
            items.append(mark + text.replace("\n", "\n" + " " * len(mark)))
    return ["\n".join(items)] if items else []


def _items(one: _Element) -> Iterator[_Element]:
    """The items of a list; a name and its value are one."""
    name: list[_Element] = []
    for each in one.inside:
        if each.tag == "div":
            yield from _items(each)
        elif each.tag == "dt":
            name = [*each.inside, _Element("", text=": ")]
        elif each.tag == "dd":
            yield _Element("li", inside=[*name, *each.inside])
        elif each.tag == "li":
            yield each


def _table(one: _Element) -> list[str]:
    rows = [row for row in _within(one, "tr") if any(cell.tag in ("td", "th") for cell in row.inside)]
    lines: list[str] = []
    for row in rows:
        cells = [cell for cell in row.inside if cell.tag in ("td", "th")]
        heads = all(cell.tag == "th" and cell.attributes.get("scope") != "row" for cell in cells)
        if not lines and not heads:
            lines += ["|" + "  |" * len(cells), "|" + "---|" * len(cells)]
        lines.append("| " + " | ".join(_flat(cell.inside) for cell in cells) + " |")
        if len(lines) == 1:
            lines.append("|" + "---|" * len(cells))
    named = [line for each in one.inside if each.tag == "caption" for line in _bold(each)]
    return [*named, "\n".join(lines)] if lines else []


def _within(one: _Element, tag: str) -> Iterator[_Element]:
    for each in one.inside:
        if each.tag == tag:
            yield each
        elif each.tag in ("thead", "tbody", "tfoot"):
            yield from _within(each, tag)


def _flat(inside: Iterable[_Element]) -> str:
    """What a cell of a table holds, in one line."""
    parts: list[str] = []
    line: list[_Element] = []
    for one in inside:
        if one.left_out or one.tag == "svg":
            continue
        if one.tag in _INLINE:
            line.append(one)
            continue
        parts += [_line(line), code(_raw(one)) if one.keeps_lines else _flat(one.inside)]
        line.clear()
    return _PIPE.sub(r"\|", "; ".join(part.strip() for part in (*parts, _line(line)) if part.strip()))


def _line(inside: Iterable[_Element], *, bold: bool = True) -> str:
    """Elements of a line as Markdown."""
    parts: list[str] = []
    for one in inside:
        if one.left_out:
            continue
        if not one.tag:
            parts.append(prose(one.text))
        elif one.tag == "br":
            parts.append(" ")
        elif one.tag == "code":
            parts.append(code(_raw(one)))
        elif bold and one.tag in ("strong", "b") and (text := _line(one.inside).strip()):
            parts.append(f"**{text}**")
        else:
            parts.append(_line(one.inside))
    return _SPACE.sub(" ", "".join(parts))


def _raw(one: _Element) -> str:
    """A text with its lines; where each line is an element of its own, they do not run together."""
    if not one.tag:
        return one.text
    parts: list[str] = []
    for each in one.inside:
        if each.tag in ("ins", "del", "span") and one.tag == "pre" and parts and not parts[-1].endswith("\n"):
            parts.append("\n")
        parts.append(_raw(each))
    return "".join(parts)
