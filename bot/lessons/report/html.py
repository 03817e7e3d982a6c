"""HTML in which every text is escaped unless it was made here."""

from __future__ import annotations

import html
import re

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
"""What has no sign of its own, or turns the signs around it."""


class Html(str):
    """Text that is HTML already; only this module makes it."""

    __slots__ = ()


def tag(name: str, /, *inside: str, **attributes: str | float) -> Html:
    """An element; a plain ``str`` in it is escaped, and so is every attribute.

    An underscore in an attribute's name stands for a hyphen, one at its end for nothing (``class_``).
    """
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(_visible(_number(value)))}"'
        for key, value in attributes.items()
    )
    if name in ("meta", "br", "rect", "line", "circle", "path"):
        return Html(f"<{name}{said}>" if name in ("meta", "br") else f"<{name}{said}/>")
    return Html(f"<{name}{said}>{together(*inside)}</{name}>")


def together(*inside: str) -> Html:
    """One after the other."""
    return Html("".join(each if isinstance(each, Html) else html.escape(_visible(each)) for each in inside))


def style_sheet(rules: str) -> Html:
    """A style sheet of ours, word for word."""
    return Html(f"<style>{rules}</style>")


def whole(*inside: Html) -> str:
    """A document."""
    return f"<!doctype html>\n{tag('html', *inside, lang='en')}\n"


def _visible(text: str) -> str:
    return _UNSEEN.sub("�", text)


def _number(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
