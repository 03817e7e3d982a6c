"""Importing a library without the modules that nobody asks for.

The anthropic SDK's packages gather the names of everything below them: 2,900 modules, of which a request of ours needs
the third part.  Here such a package is not run when it is imported.  It knows from its text which module each name comes
from, and imports that one when the name is asked for.  What the text does not say so plainly (``import *``, other
statements) is had by running the package after all, so that it never lacks anything.

Modules of which a library mostly names the classes (in annotations, in tables of errors) can be left out: whoever imports
from them in the block gets stand-ins, which load the class itself when one is made of it, and whoever imports from them
later gets the modules themselves.
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
    """In this block, packages of the library are imported so; ``left_out`` are modules, or packages with all below them.

    What is left out is so for all threads until the block ends: nobody else may import the library meanwhile.
    """
    with _ONE_AT_A_TIME:
        finder = _Finder(library, left_out)
        sys.meta_path = [finder, *sys.meta_path]  # another list, for other threads walk through this one as they import
        try:
            yield
        finally:
            sys.meta_path = [each for each in sys.meta_path if each is not finder]
            _put_back(finder.stood_in_for)


def _put_back(stood_in_for: Collection[str]) -> None:
    """Modules that were left out are found from now on, also through the packages that they stand in."""
    for name in stood_in_for:
        empty = sys.modules.get(name)
        if empty is None or not isinstance(empty.__loader__, _LeftOut):
            continue
        del sys.modules[name]
        gathering = vars(sys.modules[name.rpartition(".")[0]])
        for key, value in [*gathering.items()]:
            if value is empty or (isinstance(value, _StandIn) and value.__module__ == name):
                del gathering[key]


class _StandIn(type):
    """The type of classes that stand for one of a module that was left out, and come to the same when they are used."""

    def __call__(cls, *args: object, **kwargs: object) -> object:
        """An instance of the class itself."""
        with names_on_demand(cls.__module__.partition(".")[0]):
            itself: object = getattr(import_module(cls.__module__), cls.__name__)
        if isinstance(itself, _StandIn) or not callable(itself):
            raise TypeError(f"{cls.__module__}.{cls.__name__} cannot be called, or not before its library is imported")
        return itself(*args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        """Nothing is an instance of a class that was not loaded yet."""
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        """Nothing inherits from a class that was not loaded yet."""
        itself: object = getattr(sys.modules.get(cls.__module__), cls.__name__, cls)
        return isinstance(itself, type) and itself is not cls and issubclass(subclass, itself)


class _LeftOut(Loader):
    """Loads a module that has a stand-in for every name that is asked of it."""

    def create_module(self, spec: ModuleSpec) -> None:
        """As Python makes it."""

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run."""

        def name_of(name: str) -> type:
            if name.startswith("__"):
                raise AttributeError(name)
            found = _StandIn(name, (), {"__module__": module.__name__})
            setattr(module, name, found)
            return found

        vars(module)["__getattr__"] = name_of


class _Finder:
    def __init__(self, library: str, left_out: Collection[str]) -> None:
        self._library = library
        self._left_out = tuple(left_out)
        self._below = tuple(f"{name}." for name in left_out)
        self.stood_in_for: list[str] = []

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A module of the library, as Python finds it; a package is given a loader of its own."""
        if name.partition(".")[0] != self._library:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return spec
        if spec.submodule_search_locations:
            spec.loader = _Gathering(name, spec.loader.path)
        elif name in self._left_out or name.startswith(self._below):
            self.stood_in_for.append(name)
            return ModuleSpec(name, _LeftOut())
        return spec


class _Gathering(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        """Give the module a way to its names, which it loses when it is run."""
        package, homes = module.__name__, gathered(self.get_data(self.path))
        run, was_run = super().exec_module, False

        def name_of(name: str) -> object:
            nonlocal was_run
            if name in homes:
                home, own = homes[name]
                found: object = getattr(import_module(home, package), own)
            elif name != "__all__" and name.startswith("__"):
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            elif find_spec(f"{package}.{name}") is not None:
                found = import_module(f"{package}.{name}")
            elif was_run:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            else:
                was_run = True
                try:
                    run(module)
                except BaseException:
                    was_run = False  # it may be mended, and is tried again then
                    raise
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
