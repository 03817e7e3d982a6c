"""Let the bot of one library have the conversation: `python -m tests.integration.local_discord.libraries COMMAND...`.

For example `/path/to/venv/bin/python tests/integration/local_discord/libraries/nextcord_bot.py`, or
`node tests/integration/local_discord/libraries/eris_bot.js` with NODE_PATH leading to where npm installed it.
"""

from __future__ import annotations

import asyncio
import sys

from bot.local_discord import LocalGuild
from tests.integration.local_discord.libraries.scenario import converse, running


async def main(command: list[str]) -> None:
    async with await LocalGuild.start() as guild, running(guild, command):
        await converse(guild)
    print("everything was done")


asyncio.run(main(sys.argv[1:]))
