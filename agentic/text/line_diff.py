"""Compare two texts line by line in bounded time; pure.

``difflib`` alone takes time that grows with the square of the lines or worse, and a text can be made to exploit that.
Here, lines that are unique in both texts anchor the comparison, and only the stretches between two anchors are given to
``difflib``, if they are short; longer ones count as replaced.
"""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import nsmallest

SHORT = 60
"""Maximum lines on each side of a stretch that is compared by ``difflib``."""
COMPARISONS = 100
"""Maximum number of such stretches in a text; what follows counts as replaced."""
LINES = 10_000
"""Maximum lines between the first and the last difference; beyond that, nothing is compared."""
CHARACTERS = 80
"""Maximum characters of a line or a name that is compared with others: two of 300 can be made to take a second."""
CANDIDATES = 12
"""Number of similar texts that are compared closely."""

Block = tuple[int, int, int]


def unified_diff(
    old: Sequence[str], new: Sequence[str], old_name: str = "", new_name: str = "", context: int = 2
) -> Iterator[str]:
    """Yield a unified diff like ``difflib.unified_diff``, without line ends."""
    matcher = difflib.SequenceMatcher(None, old, new)
    blocks = [*matching_blocks(old, new), (len(old), len(new), 0)]
    matcher.matching_blocks = [difflib.Match(*block) for block in blocks]  # pyright: ignore[reportAttributeAccessIssue]
    for number, group in enumerate(matcher.get_grouped_opcodes(context)):
        if not number:
            yield f"--- {old_name}"
            yield f"+++ {new_name}"
        (_, i1, _, j1, _), (_, _, i2, _, j2) = group[0], group[-1]
        yield f"@@ -{_range(i1, i2)} +{_range(j1, j2)} @@"
        for kind, begin, end, new_begin, new_end in group:
            if kind == "equal":
                yield from (" " + line for line in old[begin:end])
                continue
            yield from ("-" + line for line in old[begin:end])
            yield from ("+" + line for line in new[new_begin:new_end])


def matching_blocks(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Return (position in the old, position in the new, number of lines) of equal blocks, in order."""
    head, tail = _ends(old, new)
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    found: list[Block] = [(0, 0, head)]
    if max(len(middle_old), len(middle_new)) <= LINES:
        found += [(head + i, head + j, size) for i, j, size in _within(middle_old, middle_new)]
    return _joined([*found, (len(old) - tail, len(new) - tail, tail)])


def nearest(wanted: str, texts: Sequence[str], most: int, cutoff: float) -> list[int]:
    """Return the indexes of the texts most like the beginning of ``wanted``, best first."""
    matcher = difflib.SequenceMatcher(b=wanted[:CHARACTERS], autojunk=False)
    likely: list[tuple[float, int]] = []
    for place, text in enumerate(texts):
        matcher.set_seq1(text[:CHARACTERS])
        if matcher.real_quick_ratio() >= cutoff and (upper := matcher.quick_ratio()) >= cutoff:
            likely.append((-upper, place))
    scored: list[tuple[float, int]] = []
    for _, place in nsmallest(CANDIDATES, likely):
        matcher.set_seq1(texts[place][:CHARACTERS])
        scored.append((-matcher.ratio(), place))
    return [place for score, place in sorted(scored)[:most] if -score >= cutoff]


def _within(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    found: list[Block] = []
    i = j = compared = 0
    for to_i, to_j in [*_anchors(old, new), (len(old), len(new))]:
        head, tail = _ends(old[i:to_i], new[j:to_j])
        middle_old, middle_new = old[i + head : to_i - tail], new[j + head : to_j - tail]
        found.append((i, j, head))
        if middle_old and middle_new and max(len(middle_old), len(middle_new)) <= SHORT and compared < COMPARISONS:
            compared += 1
            matcher = difflib.SequenceMatcher(None, middle_old, middle_new, autojunk=False)
            found += [(i + head + at, j + head + to, size) for at, to, size in matcher.get_matching_blocks()]
        found.append((to_i - tail, to_j - tail, tail))
        i, j = to_i, to_j
    return found


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return lines that occur once in each text, as many as have the same order in both."""
    once_old, once_new = Counter(old), Counter(new)
    places = {line: at for at, line in enumerate(new) if once_new[line] == 1}
    pairs = [(at, places[line]) for at, line in enumerate(old) if once_old[line] == 1 and line in places]
    tails: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        at = bisect_left(tails, j)
        before.append(last[at - 1] if at else -1)
        tails[at : at + 1], last[at : at + 1] = [j], [number]
    found: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def _ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return how many lines are equal at the beginning, and of the rest at the end."""
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    tail = next((at for at in range(shorter - head) if old[-1 - at] != new[-1 - at]), shorter - head)
    return head, tail


def _joined(blocks: Sequence[Block]) -> list[Block]:
    """Drop empty blocks and join adjacent ones."""
    found: list[Block] = []
    for i, j, size in blocks:
        if found and (found[-1][0] + found[-1][2], found[-1][1] + found[-1][2]) == (i, j):
            found[-1] = (*found[-1][:2], found[-1][2] + size)
        elif size:
            found.append((i, j, size))
    return found


def _range(begin: int, end: int) -> str:
    """Return a range of lines in the notation of unified diffs."""
    length = end - begin
    return str(begin + 1) if length == 1 else f"{begin + 1 if length else begin},{length}"
