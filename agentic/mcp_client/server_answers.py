"""Answers of servers as words and files, within bounds; nothing in them is believed."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import mcp_types as types

TEXT_CHARACTERS = 4_000_000
FILE_BYTES = 8 << 20
MOST_FILES = 8
MOST_BLOCKS = 500
_ENDINGS = {
    "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/svg+xml": "svg",
    "audio/wav": "wav", "audio/mpeg": "mp3", "audio/ogg": "ogg", "application/pdf": "pdf", "application/json": "json",
    "application/gzip": "gz", "application/zip": "zip", "text/csv": "csv", "text/plain": "txt",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file that a server sent, under a name of ours."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Answered:
    """What a server answered; ``files`` are named in the text by their place, as ``<file 1>``."""

    text: str
    failed: bool = False
    files: tuple[SentFile, ...] = ()


def of_call(tool: str, result: types.CallToolResult) -> Answered:
    """The answer of a tool."""
    parts, files = _parts(tool, result.content)
    if result.structured_content is not None and not any(isinstance(b, types.TextContent) for b in result.content):
        parts.append(json.dumps(result.structured_content, ensure_ascii=False, indent=1))
    return Answered(_cut(parts) or "(It answered nothing.)", failed=result.is_error, files=files)


def of_prompt(name: str, result: types.GetPromptResult) -> Answered:
    """A prompt as its server wrote it."""
    parts: list[str] = []
    files: tuple[SentFile, ...] = ()
    for message in result.messages[:MOST_BLOCKS]:
        texts, sent = _parts(name, (message.content,), len(files))
        files += sent
        parts.append(f"{message.role}: " + "\n".join(texts))
    return Answered(_cut(parts) or "(It is empty.)", files=files)


def of_resource(result: types.ReadResourceResult) -> Answered:
    """What stands at an address."""
    parts, files = _parts(
        "resource", [types.EmbeddedResource(type="resource", resource=one) for one in result.contents]
    )
    return Answered(_cut(parts) or "(It is empty.)", files=files)


def _parts(name: str, blocks: Sequence[types.ContentBlock], before: int = 0) -> tuple[list[str], tuple[SentFile, ...]]:
    parts: list[str] = []
    files: list[SentFile] = []
    for block in blocks[:MOST_BLOCKS]:
        match block:
            case types.TextContent(text=text):
                parts.append(text)
            case types.ImageContent(data=data, mime_type=media) | types.AudioContent(data=data, mime_type=media):
                parts.append(_file(files, name, media, data, before))
            case types.ResourceLink(uri=uri, name=title):
                parts.append(f"A resource: {title[:200]} at {uri[:1_000]}")
            case types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, text=text)):
                parts.append(f"{uri[:1_000]}:\n{text}")
            case types.EmbeddedResource(resource=types.BlobResourceContents(uri=uri, blob=data, mime_type=media)):
                parts.append(f"{uri[:1_000]}: {_file(files, name, media or '', data, before)}")
            case types.EmbeddedResource():
                pass
    if len(blocks) > MOST_BLOCKS:
        parts.append(f"({len(blocks) - MOST_BLOCKS} more parts were left out.)")
    return parts, tuple(files)


def _file(files: list[SentFile], name: str, media: str, data: str, before: int) -> str:
    if before + len(files) == MOST_FILES:
        return f"(A file was left out: at most {MOST_FILES} are taken.)"
    if len(data) * 3 // 4 > FILE_BYTES:
        return f"(A file was left out: it has more than {FILE_BYTES >> 20} MB.)"
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return "(A file was left out: it is not the base64 that it should be.)"
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name)[:60]
    files.append(SentFile(f"{plain}.{_ENDINGS.get(media.lower().partition(';')[0].strip(), 'bin')}", content))
    return f"<file {before + len(files)}>"


def _cut(parts: Iterable[str]) -> str:
    text = "\n".join(parts)
    return (
        text if len(text) <= TEXT_CHARACTERS else text[:TEXT_CHARACTERS] + "\n(The rest is too long and was left out.)"
    )
