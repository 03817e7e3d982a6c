"""``make conformance DISCORD_TOKEN=… GUILD_ID=…``: Discord and the local guild side by side, as a table.

With ``--record FILE`` nothing of Discord is needed: what ``threadwright doctor --live --record FILE`` wrote down of the real
services is compared with what the local Discord, the local forge and the scripted endpoint answer to the same requests.

Without it, it makes a channel and a command in that guild, and deletes both.  The bot needs the rights to manage channels, to
see and send messages, embed links, attach files, add reactions, and to make and manage threads there.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import Literal

import aiohttp

from bot.local_discord import LocalGuild
from tests.conformance.comparing import Row, compared
from tests.conformance.recorded import Unusable, against_stand_ins
from tests.conformance.target import Address, Unreachable

DISCORD = "https://discord.com/api/v10"
MISSING = "Set DISCORD_TOKEN and GUILD_ID: make conformance DISCORD_TOKEN=… GUILD_ID=… (a guild made for tests)."


def main(arguments: list[str]) -> int:
    """0 if the two do not differ, 1 if they do, 2 if one of them could not be talked to."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--base", default=DISCORD, help="the API to compare with; %(default)s unless given")
    parser.add_argument("--limits", default="discord", choices=("discord", "wide"), help="of the local guild")
    parser.add_argument("--record", type=Path, help="a record of `threadwright doctor --live`, to compare instead")
    chosen = parser.parse_args(arguments)
    if chosen.record is not None:
        return _of_record(chosen.record)
    token, guild = os.environ.get("DISCORD_TOKEN", ""), os.environ.get("GUILD_ID", "")
    if not token or not guild:
        print(MISSING, file=sys.stderr)
        return 2
    try:
        rows = asyncio.run(_against_local(Address("Discord", chosen.base, token, guild), chosen.limits))
    except (Unreachable, TimeoutError, aiohttp.ClientError) as error:
        print(str(error) or "No answer in time. Is the id of the guild right, and is the bot in it?", file=sys.stderr)
        return 2
    for line in table(rows):
        print(line)
    return 1 if any(row.differences for row in rows) else 0


def _of_record(file: Path) -> int:
    """The same for a record; 2 if there is nothing in it to compare."""
    try:
        found = asyncio.run(against_stand_ins(file))
    except Unusable as why:
        print(why, file=sys.stderr)
        return 2
    for line in (*table(found.rows), *(f"not compared: {each}" for each in found.left_out)):
        print(line)
    return 1 if any(row.differences for row in found.rows) else 0


async def _against_local(real: Address, limits: Literal["discord", "wide"]) -> list[Row]:
    async with await LocalGuild.start(limits=limits) as local:
        return await compared(real, Address("local guild", local.rest_base, local.bot_token, str(local.guild_id)))


def table(rows: list[Row]) -> list[str]:
    """A line for each step, and one below it for each difference: first the real one, then the stand-in.

    Fields that Discord sends and does not document are listed, but the step counts as the same.
    """
    width = max(len(row.what) for row in rows)
    lines: list[str] = []
    for row in rows:
        lines.append(f"{'differs' if row.differences else 'same   '}  {row.what:<{width}}  {row.request}")
        lines += [f"{'':9}{one}" for one in row.noted]
    same = sum(not row.differences for row in rows)
    return [*lines, f"{same} of {len(rows)} steps are the same."]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
