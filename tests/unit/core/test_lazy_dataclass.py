"""A lazy dataclass is the standard library's in everything but when its methods are written."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from types import ModuleType
from typing import Any

import pytest

from agentic.core.lazy_dataclass import dataclass

BOTH = (dataclasses.dataclass, dataclass)
OPTIONS = [
    {"frozen": frozen, "slots": slots, "eq": eq}
    for frozen in (False, True)
    for slots in (False, True)
    for eq in (True, False)
]


def pair(decorator: Callable[..., Any], options: dict[str, bool]) -> tuple[type, type]:
    """A class with every sort of field that the product uses, and one that inherits from it."""

    @decorator(**options)
    class Base:
        number: int
        text: str = "x"
        many: list[int] = field(default_factory=list)
        hidden: int = field(default=7, repr=False, compare=False)
        later: int = field(default=0, init=False)

        def double(self) -> int:
            return 2 * self.number

    @decorator(**options)
    class Child(Base):
        text: str = "y"
        more: tuple[int, ...] = ()

    Base.__qualname__, Child.__qualname__ = "Base", "Child"
    return Base, Child


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_it_does_as_the_standard_library_does(options: dict[str, bool]):
    theirs, ours = pair(dataclasses.dataclass, options), pair(dataclass, options)
    for there, here in zip(theirs, ours, strict=True):
        assert [f.name for f in fields(here)] == [f.name for f in fields(there)]
        assert here.__match_args__ == there.__match_args__
        assert hasattr(here, "__slots__") == hasattr(there, "__slots__")
        one, other = there(3, many=[1]), here(3, many=[1])
        assert repr(other) == repr(one)
        assert asdict(other) == asdict(one)
        assert asdict(replace(other, number=4)) == asdict(replace(one, number=4))
        assert other.double() == 6
        for wrong in ({}, {"number": 1, "later": 2}, {"number": 1, "unknown": 2}):
            with pytest.raises(TypeError) as of_theirs:
                there(**wrong)
            with pytest.raises(TypeError) as of_ours:
                here(**wrong)
            assert str(of_ours.value).split(".")[-1] == str(of_theirs.value).split(".")[-1]
        assert (other == here(3, many=[1], hidden=8)) is (one == there(3, many=[1], hidden=8)) is options["eq"]
        assert other != here(3, many=[2])
        assert other != one
        assert (here.__hash__ is None) is (there.__hash__ is None)
        assert asdict(copy.copy(other)) == asdict(other)
        assert copy.copy(other) is not other


@pytest.mark.parametrize("slots", [False, True])
def test_a_frozen_one_is_not_changed(slots: bool):
    for decorator in BOTH:
        base, child = pair(decorator, {"frozen": True, "slots": slots, "eq": True})
        for made in (base(1), child(1)):
            with pytest.raises(FrozenInstanceError, match="cannot assign to field 'number'"):
                made.number = 2
            with pytest.raises(FrozenInstanceError, match="cannot delete field 'number'"):
                del made.number
            with pytest.raises((FrozenInstanceError, TypeError)):  # TypeError: the library's, where there are slots
                made.unknown = 2
            with pytest.raises((FrozenInstanceError, TypeError)):
                del made.unknown
            assert made.number == 1


def test_what_a_plain_subclass_of_a_frozen_one_adds_is_its_own():
    for decorator in BOTH:

        class Plain(pair(decorator, {"frozen": True})[0]):  # type: ignore[misc]
            pass

        plain = Plain(1)
        plain.own = 2
        assert plain.own == 2
        del plain.own
        assert not hasattr(plain, "own")
        with pytest.raises(FrozenInstanceError):
            plain.number = 3
        with pytest.raises(FrozenInstanceError):
            del plain.number


def test_equal_ones_have_one_hash():
    @dataclass(frozen=True, slots=True)
    class One:
        name: str

    @dataclass(frozen=True)
    class Two:
        name: str
        other: tuple[int, ...] = ()

    @dataclass(frozen=True)
    class Nothing:
        pass

    assert hash(One("a")) == hash(One("a")) != hash(One("b"))
    assert len({Two("a"), Two("a"), Two("a", (1,))}) == 2
    assert hash(Nothing()) == hash(Nothing())
    assert Nothing() == Nothing()
    assert repr(Nothing()).endswith("Nothing()")


def test_methods_of_its_own_stay():
    for decorator in BOTH:

        @decorator(frozen=True, slots=True)
        class Own:
            number: int

            def __repr__(self) -> str:
                return "mine"

            def __eq__(self, other: object) -> bool:
                return True

        @decorator
        class Begun:
            number: int = 0

            def __init__(self) -> None:
                self.number = 9

            def __hash__(self) -> int:
                return 5

        assert repr(Own(1)) == "mine"
        assert Own(1) == Own(2)
        assert hash(Own(1)) == hash(Own(1)) != hash(Own(2))
        assert Begun().number == 9
        assert hash(Begun()) == 5


def test_it_is_finished_by_its_post_init():
    for decorator in BOTH:

        @decorator(slots=True)
        class Finished:
            number: int
            double: int = field(init=False)
            always: int = field(init=False, default=4)

            def __post_init__(self) -> None:
                self.double = 2 * self.number

        made = Finished(3)
        assert (made.double, made.always) == (6, 4)


def test_one_that_holds_itself_can_be_shown():
    @dataclass
    class Round:
        inner: object = None

    made = Round()
    made.inner = made
    assert repr(made).endswith("Round(inner=...)")


@dataclass(frozen=True, slots=True)
class Carried:
    number: int
    text: str = ""


@dataclass(frozen=True)
class CarriedFurther(Carried):
    more: int = 0


def test_a_child_without_slots_is_copied_whole():
    assert copy.copy(CarriedFurther(1, "a", 2)) == CarriedFurther(1, "a", 2)
    assert pickle.loads(pickle.dumps(CarriedFurther(1, "a", 2))).more == 2


def test_what_is_put_round_a_method_stays_there():
    calls = []

    @dataclass
    class Wrapped:
        number: int

    first = Wrapped.__init__

    def counted(self: Wrapped, *args: Any) -> None:
        calls.append(args)
        first(self, *args)

    Wrapped.__init__ = counted  # type: ignore[method-assign]
    assert [Wrapped(number).number for number in range(3)] == [0, 1, 2]
    assert len(calls) == 3


def test_a_class_outlives_its_module(monkeypatch: pytest.MonkeyPatch):
    """As with an extension of the bot that was taken out again."""
    module = ModuleType("taken_out")
    monkeypatch.setitem(sys.modules, "taken_out", module)
    text = "from agentic.core.lazy_dataclass import dataclass\n@dataclass(frozen=True)\nclass Left:\n    number: int\n"
    exec(text, vars(module))
    monkeypatch.delitem(sys.modules, "taken_out")
    assert module.Left(1) == module.Left(1)


def test_a_mistaken_call_names_the_class():
    with pytest.raises(TypeError, match=r"^Carried\.__init__\(\) missing 1 required positional argument: 'number'$"):
        Carried()  # type: ignore[call-arg]


def test_a_frozen_one_with_slots_is_pickled():
    assert pickle.loads(pickle.dumps(Carried(1, "a"))) == Carried(1, "a")


def test_nothing_is_compiled_before_there_is_an_instance(monkeypatch: pytest.MonkeyPatch):
    made = []
    library = dataclasses.make_dataclass

    def watched(name: str, *args: Any, **options: Any) -> type:
        made.append(name)
        return library(name, *args, **options)

    monkeypatch.setattr(dataclasses, "make_dataclass", watched)

    @dataclass(frozen=True)
    class Waiting:
        number: int

    assert made == []
    assert [Waiting(1).number, Waiting(2).number] == [1, 2]
    assert made == ["Waiting"]
    assert Waiting.__doc__ == "Waiting"
