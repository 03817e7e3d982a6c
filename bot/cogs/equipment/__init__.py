"""Commands and forms on roles and rules, which owners write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.cogs.equipment.equipment_form import EquipmentForms
from bot.cogs.equipment.role_commands import RoleCommands
from bot.cogs.equipment.rule_commands import RuleCommands

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    for cog in (RoleCommands, RuleCommands, EquipmentForms):
        await bot.add_cog(cog(bot))
