"""Buttons and lists that work as long as their message exists: their ``custom_id`` holds everything they need.

It also holds the key of their outbox item: after Discord has forgotten the nonce, that is how the outbox finds out
whether it had posted something (``bot/rendering/buttons.py``), and how a click is compared with what was really offered
(``bot/cogs/question_buttons.py``). A click is only passed on, as the event ``pressed``; nothing in it is trusted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import discord
from discord import ButtonStyle, ui

from bot.rendering.discord_text import Steering

if TYPE_CHECKING:
    from discord import Client, Interaction


Wish = Literal["approve", "edit", "retire"]
"""An owner's decision about a lesson."""
ScheduleOrder = Literal["run", "pause", "resume", "delete"]
"""What somebody has done with a schedule."""


@dataclass(frozen=True, slots=True)
class Press:
    """The content of a button's ``custom_id``; ``key`` is that of its outbox item.

    ``number`` counts options from 0; ``part`` counts the questions of one message from 1, 0 where there is only one.
    """

    key: str
    question: str = ""
    part: int = 0
    number: int = 0
    vote: str = ""
    steer: Steering | None = None
    execution: str = ""
    """The execution that is to be stopped, paused, resumed or continued."""
    undo: str = ""
    redo: str = ""
    again: str = ""
    offer: str = ""
    verdict: Literal["merge", "reject"] = "reject"
    reason: str = ""
    """What was wrong: the number of a reason, from 0, or 'own' for the person's own words."""
    lesson: str = ""
    wish: Wish = "edit"
    schedule: str = ""
    order: ScheduleOrder = "pause"

    def at(self, number: int) -> Press:
        """Return the press of another option of the same question."""
        return replace(self, number=number)


_NAME = r"[A-Za-z0-9._-]{1,40}"


class Control(ui.DynamicItem[Any], template="tw:never"):
    """Base of all buttons and lists: passes a ``Press`` on."""

    match: re.Match[str]
    event: ClassVar[str] = "pressed"
    """The event that a press is passed on as."""

    @classmethod
    async def from_custom_id(cls, interaction: Interaction[Client], item: ui.Item[Any], match: re.Match[str]) -> Self:
        """Make the control that was pressed, perhaps one of an earlier process."""
        pressed = cls(item)
        pressed.match = match
        return pressed

    @classmethod
    def read(cls, match: re.Match[str], values: tuple[str, ...]) -> Press:
        """Read its ``custom_id``."""
        return Press(match["key"])

    async def callback(self, interaction: Interaction[Client]) -> None:
        """Pass the press on."""
        values: tuple[str, ...] = tuple(getattr(self.item, "values", ()))
        interaction.client.dispatch(self.event, interaction, self.read(self.match, values))


class OptionChoice(
    Control, template=rf"tw:ask:(?P<question>{_NAME}):(?:(?P<part>\d{{1,9}})\.)?(?P<number>\d{{1,9}}):(?P<key>{_NAME})"
):
    """One option of a question, counted from 0, or of one of its parts, which are counted from 1."""

    @classmethod
    def read(cls, match: re.Match[str], values: tuple[str, ...]) -> Press:
        """Which option."""
        return Press(
            match["key"], question=match["question"], part=int(match["part"] or 0), number=int(match["number"])
        )

    @classmethod
    def make(cls, press: Press, label: str, style: ButtonStyle, row: int | None = None) -> Self:
        """The button of an option."""
        place = f"{press.part}.{press.number}" if press.part else str(press.number)
        button: ui.Button[Any] = ui.Button(
            label=label, style=style, custom_id=f"tw:ask:{press.question}:{place}:{press.key}", row=row
        )
        return cls(button)


class Pick(
    Control, template=rf"tw:pick:(?P<question>{_NAME}):(?P<part>\d{{1,9}})\.(?P<page>\d{{1,9}}):(?P<key>{_NAME})"
):
    """A list of options; its values are their numbers."""

    @classmethod
    def read(cls, match: re.Match[str], values: tuple[str, ...]) -> Press:
        """Which option was picked."""
        number = int(values[0]) if values and values[0].isdecimal() else -1
        return Press(match["key"], question=match["question"], part=int(match["part"]), number=number)

    @classmethod
    def make(
        cls, press: Press, options: list[discord.SelectOption], *, page: int = 0, hint: str = "", row: int | None = None
    ) -> Self:
        """The list of at most 25 options."""
        made: ui.Select[Any] = ui.Select(
            custom_id=f"tw:pick:{press.question}:{press.part}.{page}:{press.key}", options=options,
            placeholder=hint or "Choose…", row=row,
        )  # fmt: skip
        return cls(made)


class Vote(Control, template=rf"tw:vote:(?P<vote>up|down):(?P<key>{_NAME})"):
    """👍 or 👎 under a final answer."""

    @classmethod
    def read(cls, match: re.Match[str], values: tuple[str, ...]) -> Press:
        """Which vote."""
        return Press(match["key"], vote=match["vote"])

    @classmethod
    def make(cls, vote: str, key: str) -> Self:
        """The button for one of the two votes."""
        emoji = "👍" if vote == "up" else "👎"
        return cls(ui.Button(emoji=emoji, custom_id=f"tw:vote:{vote}:{key}"))


class Halt(Control, template=rf"tw:halt:(?P<key>{_NAME})"):
    """Stop the task, under every question."""

    @classmethod
    def read(cls, match: re.Match[str], values: tuple[str, ...]) -> Press:
        """That the task that asked is to stop."""
        return Press(match["key"], steer="stop", execution=match["key"].partition(".")[0])

    @classmethod
    def make(cls, key: str, row: int | None = None) -> Self:
        """The button of one question."""
        button: ui.Button[Any] = ui.Button(
            label="Stop the task", emoji="🛑", style=ButtonStyle.secondary, custom_id=f"tw:halt:{key}", row=row
        )
        return cls(button)


_STEERING: Mapping[Steering, tuple[str, str]] = {
    "stop": ("Stop", "🛑"),
    "pause": ("Pause", "⏸️"),
    "resume": ("Resume", "▶️"),
    "revoke": ("Ask me again", "🔐"),
    "continue": ("Continue", "▶️"),
}


class Steer(
    Control, template=rf"tw:run:(?P<act>stop|pause|resume|revoke|continue):(?P<execution>{_NAME}):(?P<key>{_NAME})"
):
    """Stop, pause or resume a running task, or have it ask again, under its card; continue a stopped one, under its answer."""

    @classmethod
    def read(cls, match: re.Match[str], values: tuple[str, ...]) -> Press:
        """What to do, with which execution."""
        return Press(match["key"], steer=cast("Steering", match["act"]), execution=match["execution"])

    @classmethod
    def make(cls, act: Steering, execution: str, key: str) -> Self:
        """The button that does this with an execution."""
        label, emoji = _STEERING[act]
        style = ButtonStyle.primary if act in ("resume", "continue") else ButtonStyle.secondary
        button: ui.Button[Any] = ui.Button(
            label=label, emoji=emoji, style=style, custom_id=f"tw:run:{act}:{execution}:{key}"
        )
        return cls(button)


class Undo(Control, template=rf"tw:undo:(?P<execution>{_NAME}):(?P<key>{_NAME})"):
    """Undo an execution's changes, under its final answer."""

    @classmethod
    def read(cls, match: re.Match[str], values: tuple[str, ...]) -> Press:
        """Of which execution."""
        return Press(match["key"], undo=match["execution"])

    @classmethod
    def make(cls, execution: str, key: str) -> Self:
        """The button of one execution."""
        button: ui.Button[Any] = ui.Button(
            label="Undo these changes", emoji="↩️", custom_id=f"tw:undo:{execution}:{key}"
        )
        return cls(button)


class Redo(Control, template=rf"tw:redo:(?P<execution>{_NAME}):(?P<key>{_NAME})"):
    """Take an undo back, under its receipt."""

    @classmethod
    def read(cls, match: re.Match[str], values: tuple[str, ...]) -> Press:
        """Of which execution."""
        return Press(match["key"], redo=match["execution"])

    @classmethod
    def make(cls, execution: str, key: str, label: str = "") -> Self:
        """The button of one receipt."""
        button: ui.Button[Any] = ui.Button(
            label=label or "Redo the changes",
            emoji="↪️",
            style=ButtonStyle.secondary,
            custom_id=f"tw:redo:{execution}:{key}",
        )
        return cls(button)


class Again(Control, template=rf"tw:again:(?P<execution>{_NAME}):(?P<key>{_NAME})"):
    """Run a task again from its beginning, under an answer or where somebody said what was wrong with it."""

    @classmethod
    def read(cls, match: re.Match[str], values: tuple[str, ...]) -> Press:
        """Which execution's task."""
        return Press(match["key"], again=match["execution"])

    @classmethod
    def make(cls, execution: str, key: str, attempt: str = "") -> Self:
        """The button of one execution; ``attempt`` says which attempt it begins."""
        label = f"Try again ({attempt})" if attempt else "Try again"
        button: ui.Button[Any] = ui.Button(
            label=label, emoji="🔄", style=ButtonStyle.secondary, custom_id=f"tw:again:{execution}:{key}"
        )
        return cls(button)


class Offer(Control, template=rf"tw:offer:(?P<verdict>merge|reject):(?P<offer>{_NAME}):(?P<key>{_NAME})"):
    """Merge an offered branch, or delete it."""

    @classmethod
    def read(cls, match: re.Match[str], values: tuple[str, ...]) -> Press:
        """Which of the two, of which offer."""
        return Press(match["key"], offer=match["offer"], verdict="merge" if match["verdict"] == "merge" else "reject")

    @classmethod
    def make(cls, verdict: Literal["merge", "reject"], offer: str, key: str) -> Self:
        """The button for one of the two."""
        merge = verdict == "merge"
        button: ui.Button[Any] = ui.Button(
            label="Merge" if merge else "Delete the branch", emoji="🔀" if merge else "🗑️",
            style=ButtonStyle.success if merge else ButtonStyle.secondary, custom_id=f"tw:offer:{verdict}:{offer}:{key}",
        )  # fmt: skip
        return cls(button)


_WISHES: Mapping[Wish, tuple[str, str, ButtonStyle]] = {
    "approve": ("Approve", "✅", ButtonStyle.success),
    "edit": ("Edit", "✏️", ButtonStyle.secondary),
    "retire": ("Retire", "🗑️", ButtonStyle.secondary),
}


class OfLesson(Control, template=rf"tw:lesson:(?P<wish>approve|edit|retire):(?P<lesson>{_NAME}):(?P<key>{_NAME})"):
    """Decide about a lesson; passed on as ``lesson_pressed``, since a form has to be the first answer."""

    event = "lesson_pressed"

    @classmethod
    def read(cls, match: re.Match[str], values: tuple[str, ...]) -> Press:
        """What is wanted, of which lesson."""
        wish: Wish = "approve" if match["wish"] == "approve" else "retire" if match["wish"] == "retire" else "edit"
        return Press(match["key"], lesson=match["lesson"], wish=wish)

    @classmethod
    def make(cls, wish: Wish, lesson: str, key: str) -> Self:
        """The button for one of the three."""
        label, emoji, style = _WISHES[wish]
        button: ui.Button[Any] = ui.Button(
            label=label, emoji=emoji, style=style, custom_id=f"tw:lesson:{wish}:{lesson}:{key}"
        )
        return cls(button)


_ORDERS: Mapping[ScheduleOrder, tuple[str, str]] = {
    "run": ("Run now", "▶️"),
    "pause": ("Pause", "⏸️"),
    "resume": ("Resume", "▶️"),
    "delete": ("Delete", "🗑️"),
}


class OfSchedule(
    Control, template=rf"tw:plan:(?P<order>run|pause|resume|delete):(?P<schedule>{_NAME}):(?P<key>page\d{{1,4}})"
):
    """Begin, pause, resume or delete a schedule, under a list of them; the key is the page, to be shown again."""

    event = "schedule_pressed"

    @classmethod
    def read(cls, match: re.Match[str], values: tuple[str, ...]) -> Press:
        """What is wanted, of which schedule."""
        return Press(match["key"], schedule=match["schedule"], order=cast("ScheduleOrder", match["order"]))

    @classmethod
    def make(cls, order: ScheduleOrder, schedule: str, number: int, page: str, row: int) -> Self:
        """The button for one of them; ``number`` says which line of the list it belongs to."""
        label, emoji = _ORDERS[order]
        style = ButtonStyle.danger if order == "delete" else ButtonStyle.secondary
        button: ui.Button[Any] = ui.Button(
            label=f"{number} · {label}",
            emoji=emoji,
            style=style,
            custom_id=f"tw:plan:{order}:{schedule}:{page}",
            row=row,
        )
        return cls(button)


class CancelWake(Control, template=rf"tw:wake:(?P<schedule>{_NAME}):(?P<key>{_NAME})"):
    """Keep an agent from going on by itself, under its answer."""

    event = "wake_pressed"

    @classmethod
    def read(cls, match: re.Match[str], values: tuple[str, ...]) -> Press:
        """Which wake-up."""
        return Press(match["key"], schedule=match["schedule"])

    @classmethod
    def make(cls, wake: str, key: str) -> Self:
        """The button of one answer."""
        button: ui.Button[Any] = ui.Button(
            label="Don't wake", emoji="⏰", style=ButtonStyle.secondary, custom_id=f"tw:wake:{wake}:{key}"
        )
        return cls(button)


class Why(Control, template=rf"tw:why:(?P<reason>\d|own):(?P<key>{_NAME})"):
    """What was wrong with a result; passed on as ``regret_pressed``, since a form has to be the first answer."""

    event = "regret_pressed"

    @classmethod
    def read(cls, match: re.Match[str], values: tuple[str, ...]) -> Press:
        """Which reason."""
        return Press(match["key"], reason=match["reason"])

    @classmethod
    def make(cls, reason: str, label: str, key: str, *, chosen: bool = False) -> Self:
        """The button of one reason."""
        style = ButtonStyle.success if chosen else ButtonStyle.secondary
        return cls(ui.Button(label=label, style=style, custom_id=f"tw:why:{reason}:{key}"))


CONTROLS: tuple[type[Control], ...] = (
    OptionChoice,
    Pick,
    Vote,
    Halt,
    Steer,
    Undo,
    Redo,
    Again,
    Offer,
    OfLesson,
    OfSchedule,
    CancelWake,
    Why,
)
"""All of them, for ``add_dynamic_items``."""
