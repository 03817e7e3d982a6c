"""What can be taken out of the core: rules, steps of the fold, and each ``if`` of a module."""

from __future__ import annotations

import ast
from pathlib import Path


def branches(source: Path) -> list[tuple[int, str]]:
    """The line of each ``if`` statement inside a function, with its test."""
    tree = ast.parse(source.read_text())
    return [(node.lineno, ast.unparse(node.test)) for node in ast.walk(tree) if isinstance(node, ast.If)]


def without(tree: ast.Module, line: int) -> ast.Module:
    """The module with the body of the ``if`` at ``line`` never taken."""

    class Never(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST:
            self.generic_visit(node)
            if node.lineno == line:
                node.test = ast.Constant(value=False)
            return node

    return ast.fix_missing_locations(Never().visit(tree))
