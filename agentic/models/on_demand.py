"""Importing a library without the modules that nobody asks for.

The anthropic SDK's packages gather the names of everything below them: 2,900 modules, of which a request of ours needs
the third part.  Here such a package is not run when it is imported.  It knows from its text which module each name comes
from, and imports that one when the name is asked for.  What the text does not say so plainly (``import *``, other
statements) is had by running the package after all, so that it never lacks anything.

Modules that a library imports only to name their classes (in annotations, in ``isinstance``) can be left out by name:
whoever imports from them in the block gets empty classes, and whoever does so later the modules themselves.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec
from threading import RLock
from types import ModuleType

_ONE_AT_A_TIME = RLock()
"""Two threads that import one library in different orders could each meet the other's half-made modules."""


@contextmanager
def names_on_demand(library: str, left_out: Collection[str] = ()) -> Generator[None]:
    """In this block, packages of the library are imported so; ``left_out`` are modules whose classes nobody makes."""
    with _ONE_AT_A_TIME:
        finder = _Finder(library, left_out)
        sys.meta_path.insert(0, finder)
        try:
            yield
        finally:
            sys.meta_path.remove(finder)
            _put_back(finder.left_out)


def _put_back(left_out: Collection[str]) -> None:
    """Modules that were left out are found from now on, also through the packages that they stand in."""
    for name in left_out:
        empty = sys.modules.get(name)
        if empty is None or not isinstance(empty.__loader__, _LeftOut):
            continue
        del sys.modules[name]
        gathering = vars(sys.modules[name.rpartition(".")[0]])
        for key, value in [*gathering.items()]:
            if value is empty or (isinstance(value, type) and value.__module__ == name):
                del gathering[key]


class _LeftOut(Loader):
    """Loads a module that has an empty class for every name that is asked of it."""

    def create_module(self, spec: ModuleSpec) -> None:
        """As Python makes it."""

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run."""

        def name_of(name: str) -> type:
            if name.startswith("__"):
                raise AttributeError(name)
            found = type(name, (), {"__module__": module.__name__})
            setattr(module, name, found)
            return found

        vars(module)["__getattr__"] = name_of


class _Finder:
    def __init__(self, library: str, left_out: Collection[str]) -> None:
        self._library = library
        self.left_out = frozenset(left_out) - sys.modules.keys()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A module of the library, as Python finds it; a package is given a loader of its own."""
        if name.partition(".")[0] != self._library:
            return None
        if name in self.left_out:
            return ModuleSpec(name, _LeftOut())
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
