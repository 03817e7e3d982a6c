"""Whether a task read text that nobody here vouches for; as its log knows it.  Pure.

What is trusted: the words of people who may steer the thread, and the workspace, which the task's people chose.  What is
not: attachments, quoted and forwarded messages, whatever was fetched from elsewhere, code of others that lies in the
workspace as a dependency, and any text that gives orders to its reader.
"""

from __future__ import annotations

import re

from agentic.core.events.execution_events import FileRef, QuotedMessage
from reflexion.text.screening import orders_its_reader

_FETCHES = re.compile(
    r"""(?ix) (?<![\w./-])(?:curl|wget|aria2c|lynx|w3m|links2?|https?ie|xh|gh|glab|ssh|scp|sftp|rsync|nc|ncat|telnet|ftp)\s+\S
      | \bgit\s+(?:-\S{1,80}\s+){0,3}(?:clone|fetch|pull|ls-remote|submodule\s+update|remote\s+(?:show|update))\b
      | \b(?:pip3?|uv|poetry|npm|yarn|pnpm|bun|cargo|gem|go|composer|apt|apt-get|brew|conda)\s+(?:\S{1,80}\s+){0,2}
          (?:install|add|ci|get|download|view|show|info|search|update|upgrade|sync)\b
      | \burlopen\b | \brequests\.(?:get|post|request)\b | \bhttpx\.\w | \baiohttp\.ClientSession\b | \bfetch\(\s*["']
      | \b(?:https?|ftps?|ssh|s3|gs)://(?!(?:localhost|127\.\d|0\.0\.0\.0|\[::1\]))\S | \bgit@[\w.-]+:"""
)
_OF_OTHERS = re.compile(
    r"(?i)(?:^|[\s/'\"=(])(?:attachments|node_modules|site-packages|dist-packages|third[_-]party|vendor|vendored|bower_components"
    r"|\.venv|venv|\.cargo|\.tox)/"
)


def of_message(files: tuple[FileRef, ...], quoted: tuple[QuotedMessage, ...]) -> tuple[str, ...]:
    """What a message brought along that its author need not have written."""
    attached = ("a file that somebody attached",) if any(not each.skipped for each in files) else ()
    return (*attached, *(("a message that was quoted",) if quoted else ()))


def of_call(asked: str, output: str) -> tuple[str, ...]:
    """What a call read beyond the workspace's own files."""
    found = (
        ("what was fetched from elsewhere", bool(_FETCHES.search(asked))),
        ("files of others in the workspace", bool(_OF_OTHERS.search(asked))),
        ("text that gives orders to its reader", orders_its_reader(output)),
    )
    return tuple(name for name, there in found if there)
