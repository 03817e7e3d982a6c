"""``dataclass`` whose methods are not written before somebody calls them.

The standard library writes up to six methods of a class as text and compiles each, a millisecond for a frozen class: with
250 classes that was a tenth of the time from a crash to the next turn.  Here the library writes each of them too, but when
it is first called.  Fields, slots, ``replace``, ``fields``, ``asdict``, copies, pickles and pattern matching are as the
library has them; ``InitVar`` is not for it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

__all__ = ["dataclass"]

T = TypeVar("T")
Fields = Sequence["dataclasses.Field[object]"]
_set: Final = object.__setattr__


def _dataclass(
    cls: type[T] | None = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True
) -> type[T] | Callable[[type[T]], type[T]]:
    """As ``dataclasses.dataclass`` with these options."""

    def made(cls: type[T]) -> type[T]:
        return _made(cls, frozen=frozen, slots=slots, eq=eq)

    return made if cls is None else made(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass


def _made(cls: type[T], *, frozen: bool, slots: bool, eq: bool) -> type[T]:
    own = set(vars(cls))
    if "__eq__" in own and cls.__hash__ is None:
        own.discard("__hash__")  # Python put it there, because of the `__eq__`
    cls.__doc__ = cls.__doc__ or cls.__name__  # without one the library works out a signature to say here
    made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    fields: Fields = dataclasses.fields(made)  # type: ignore[arg-type]
    methods: dict[str, object] = {
        "__init__": _written(made, fields, "__init__", frozen=frozen, slots=slots),
        "__repr__": _written(made, fields, "__repr__"),
    }
    if eq:
        methods["__eq__"] = _written(made, fields, "__eq__")
        methods["__hash__"] = _written(made, fields, "__hash__") if frozen else None
    if frozen:
        methods |= _guards(made, fields)
    if frozen and slots:
        methods |= CARRIED
    for name in methods.keys() - own:
        setattr(made, name, methods[name])
    return made


def _written(
    made: type, fields: Fields, name: str, *, frozen: bool = False, slots: bool = False
) -> Callable[..., object]:
    """Has the library write this method of the class when it is called, which from then on stands in its own place."""

    written: list[Callable[..., object]] = []

    def write_and_call(self: object, /, *args: object, **kwargs: object) -> object:
        if not written:
            said: dict[str, object] = {"__doc__": "-", "__qualname__": made.__qualname__}
            then: dict[str, object] = {"__post_init__": None} if hasattr(made, "__post_init__") else {}
            like_it = dataclasses.make_dataclass(
                made.__name__, [(field.name, field.type, field) for field in fields], namespace=said | then,
                init=name == "__init__", repr=name == "__repr__", eq=name == "__eq__", unsafe_hash=name == "__hash__",
                frozen=frozen, slots=slots,
            )  # fmt: skip
            written.append(vars(like_it)[name])
            if vars(made)[name] is write_and_call:  # else somebody put something round it
                setattr(made, name, written[0])
        return written[0](self, *args, **kwargs)

    return write_and_call


def _guards(made: type, fields: Fields) -> dict[str, object]:
    """Nothing of a frozen value is set or deleted; what a subclass adds of its own is the subclass's matter."""
    names = frozenset(field.name for field in fields)

    def refuse_to_set(self: object, name: str, value: object) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(made, self).__setattr__(name, value)

    def refuse_to_delete(self: object, name: str) -> None:
        if type(self) is made or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(made, self).__delattr__(name)

    return {"__setattr__": refuse_to_set, "__delattr__": refuse_to_delete}


def _state_of(self: object) -> list[object]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]  # type: ignore[arg-type]


def _take_state(self: object, state: list[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):  # type: ignore[arg-type]
        _set(self, field.name, value)


CARRIED: Final[dict[str, object]] = {"__getstate__": _state_of, "__setstate__": _take_state}
"""How a value that is frozen and has slots is copied and pickled."""
