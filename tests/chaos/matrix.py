"""A kill at every failpoint, each in the middle of work, and what it came to.

For each point a life of the bot is started that dies there; a task lies there already, given while nobody listened, and
more is done once it is online, by what the point needs.  Then the bot is started again, and all comes to rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from agentic.ports.failpoints import POINTS
from tests.chaos.counts import Counts
from tests.chaos.house import House, NotAtRest, house
from tests.chaos.nursery import Child, Nursery
from tests.chaos.outside import judged

REACHED_SECONDS = 60.0
UNDONE = ("Undone:", "as they were before that task", "was already undone", "there is nothing to undo")
MERGED = ("Merged ", "was merged already")

Scene = Callable[[House, str], Awaitable[None]]


async def asked(house: House, job: str) -> None:
    """Two effects, a read, an edit, a question and its answer."""
    await _answered(house, await house.give("asks", job), job)


async def failed(house: House, job: str) -> None:
    """A task that fails, from which something is learned."""
    await house.says(await house.give("fails", job), f"answer to {job}.")


async def undone(house: House, job: str) -> None:
    """A task whose changes somebody puts back."""
    thread = await house.give("writes", job)
    await house.says(thread, f"answer to {job}.")
    await house.guild.post(thread, f"job rewrites {job}b")
    card = await house.says(thread, f"answer to {job}b.")
    undo = next(one for one in card.custom_ids() if one.startswith("tw:undo:"))
    await _pressed(house, thread, card.id, undo, UNDONE)
    folder = house.home / "workspaces" / str(thread)
    files = {path.name: path.read_text() for path in folder.glob("*.txt")}
    assert files == {"a.txt": "first\n", "b.txt": "first\n"}, f"undone, and yet: {files}"


async def told(house: House, job: str) -> None:
    """A mention without a word, which is answered in place."""
    before = sum("What should I do?" in message.content for message in house.said(house.general))
    await house.guild.post(house.general, house.guild.bot.mention)
    await house.guild.wait_for(
        lambda _: sum("What should I do?" in m.content for m in house.said(house.general)) > before, timeout=60.0
    )


async def merged(house: House, job: str) -> None:
    """A branch that somebody merges."""
    thread = await house.give("repository", job)
    await house.says(thread, f"answer to {job}.")
    await house.guild.post(thread, f"job offers {job}b")
    offer = await house.says(thread, "Price is 2")
    await house.says(thread, f"answer to {job}b.")
    merge = next(one for one in offer.custom_ids() if one.startswith("tw:offer:merge"))
    await _pressed(house, thread, offer.id, merge, MERGED)


async def helped(house: House, job: str) -> None:
    """Two helpers that work side by side."""
    thread = await house.give("helpers", job)
    await house.says(thread, f"answer to {job}.")
    left = sorted(line for line in house.lines(thread) if line.startswith(job))
    assert left == [f"{job}.{each}" for each in ("1", "2", "a.1", "a.2", "a.3", "b.1", "b.2", "b.3")], left


async def held(house: House, job: str) -> None:
    """Work that takes longer than the time after which a lease is renewed."""
    await house.says(await house.give("slow", job), f"answer to {job}.")


async def ended(house: House, job: str) -> None:
    """The bot is told to end, in the middle of work."""
    thread = await house.give("slow", job)
    await house.until(lambda: house.mind.asked[job] >= 2)
    await house.lives[-1].kill(signal.SIGTERM)
    await house.says(thread, f"answer to {job}.")


async def forked(house: House, job: str) -> None:
    """A fork of what a task left."""
    thread = await house.give("fails", job)
    await house.says(thread, f"answer to {job}.")
    await house.guild.post(thread, "!fork")
    await house.says(thread, "Forked as it was")
    opened = [message for message in house.said(house.general) if f"forked <#{thread}>" in message.content]
    assert len(opened) == 1, f"forked once, and yet: {[message.content for message in opened]}"
    assert house.lines(opened[0].id) == house.lines(thread), "its files are not those of the checkpoint"


async def large(house: House, job: str) -> None:
    """So much content that it goes into files."""
    await house.says(await house.give("big", job), f"answer to {job}.")


async def stopped_idle(house: House, job: str) -> None:
    """A stop where nothing runs any more."""
    thread = await house.give("fails", job)
    await house.says(thread, f"answer to {job}.")
    await house.guild.post(thread, "stop")
    await house.says(thread, "Nothing is running here.")


SCENES: dict[str, Scene] = {
    "act.": undone, "restore.": undone, "merge.": merged, "learn.": failed, "lessons.": failed, "lease.renew": held,
    "fork.": forked, "checkpoint.adopt": forked,
    "close.": ended, "children.": helped, "wal.": large, "store.blob": large, "outbox.put": told, "inbox.discard": undone,
}  # fmt: skip
"""What is done for a point beside the task that lies there, by the beginning of its name."""
ELSEWHERE = (
    "store.blob.", "fork.", "checkpoint.adopt", "judge.", "savepoint.", "schedule.", "publish.", "watch.", "events.",
)  # fmt: skip
"""Large content is reached by no task (tools cut what they say before); the others have tests of their own."""


def scene_of(point: str) -> Scene:
    """What has to happen for the point to be reached."""
    return next((scene for start, scene in SCENES.items() if point.startswith(start)), asked)


async def matrix(orders: Sequence[str], folder: Path, nursery: Nursery, seed: int = 0, beside: int = 2) -> Counts:
    """Die at each of these failpoints (``name`` or ``name:3``) in one of ``beside`` houses, and judge what came of it."""
    waiting = list(orders)
    counts = Counts()

    async def inhabit(number: int) -> None:
        async with house(folder / f"house-{number}", nursery) as place:
            await _founded(place)
            while waiting:
                await _passed(place, waiting.pop(0), counts)
            with contextlib.suppress(NotAtRest):  # what is lost by that is counted
                await place.rest()
            await place.lives[-1].end()
            counts.__iadd__(await judged(place, seed))

    await asyncio.gather(*(inhabit(number) for number in range(beside)))
    return counts


async def _founded(place: House) -> None:
    """One task, so that there is a mark from which what was missed is read."""
    first = await place.live()
    await place.guild.wait_for(lambda guild: guild.online, timeout=60.0)
    thread = await place.give("fails", "first")
    await place.says(thread, "answer to first.")
    await place.rest()
    await place.read_through(thread)
    await first.kill()
    await place.guild.wait_for(lambda guild: not guild.online, timeout=60.0)


async def _passed(place: House, order: str, counts: Counts) -> None:
    point = order.partition(":")[0]
    name = order.replace(".", "").replace(":", "")
    before = await place.give("asks", f"{name}A")
    dying = await place.live(order)
    reborn = asyncio.create_task(_born_again(place, dying), name=f"after {order}")
    try:
        await place.guild.wait_for(lambda guild: guild.online or dying.status is not None, timeout=60.0)
        await asyncio.gather(_answered(place, before, f"{name}A"), scene_of(point)(place, f"{name}B"))
        if not dying.ended.is_set():
            async with asyncio.timeout(REACHED_SECONDS):
                await dying.ended.wait()
    except (NotAtRest, TimeoutError, AssertionError) as error:
        counts.lost += 1
        counts.problems.append(f"{order}: {error or type(error).__name__}; it died at {dying.killed_at or 'nothing'}")
    finally:
        if dying.killed_at != point:
            counts.problems.append(f"{order} was never reached")
            counts.other += 1
            await dying.kill()
        await reborn
    with contextlib.suppress(NotAtRest):
        await place.rest()
    counts.kills += 1
    counts.faults[f"killed at {point}"] += 1
    await place.lives[-1].kill()
    await place.guild.wait_for(lambda guild: not guild.online, timeout=60.0)


async def _born_again(place: House, dying: Child) -> None:
    await dying.ended.wait()
    await place.live()


async def _answered(place: House, thread: int, job: str) -> None:
    await place.says(thread, f"Which way for {job}?")
    await place.guild.post(thread, "this")
    await place.says(thread, f"answer to {job}.")


async def _pressed(place: House, thread: int, message: int, button: str, words: tuple[str, ...]) -> None:
    """Press a button until what it does is told: Discord keeps no click for a bot that is away."""
    for _ in range(10):
        await place.guild.wait_for(lambda guild: guild.online, timeout=60.0)
        if button in place.guild.state.find_message(message).custom_ids():  # what it did may have taken it away
            await place.guild.click(message, button)
        with contextlib.suppress(TimeoutError):
            await place.guild.wait_for(
                lambda _: any(word in m.content for m in place.said(thread) for word in words), timeout=6.0
            )
            return
    raise NotAtRest(f"{button} is not done; {place.told(thread)}")


def all_points() -> tuple[str, ...]:
    """Every failpoint that what is done here can reach."""
    return tuple(point for point in POINTS if not point.startswith(ELSEWHERE))
