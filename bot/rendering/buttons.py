"""The buttons and lists under an outbox item, within Discord's five rows.

Up to 24 options are buttons; more are lists of 25. Several questions in one message have a row each: buttons where
they are few and short, else a list; of more than four questions the unanswered ones are shown first. A label that is
too long, or that another repeats, starts with its number; the text has it in full (``bot/messages/question_text.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import discord
from discord import ButtonStyle, ui

from agentic.core.events.execution_events import Option, OutboxItem, Part
from agentic.core.fold.people import DENY
from agentic.core.rules.questions import STOP
from bot.rendering.custom_ids import (
    Again,
    CancelWake,
    Control,
    Halt,
    Offer,
    OfLesson,
    OptionChoice,
    Pick,
    Press,
    Redo,
    Steer,
    Undo,
    Vote,
    Why,
    Wish,
)
from bot.rendering.discord_text import Steering, length, one_line

LABEL, LISTED, HINT = 80, 100, 150
"""Maximum characters of a button's label, of a list's entry, of a list's placeholder."""
BUTTONS_AT_MOST, IN_A_ROW, IN_A_LIST, ROWS = 24, 5, 25, 4
"""The fifth row is for the button that stops the task."""
WISHES: tuple[Wish, ...] = ("approve", "edit", "retire")
OWN_WORDS = "In my own words…"
Answers = Mapping[str, str]
"""The answers so far: labels by the part's id; by '' where a question has no parts."""


def buttons_of(
    item: OutboxItem, answers: Answers | None = None, *, undo: bool = False, redo: bool = False, again: str = "",
    votes: bool = True, steer: Sequence[Steering] = (), wake: str = "",
) -> ui.View | None:  # fmt: skip
    """Return the buttons under an outbox item's last message, None for none. Needs a running event loop.

    ``undo``: the execution's changes can be undone; ``redo``: they are undone, which can be taken back; ``again``: which
    further attempt at its task is offered; ``votes``: it can be voted on; ``steer``: what can be done with it while it
    runs, or after it was stopped; ``wake``: the agent goes on by itself later.
    """
    match item.sort:
        case "answer":
            made: list[Control] = [Vote.make("up", item.key), Vote.make("down", item.key)] if votes else []
            made += [Undo.make(item.execution, item.key)] if undo else []
            made += [Redo.make(item.execution, item.key)] if redo else []
            made += [Again.make(item.execution, item.key, again)] if again else []
            made += [Steer.make(act, item.execution, item.key) for act in steer]
            made += [CancelWake.make(wake, item.key)] if wake else []
        case "progress" if steer:
            made = [Steer.make(act, item.execution, item.key) for act in steer]
        case "receipt" if item.again:
            made = [Again.make(item.again, item.key, item.attempt)]
        case "receipt" if item.redo:
            made = [Redo.make(item.redo, item.key, item.redo_label)]
        case "offer":
            made = [Offer.make("merge", item.question, item.key), Offer.make("reject", item.question, item.key)]
        case "regret":
            made = _reasons(item, (answers or {}).get("", ""))
        case "lesson":
            made = [OfLesson.make(wish, item.question, item.key) for wish in WISHES]
        case "question":
            made = _options_of(item, answers or {})
            if all(option.id != STOP for option in item.options):  # "Stop here" is there already
                made = [*made, Halt.make(item.key, row=4 if _rowed(item) else None)]
        case _:
            return None
    return _view(made)


def closed_buttons_of(item: OutboxItem, answers: Answers | None = None) -> ui.View | None:
    """Return the same buttons disabled, with the chosen ones marked; their ids stay, since they tell what was posted."""
    view = buttons_of(item, answers)
    if view is None:
        return None
    for child in view.children:
        if isinstance(child, Control):
            _disable(cast("ui.Button[Any] | ui.Select[Any]", child.item))
    view.stop()
    return view


def _disable(item: ui.Button[Any] | ui.Select[Any]) -> None:
    item.disabled = True
    if isinstance(item, ui.Button) and item.style is not ButtonStyle.success:
        item.style = ButtonStyle.secondary


def keys_of(message: discord.Message) -> set[str]:
    """Return the keys of outbox items in a message's buttons."""
    keys: set[str] = set()
    for row in message.components:
        for component in getattr(row, "children", ()):
            custom_id = getattr(component, "custom_id", None) or ""
            if custom_id.startswith("tw:"):
                keys.add(custom_id.rpartition(":")[2])
    return keys


def _view(controls: list[Control]) -> ui.View:
    view = ui.View(timeout=None)
    for control in controls:
        view.add_item(control)
    return view


def _reasons(item: OutboxItem, chosen: str) -> list[Control]:
    """Return buttons for the most frequent reasons, and one for the person's own words."""
    made: list[Control] = [
        Why.make(str(number), option.label, item.key, chosen=option.label == chosen)
        for number, option in enumerate(item.options)
    ]
    return [*made, Why.make("own", OWN_WORDS, item.key)]


def _rowed(item: OutboxItem) -> bool:
    return bool(item.parts) or len(item.options) > BUTTONS_AT_MOST


def _options_of(item: OutboxItem, answers: Answers) -> list[Control]:
    if item.parts:
        return [
            control
            for row, part in enumerate(_shown_parts(item, answers))
            for control in _part(item, part, row, answers)
        ]
    chosen = answers.get("", "")
    whole = Press(item.key, question=item.question)
    if len(item.options) <= BUTTONS_AT_MOST:
        return list(_buttons(whole, item.options, chosen, approval=item.asked == "approval"))
    pages = range(0, min(len(item.options), ROWS * IN_A_LIST), IN_A_LIST)
    return [_list(whole, item.options, chosen, since=since, row=row) for row, since in enumerate(pages)]


def _shown_parts(item: OutboxItem, answers: Answers) -> list[Part]:
    """Return the parts that get a row, in their order; where there are too many, unanswered ones come first."""
    able = [part for part in item.parts if part.options]
    first = sorted(able, key=lambda part: part.id in answers)[:ROWS]
    return [part for part in able if part in first]


def _part(item: OutboxItem, part: Part, row: int, answers: Answers) -> list[Control]:
    number = item.parts.index(part) + 1
    press = Press(item.key, question=item.question, part=number)
    chosen = answers.get(part.id, "")
    if len(part.options) <= IN_A_ROW and sum(length(option.label) for option in part.options) <= LABEL:
        return list(_buttons(press, part.options, chosen, row=row, lead=f"{number} · "))
    hint = one_line(f"{number}. {part.text}", HINT)
    return [_list(press, part.options[:IN_A_LIST], chosen, row=row, hint=hint)]


def _buttons(
    press: Press,
    options: tuple[Option, ...],
    chosen: str,
    *,
    row: int | None = None,
    lead: str = "",
    approval: bool = False,
) -> tuple[OptionChoice, ...]:
    labels = _labels(options, LABEL - len(lead))
    made: list[OptionChoice] = []
    for number, (option, label) in enumerate(zip(options, labels, strict=True)):
        style = ButtonStyle.primary if number == 0 else ButtonStyle.secondary
        if approval:
            style = ButtonStyle.primary if option.id == DENY else style
            style = ButtonStyle.danger if number == 0 else style
        if chosen:
            style = ButtonStyle.success if option.label == chosen else ButtonStyle.secondary
        made.append(OptionChoice.make(press.at(number), f"{lead}{label}", style, row))
    return tuple(made)


def _list(
    press: Press, options: tuple[Option, ...], chosen: str, *, since: int = 0, row: int | None = None, hint: str = ""
) -> Pick:
    labels = _labels(options, LISTED)
    entries = [
        discord.SelectOption(
            label=labels[number], value=str(number), description=one_line(options[number].description, LISTED) or None,
            default=bool(chosen) and options[number].label == chosen,
        )
        for number in range(since, min(since + IN_A_LIST, len(options)))
    ]  # fmt: skip
    last = min(since + IN_A_LIST, len(options))
    return Pick.make(press, entries, page=since // IN_A_LIST, hint=hint or f"Answers {since + 1} to {last}", row=row)


def _labels(options: tuple[Option, ...], limit: int) -> list[str]:
    """Return the labels of buttons; all start with their numbers where one is too long or repeated."""
    labels = [one_line(option.label, limit) for option in options]
    fit = all(length(" ".join(option.label.split())) <= limit for option in options)
    if fit and len(set(labels)) == len(labels) and all(labels):
        return labels
    return [one_line(f"{number}. {option.label}", limit) for number, option in enumerate(options, 1)]
