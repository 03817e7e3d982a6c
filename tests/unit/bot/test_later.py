"""Parts that are made when something is first asked of them."""

from __future__ import annotations

import logging

import pytest

from bot.later import close, later, load


class Part:
    """Counts how often it was made and closed."""

    made = closed = 0

    def __init__(self) -> None:
        type(self).made += 1
        self.said = ""

    async def say(self, words: str) -> str:
        self.said += words
        return self.said

    async def close(self) -> None:
        type(self).closed += 1


@pytest.fixture
def part() -> type[Part]:
    return type("Fresh", (Part,), {})


async def test_it_is_made_once_with_its_first_use(part: type[Part]) -> None:
    one = later(part)
    assert part.made == 0
    assert await one.say("a") == "a"
    assert await one.say("b") == "ab"
    assert one.said == "ab"
    assert part.made == 1


async def test_what_python_asks_of_every_object_makes_nothing(part: type[Part]) -> None:
    one = later(part)
    assert one is not None
    assert repr(one)
    assert not hasattr(one, "__fspath__")
    assert part.made == 0


async def test_what_it_lacks_is_missed_as_in_the_part_itself(part: type[Part]) -> None:
    with pytest.raises(AttributeError, match="sing"):
        later(part).sing  # type: ignore[attr-defined]  # noqa: B018


async def test_what_could_not_be_made_is_made_with_the_next_use(part: type[Part]) -> None:
    troubles = [OSError("the disk is full")]

    def made() -> Part:
        if troubles:
            raise troubles.pop()
        return part()

    one = later(made)
    with pytest.raises(OSError, match="disk"):
        await one.say("a")
    assert await one.say("b") == "b"


async def test_what_was_never_made_is_not_made_to_be_closed(part: type[Part]) -> None:
    one = later(part)
    await close(one)
    assert (part.made, part.closed) == (0, 0)
    await one.say("a")
    await close(one)
    assert (part.made, part.closed) == (1, 1)


async def test_what_is_there_is_closed(part: type[Part]) -> None:
    await close(part())
    assert part.closed == 1


async def test_a_module_that_cannot_be_imported_is_logged_and_the_others_are(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        await load("bot.no_such_module", "bot.later")
    assert [record.getMessage() for record in caplog.records] == [
        "bot.no_such_module cannot be imported: what needs it fails until that is mended"
    ]
