"""The local guild could be a distribution of its own."""

from __future__ import annotations

import subprocess
import sys

ALONE = """
import asyncio, importlib, pkgutil, sys
from importlib.abc import MetaPathFinder

class ForeignImports(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        package, _, rest = name.partition(".")
        ours = package == "bot" and rest.partition(".")[0] in ("", "local_discord")
        if package in ("agentic", "reflexion", "litellm", "anthropic") or (package == "bot" and not ours):
            raise ImportError(f"the local guild imports {name}")

sys.meta_path.insert(0, ForeignImports())
import bot.local_discord as package

async def started() -> int:
    async with await package.LocalGuild.start() as guild:
        return len((await guild.post(guild.channel().id, "hello")).content)

for module in pkgutil.walk_packages(package.__path__, "bot.local_discord."):
    importlib.import_module(module.name)
print(asyncio.run(started()), len([m for m in sys.modules if m.startswith("bot.")]))
"""


def test_it_works_where_nothing_else_of_the_product_can_be_imported() -> None:
    shown = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=60, check=False)
    assert shown.returncode == 0, shown.stderr
    greeted, modules = map(int, shown.stdout.split())
    assert greeted == 5
    assert modules > 40, "its modules were not found"
