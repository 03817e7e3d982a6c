"""Buttons that only the one who opened them may press, and that go after a time."""

from __future__ import annotations

import discord
from discord.utils import MISSING

from bot.cogs.private_replies import tell


class PersonalView(discord.ui.View):
    """``refusal`` is for everybody else, ``over`` what the message says once its time has passed ('' for the same)."""

    def __init__(self, person: str, seconds: float, refusal: str, over: str = "") -> None:
        super().__init__(timeout=seconds)
        self.person = person
        self.message: discord.Message | None = None
        """Where the buttons stand, once they do."""
        self._refusal, self._over = refusal, over

    async def interaction_check(self, interaction: discord.Interaction) -> bool:
        """Nobody else's click counts."""
        if str(interaction.user.id) == self.person:
            return True
        await tell(interaction, self._refusal)
        return False

    async def on_timeout(self) -> None:
        """Nobody clicked any more: the buttons go, and nothing happens."""
        if self.message is not None:
            try:
                await self.message.edit(content=self._over or MISSING, view=None)
            except discord.HTTPException:
                return
