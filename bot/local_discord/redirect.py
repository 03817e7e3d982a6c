"""Point discord.py at another Discord.

discord.py reads three class attributes: the REST base (interactions and webhooks follow it), the
default gateway (to which it returns when a session is invalid), and the base of asset addresses.
"""

from __future__ import annotations

from collections.abc import Callable

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route


async def attach_over_http(rest_base: str, token: str) -> Callable[[], None]:
    """Point it at a Discord known by its API address alone; that says where its gateway is. Raise ``ClientError``."""
    headers = {"Authorization": f"Bot {token}"}
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10.0), headers=headers) as session:
        async with session.get(f"{rest_base}/gateway/bot", raise_for_status=True) as response:
            gateway = str((await response.json(content_type=None))["url"])
    return attach(rest_base, gateway, rest_base.partition("/api/")[0])


def attach(rest_base: str, gateway_url: str, cdn_base: str) -> Callable[[], None]:
    """Set all three for this process; call the result to restore them."""
    before = (Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY, discord.Asset.BASE)

    def point(rest: str, gateway: yarl.URL, cdn: str) -> None:
        Route.BASE = rest
        DiscordWebSocket.DEFAULT_GATEWAY = gateway
        # its type there is the literal address of the real CDN
        setattr(discord.Asset, "BASE", cdn)  # noqa: B010

    point(rest_base, yarl.URL(gateway_url), cdn_base)
    return lambda: point(*before)
