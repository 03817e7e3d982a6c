"""Importing a library without the modules that nobody asks for.

The anthropic SDK's packages gather the names of everything below them: 2,900 modules, of which a request of ours needs
the third part.  Here such a package is not run when it is imported.  It knows from its text which module each name comes
from, and imports that one when the name is asked for.  What the text does not say so plainly (``import *``, other
statements) is had by running the package after all, so that it never lacks anything.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec
from types import ModuleType


@contextmanager
def names_on_demand(library: str) -> Generator[None]:
    """In this block, packages of the library are imported so."""
    finder = _Finder(library)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder:
    def __init__(self, library: str) -> None:
        self._library = library

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A module of the library, as Python finds it; a package is given a loader of its own."""
        if name.partition(".")[0] != self._library:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.submodule_search_locations and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Gathering(name, spec.loader.path)
        return spec


class _Gathering(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        """Give the module a way to its names, which it loses when it is run."""
        package, homes = module.__name__, gathered(self.get_data(self.path))
        whole = super().exec_module

        def name_of(name: str) -> object:
            if name in homes:
                home, own = homes[name]
                found: object = getattr(import_module(home, package), own)
            elif name != "__all__" and name.startswith("__"):
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            elif find_spec(f"{package}.{name}") is not None:
                found = import_module(f"{package}.{name}")
            else:
                vars(module).pop("__getattr__", None)
                whole(module)
                return getattr(module, name)
            setattr(module, name, found)
            return found

        vars(module)["__getattr__"] = name_of


def gathered(text: bytes) -> dict[str, tuple[str, str]]:
    """The names that a package takes from its own modules, and what they are called there: {name: (.module, name)}."""
    taken = (node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom) and node.level and node.module)
    return {
        one.asname or one.name: (f"{'.' * node.level}{node.module}", one.name)
        for node in taken
        for one in node.names
        if one.name != "*"
    }
