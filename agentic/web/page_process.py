"""The program that reads one HTML page: its bytes in, title, text and links out, over its pipes.

It is a process of its own because a parser of HTML has no bound in time or memory, is written in C, and the page is
anybody's.  The kernel ends this process where a page takes too long or too much; whoever asked then says so.

The request is a line of JSON (``url``, ``charset``) and the page after it; the answer is one JSON object.
"""

from __future__ import annotations

import json
import logging
import re
import resource
import sys
from typing import Any
from urllib.parse import urljoin

CPU_SECONDS = 10
MEMORY = 1_500_000_000
TEXT = 400_000
LEAST = 200
"""An article shorter than this, in characters, is taken for one that was not found: the whole page's text is used."""
LINKS = 40
LINK_TEXT, LINK_URL = 80, 500
_CHARSET = re.compile(
    r"(?:utf-?8|utf-?16(?:-?[lb]e)?|us-ascii|ascii|iso-?8859-?\d{1,2}|latin-?1|windows-125\d|cp125\d|shift[_-]jis|euc-(?:jp|kr)|"
    r"gb2312|gbk|gb18030|big5|koi8-[ru])"
)
_META = re.compile(rb"<meta[^>]{0,200}charset=[\"']?([a-zA-Z0-9_-]{3,20})", re.IGNORECASE)


def decoded(content: bytes, charset: str) -> str:
    """The text: what is valid UTF-8 is that, whatever is claimed; else by the header, the page, and as old browsers did."""
    named = _META.search(content[:2_048])
    claims = ("utf-8-sig", charset, named[1].decode().lower() if named else "", "cp1252")
    for claim in claims:
        if claim in ("utf-8-sig", "cp1252") or _CHARSET.fullmatch(claim):
            try:
                return content.decode(claim)
            except (UnicodeDecodeError, LookupError):
                continue
    return content.decode("utf-8", "replace")


def page(content: bytes, charset: str, url: str) -> dict[str, Any]:
    """What a reader sees of a page."""
    import trafilatura

    html = decoded(content, charset)
    tree: Any = trafilatura.load_html(html)
    if tree is None:
        return {"title": "", "text": "", "links": []}
    links = _links(tree, url)
    title = next((" ".join(found.text_content().split()) for found in tree.iter("title")), "")
    text = trafilatura.extract(
        html, url=url, output_format="markdown", include_links=True, include_tables=True, include_comments=False
    )
    if text is None or len(text) < LEAST:
        text = max(text or "", trafilatura.html2txt(html), key=len)
    return {"title": title[:300], "text": text[:TEXT], "links": links}


def _links(tree: Any, url: str) -> list[list[str]]:
    found: dict[str, str] = {}
    for anchor in tree.iter("a"):
        try:
            to = urljoin(url, (anchor.get("href") or "").strip()).partition("#")[0]
        except ValueError:
            continue
        text = " ".join((anchor.text_content() or "").split())[:LINK_TEXT]
        if text and to.startswith(("http://", "https://")) and len(to) <= LINK_URL and to != url:
            found.setdefault(to, text)
        if len(found) == LINKS:
            break
    return [[text, to] for to, text in found.items()]


def main() -> None:
    """Limit this process, and read the page."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    logging.disable(logging.CRITICAL)
    request: dict[str, str] = json.loads(sys.stdin.buffer.readline())
    answer = page(sys.stdin.buffer.read(), request["charset"], request["url"])
    sys.stdout.buffer.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main()
