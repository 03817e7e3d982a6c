"""What fits into a card is counted as Discord counts it, before it is sent."""

from __future__ import annotations

import discord
import pytest

from bot.local_discord.messages.limits import LAID_OUT, LAID_OUT_TEXT, check_components, text_of
from bot.local_discord.model.errors import ApiError
from bot.local_discord.model.json_fields import Fields, JsonObject
from bot.rendering.answer_card import CHARACTERS, COMPONENTS, card_of, carded, fits


def sent(*blocks: str, buttons: int = 10) -> list[JsonObject]:
    """A card as it goes over the wire."""
    below = discord.ui.View(timeout=None)
    for number in range(buttons):
        below.add_item(discord.ui.Button(label=str(number), custom_id=f"b{number}"))
    return card_of(blocks, below).to_components()  # type: ignore[return-value]


def taken(components: list[JsonObject]) -> bool:
    """Whether the local Discord takes it."""
    try:
        check_components(Fields({"components": [*components]}), version_2=True)
    except ApiError:
        return False
    return True


@pytest.mark.parametrize(
    ("blocks", "held"),
    [
        (("a",), True), ((), False), (("a", ""), False), (("x" * 2_000, "y" * 2_000), True),
        (("x" * 2_000, "y" * 2_001), False),
        (tuple("a" * 14), True), (tuple("a" * 15), False), (("\U0001f600" * 2_000,), True), (("\U0001f600" * 4_001,), False),
    ],
)  # fmt: skip
async def test_what_is_few_and_short_enough_fits_and_discord_takes_just_that(
    blocks: tuple[str, ...], held: bool
) -> None:
    assert fits(blocks) == held
    if held:
        assert taken(sent(*blocks))
    assert (COMPONENTS, CHARACTERS) == (LAID_OUT, LAID_OUT_TEXT)


async def test_sections_are_cleaned_empty_ones_left_out_and_what_does_not_fit_is_no_card() -> None:
    assert carded(["  The answer.\x00 ", "", "-# foot"]) == ("The answer.\ufffd", "-# foot")
    assert carded(["x" * 4_001]) == ()
    assert text_of(tuple(sent("one", "two"))) == "one\ntwo"


@pytest.mark.parametrize(
    "component",
    [
        {"type": 2, "custom_id": "a", "style": 1},
        {"type": 10, "content": ""},
        {"type": 10, "content": "x" * 4_001},
        {"type": 99},
    ],
)
def test_the_local_discord_refuses_what_no_message_may_hold(component: JsonObject) -> None:
    assert not taken([component])
