"""Lessons."""

from __future__ import annotations

from bot.console.console_context import Route

ROUTES: tuple[Route, ...] = ()
