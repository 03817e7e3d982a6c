"""`/search`: what was said and done in the threads that whoever asks may see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discord import app_commands
from discord.ext import commands

from agentic.ports.runtime import Wanted
from agentic.text.word_query import LONGEST, WordQuery
from bot.access.thread_access import OutOfReach, Stand, require
from bot.cogs.commands.replies import answer_at_length, begin, reads_much
from bot.history.thread_search import LOOKED_THROUGH, words_of
from bot.messages import report_text
from reflexion.text.secrets import redact

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot
    from bot.cogs.commands.replies import Context

NO_WORDS = "There is nothing to look for in that: write a word, or the beginning of one."
TOO_LONG = f"That is too long to look for: at most {LONGEST} characters. A few words are enough."
LOOKED_UP = 25
"""Threads that Discord is asked about at most for one page: archived ones, and who is in private ones."""

Page = commands.Range[int, 1, 200]


class SearchCommands(commands.Cog):
    """Finding words again."""

    def __init__(self, bot: ThreadwrightBot) -> None:
        self.bot = bot

    @commands.hybrid_command(description="Find words in tasks, answers, messages, commands and file names")
    @reads_much()
    @app_commands.describe(
        words='Words, or their beginnings; "in quotes" for words in that order', page="The newest come first"
    )
    async def search(self, ctx: Context, *, words: str, page: Page = 1) -> None:
        """Find words in tasks, answers, messages, commands and file names."""
        await begin(ctx)
        stand = await self.bot.reach.stand(ctx.interaction or ctx.message, "search")
        require(stand, "see")
        if len(words) > LONGEST:
            raise OutOfReach(TOO_LONG)
        query = WordQuery.of(words)
        if not query.phrases:
            raise OutOfReach(NO_WORDS)
        sight = _Sight(self.bot, stand)
        found = await self.bot.searching.page(
            query, Wanted(guild=stand.guild_id, thread=stand.alone_in), sight.sees, page
        )
        lines = [
            report_text.HitLine(hit.thread, hit.envelope.at, said, self._masked(said.text))
            for hit, said in ((hit, words_of(hit)) for hit in found.hits)
        ]
        told = report_text.hits(lines, query, words, page=page, more=page + 1 if found.more else 0)
        notes = (
            report_text.STILL_READING if found.behind else "",
            report_text.NOT_ALL.format(number=LOOKED_THROUGH) if found.cut else "",
            report_text.NOT_LOOKED_INTO if sight.left_out else "",
            self.bot.expiry.always,
        )
        title = report_text.title_of_hits(found=bool(lines) or page > 1, openly=stand.openly)
        await answer_at_length(ctx, title, "\n".join(filter(None, (told, *notes))), "found.md")

    def _masked(self, text: str) -> str:
        """A whole text without secrets: half of one, where it is cut afterwards, would have no known form."""
        return redact(self.bot.desk.discreet_text(text))


class _Sight:
    """What one person may see, for one search."""

    def __init__(self, bot: ThreadwrightBot, stand: Stand) -> None:
        self._bot, self._stand = bot, stand
        self._left = LOOKED_UP
        self.left_out = False
        """Discord was not asked about all threads that may be visible."""

    async def sees(self, thread: str) -> bool:
        """Whether they may see a thread now."""
        reach, row = self._bot.reach, await self._bot.store.session(thread)
        if row is None or not reach.may_see(self._stand, row):
            return False
        if not reach.is_known(self._stand, row):
            if not self._left:
                self.left_out = True
                return False
            self._left -= 1
        return await reach.sees(self._stand, row)
