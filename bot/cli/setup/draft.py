"""What setup is about to write: the file's settings, the environment, and what was answered so far."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from agentic.models.providers.catalogue import PROVIDERS
from bot.cli.setup import env_file
from bot.config.settings_sources import PROVIDER_VARIABLES, read


class Draft:
    """The settings of a file and what changes in it; nothing is written before ``env_file.write``."""

    def __init__(self, file: Path) -> None:
        read(file)  # raises where others can write the file: nothing is kept in such a one
        self.file = file
        self.there = env_file.read(file)
        self.new: dict[str, str] = {}

    def value(self, name: str) -> str:
        """Return what the file will hold; '' where it will not be set there."""
        return self.new[name] if name in self.new else self.there.get(name, "")

    def set(self, name: str, value: str) -> None:
        """Change a setting; nothing where it has this value, or an empty one was not there."""
        self.new.pop(name, None)
        if self.there.get(name, "") != value:
            self.new[name] = value

    @property
    def env(self) -> Mapping[str, str]:
        """The variables of the providers that a start will see; the environment counts more than the file.

        A key of the environment is left out where the file alone sets the address: it is not sent there.
        """
        values = {name: value for name in PROVIDER_VARIABLES if (value := self.value(name))}
        env = {**values, **{name: value for name, value in os.environ.items() if value}}
        for provider in PROVIDERS:
            if any(name in values and not os.environ.get(name) for name in provider.addresses):
                for name in provider.keys:
                    if os.environ.get(name) and os.environ[name] != values.get(name):
                        env.pop(name, None)
        return env
