"""Modules that read the log by themselves: those that name an event of it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tests.house.shipped import Module

EVENTS = "agentic/core/events/"
"""Where the events are defined; whoever is elsewhere and names one reads it, or makes it."""


def event_names(modules: Iterable[Module]) -> frozenset[str]:
    """The classes that tell their sort by a literal ``kind``."""
    return frozenset(
        node.name
        for module in modules
        if module.place.startswith(EVENTS)
        for node in module.tree.body
        if isinstance(node, ast.ClassDef)
        if any(isinstance(field, ast.AnnAssign) and _is_kind(field) for field in node.body)
    )


def readers(modules: list[Module], *names: str) -> list[str]:
    """Where one of these events (of all, without names) is named."""
    wanted = frozenset(names) or event_names(modules)
    return [
        module.place
        for module in modules
        if not module.place.startswith(EVENTS) and not wanted.isdisjoint(_used(module.tree))
    ]


def _is_kind(field: ast.AnnAssign) -> bool:
    return ast.unparse(field.target) == "kind" and "Literal" in ast.unparse(field.annotation)


def _used(tree: ast.Module) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }
