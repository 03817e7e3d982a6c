"""Files and avatars, as Discord's CDN serves them.

An uploaded file must not act as a page of this server: everything but plain pictures is sent as a download, and
nothing served here may run scripts.
"""

from __future__ import annotations

import struct
import zlib
from urllib.parse import quote

from aiohttp import web

from bot.local_discord.model.records import Attachment, Message
from bot.local_discord.model.state import GuildState
from bot.local_discord.payloads.signed_urls import Signer

_INLINE = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_COLOURS = (0x5865F2, 0x757E8A, 0x3BA55C, 0xFAA61A, 0xED4245, 0xEB459F)


class Cdn:
    """Attachments by id, and default avatars."""

    def __init__(self, state: GuildState, signer: Signer) -> None:
        self._state = state
        self._signer = signer

    def routes(self) -> list[web.RouteDef]:
        """The addresses."""
        return [
            web.get(r"/attachments/{channel:\d{1,20}}/{attachment:\d{1,20}}/{filename}", self.attachment),
            web.get(r"/embed/avatars/{number:\d{1,20}}.png", self.avatar),
        ]

    async def attachment(self, request: web.Request) -> web.Response:
        """A file with its content type."""
        channel_id, wanted = int(request.match_info["channel"]), int(request.match_info["attachment"])
        signed = self._signer.holds(channel_id, wanted, request.query)
        one = self._find(channel_id, wanted) if signed else None
        if one is None:
            return web.Response(status=404, text="This content is no longer available.")
        return self._file(one.id, one.filename, one.content_type)

    def _find(self, channel_id: int, wanted: int) -> Attachment | None:
        """Find an attachment of a message there, or of one that was forwarded from there."""
        here = (a for m in self._state.messages.get(channel_id, {}).values() for a in m.attachments)
        found = next((a for a in here if a.id == wanted), None)
        if found is not None:
            return found
        passed_on = (a for m in self._everywhere() if m.forwarded for a in m.forwarded.attachments)
        return next((a for a in passed_on if a.id == wanted), None)

    def _everywhere(self) -> list[Message]:
        return [m for in_channel in self._state.messages.values() for m in in_channel.values()]

    def _file(self, attachment_id: int, filename: str, content_type: str) -> web.Response:
        content = self._state.store.load_file(attachment_id)
        if content is None:
            return web.Response(status=404, text="This content is no longer available.")
        way = "inline" if content_type in _INLINE else "attachment"
        disposition = f"{way}; filename*=UTF-8''{quote(filename)}"
        extra = _SAFE | {"Content-Disposition": disposition, "Content-Type": content_type}
        return web.Response(body=content, headers=extra)

    async def avatar(self, request: web.Request) -> web.Response:
        """A square in one of Discord's colours."""
        colour = _COLOURS[int(request.match_info["number"]) % len(_COLOURS)]
        return web.Response(body=png_square(colour), content_type="image/png", headers=_SAFE)


def png_square(colour: int, side: int = 64) -> bytes:
    """A picture of one colour."""
    row = b"\0" + colour.to_bytes(3, "big") * side
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(row * side)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
