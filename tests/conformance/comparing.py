"""Takes both through the sequence and says, step by step, where they part."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any

from tests.conformance.sequence import STEPS, TIDYING, Step, filled
from tests.conformance.shapes import differences, is_undocumented
from tests.conformance.target import Address, Answer, Target, Unreachable

SETTLE_SECONDS = 0.4
COMPARED_HEADERS = (
    "content-type",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-reset-after",
    "x-ratelimit-bucket",
    "x-ratelimit-scope",
    "x-ratelimit-global",
    "retry-after",
)


@dataclass(frozen=True, slots=True)
class Seen:
    """What one of the two did at a step."""

    answer: Answer
    events: list[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class Row:
    """A step with all in which the two differ at it."""

    what: str
    request: str
    noted: tuple[str, ...]
    part_of: bool = False
    """The second sends a part of what the first sends, on purpose: what it leaves out is only noted."""

    @property
    def differences(self) -> tuple[str, ...]:
        """What counts; undocumented fields are only noted."""
        left_out = ": there / missing" if self.part_of else "\n"
        return tuple(one for one in self.noted if not is_undocumented(one) and not one.endswith(left_out))


async def compared(left: Address, right: Address, settle: float = SETTLE_SECONDS) -> list[Row]:
    """The sequence with both; whatever was made is taken away again, also after an error."""
    first = await Target.connect(left)
    try:
        second = await Target.connect(right)
        try:
            return await _conversed(first, second, settle)
        finally:
            await second.close()
    finally:
        await first.close()


async def _conversed(left: Target, right: Target, settle: float) -> list[Row]:
    known = {"guild": left.address.guild}, {"guild": right.address.guild}
    found = [Row("READY and GUILD_CREATE", "the gateway", tuple(differences(left.ready, right.ready)))]
    try:
        found += [await _row(step, left, right, known, settle) for step in (*STEPS, *TIDYING)]
    except BaseException:
        await _tidy(left, known[0])
        await _tidy(right, known[1])
        raise
    return found


async def _tidy(target: Target, known: dict[str, str]) -> None:
    for step in TIDYING:
        path = filled(step.path, known)
        if "{" not in path:  # else it was not made
            with contextlib.suppress(Unreachable):
                await target.ask(step.method, path)


async def _row(
    step: Step, left: Target, right: Target, known: tuple[dict[str, str], dict[str, str]], settle: float
) -> Row:
    """Both take the step to its end, so that what one of them made is known even if the other breaks off."""
    taken = _taken(step, left, known[0], settle), _taken(step, right, known[1], settle)
    one, two = await asyncio.gather(*taken, return_exceptions=True)
    if isinstance(one, BaseException):
        raise one
    if isinstance(two, BaseException):
        raise two
    return Row(step.what, f"{step.method} {step.path}", tuple(parted(one, two)))


async def _taken(step: Step, target: Target, known: dict[str, str], settle: float) -> Seen:
    answer = await target.ask(step.method, filled(step.path, known), filled(step.body, known), token=step.token)
    for name, of in step.keep:
        known[name] = _kept(target, step, answer, of)
        target.ours.add(known[name])
    return Seen(answer, await target.hear(step.events, settle if step.events else 0.0))


def _kept(target: Target, step: Step, answer: Answer, field: str) -> str:
    if isinstance(answer.body, dict) and field in answer.body:
        return str(answer.body[field])
    raise Unreachable(
        f"{target.address.name} refuses {step.what} ({answer.status} {answer.body}), and the rest needs it. "
        "The bot must be allowed to manage channels, messages and threads in this guild."
    )


def parted(left: Seen, right: Seen) -> list[str]:
    one, two = left.answer, right.answer
    found = [f"status: {one.status} / {two.status}"] if one.status != two.status else []
    if one.code != two.code:
        found.append(f"code: {one.code} / {two.code}")
    found += differences(one.body, two.body)
    found += _headers(one.headers, two.headers)
    names = [", ".join(n for n, _ in seen.events) or "none" for seen in (left, right)]
    if names[0] != names[1]:
        found.append(f"events: {names[0]} / {names[1]}")
        return found
    for (name, data), (_, other) in zip(left.events, right.events, strict=True):
        found += differences(data, other, name)
    return found


def _headers(left: dict[str, str], right: dict[str, str]) -> list[str]:
    found: list[str] = []
    for name in COMPARED_HEADERS:
        if (name in left) != (name in right):
            found.append(
                f"header {name}: {'there' if name in left else 'missing'} / {'there' if name in right else 'missing'}"
            )
        elif name in ("content-type", "x-ratelimit-scope") and left.get(name) != right.get(name):
            found.append(f"header {name}: {left.get(name)} / {right.get(name)}")
    return found
