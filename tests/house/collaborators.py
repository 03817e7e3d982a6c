"""Bags of collaborators: classes that are given many things that act, counted by their fields.

A dataclass counts as what it is, a constructor.  A collaborator is something that acts: a callable, or a class that
waits (has a coroutine method), is a port (a ``Protocol``), or is itself given collaborators.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.house.shipped import Module

LEAST_COLLABORATORS = 3
"""A class that is given fewer, or mostly values, is data or one part that uses another."""


@dataclass(frozen=True, slots=True)
class Bag:
    """A class with what it is given."""

    name: str
    """Where it stands, and what it is called."""
    fields: int
    collaborators: int


def bags(modules: Iterable[Module]) -> list[Bag]:
    """Each class that is given at least three collaborators, as half of its fields or more; the largest first."""
    classes = [(module, node) for module in modules for node in _classes(module)]
    acting = _acting(classes) | {name for module in modules for name in _callables(module)}
    found: list[Bag] = []
    for module, node in classes:
        given = _given(node)
        acts = sum(bool(_names(annotation) & acting) for annotation in given)
        if acts >= LEAST_COLLABORATORS and 2 * acts >= len(given):
            found.append(Bag(f"{module.place}: {node.name}", len(given), acts))
    return sorted(found, key=lambda bag: (-bag.fields, bag.name))


def _classes(module: Module) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef))


def _callables(module: Module) -> Iterator[str]:
    """Names of types that stand for a function."""
    yield "Callable"
    for node in module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if "Callable" in _names(value):
                yield name


def _acting(classes: list[tuple[Module, ast.ClassDef]]) -> set[str]:
    """Names of classes that act, and in turn of those that are given one."""
    nodes = [node for _, node in classes]
    acting = {
        node.name
        for node in nodes
        if any(isinstance(each, ast.AsyncFunctionDef) for each in node.body)
        or any("Protocol" in _names(base) for base in node.bases)
    }
    while more := {
        node.name
        for node in nodes
        if node.name not in acting and any(_names(one) & (acting | {"Callable"}) for one in _given(node))
    }:
        acting |= more
    return acting


def _given(node: ast.ClassDef) -> list[ast.expr | None]:
    """The annotations of what a class is made with."""
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            arguments = [*each.args.posonlyargs, *each.args.args, *each.args.kwonlyargs][1:]
            return [one.annotation for one in arguments]
    if not any("dataclass" in _names(decorator) for decorator in node.decorator_list):
        return []
    return [each.annotation for each in node.body if isinstance(each, ast.AnnAssign) and not _is_made_inside(each)]


def _is_made_inside(field: ast.AnnAssign) -> bool:
    if "ClassVar" in _names(field.annotation):
        return True
    match field.value:
        case ast.Call(keywords=keywords):
            return any(one.arg == "init" and ast.unparse(one.value) == "False" for one in keywords)
        case _:
            return False


def _names(node: ast.expr | None) -> set[str]:
    return set() if node is None else {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
