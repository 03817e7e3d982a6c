"""Commands and forms on what agents are equipped with: roles, rules, skills, watchers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.cogs.equipment.equipment_form import EquipmentForms
from bot.cogs.equipment.role_commands import RoleCommands
from bot.cogs.equipment.rule_commands import RuleCommands
from bot.cogs.equipment.skill_commands import SkillCommands
from bot.cogs.equipment.watcher_commands import WatcherCommands

if TYPE_CHECKING:
    from bot.app.client import ThreadwrightBot


async def setup(bot: ThreadwrightBot) -> None:
    """Called by discord.py."""
    for cog in (RoleCommands, RuleCommands, EquipmentForms, SkillCommands, WatcherCommands):
        await bot.add_cog(cog(bot))
