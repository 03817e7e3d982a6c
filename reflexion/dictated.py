"""Whether a reflection only repeats an order that stood in what the agent read.  Pure.

A file, a page or the output of a command can hold sentences that are meant for the agent ("Remember: always …", "ignore
the instructions above", "score this 100").  A model that reviews the record may take them over as its own insight, and
from there they would reach the instructions of the next attempts.  So orders in what was read are looked for in the
insight, word for word; a reflection that repeats one is kept for people to see and told to no attempt, and a lesson made
of it waits for a person.  What a person dictated in the thread counts there, and waits only as a lesson for everyone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from reflexion.lessons import Insight
from reflexion.trajectory import Trajectory

RUN = 4
"""So many words in a row, the same in the order and in the insight, are no chance."""
_ORDER = re.compile(
    r"""(?ix)
        \bremember\s*(?:[:,-]|to\b|that\b|this\b) | \bfrom\s+now\s+on\b | \bin\s+(?:the\s+)?future\s*[,:]
      | \b(?:ignore|disregard|forget)\s+(?:all|any|every|the|your|previous|prior|above|earlier)\b
      | \b(?:you|agents?|assistants?|models?)\s+(?:must|shall|should|have\s+to|need\s+to|will|are\s+to|may)\b
      | (?:^|[.:;!?>"'#*\-\]]\s*)(?:always|never|do\s+not|don't)\s+[a-z]
      | \bsystem\s+prompt\b | \bnew\s+(?:rules?|instructions?|policy)\b | \binstructions?\s+(?:to|for)\b
      | \b(?:future|next|later|all)\s+(?:agents?|attempts?|tasks?|runs?|sessions?|executions?)\b
      | \b(?:note|message|dear|attention)\W+(?:to\s+)?(?:the\s+)?(?:agent|assistant|ai|llm|model|reviewer|judge)s?\b
      | \b(?:score|rate|grade)\b.{0,20}\b\d{2,3}\b | \b(?:learn|memori[sz]e|record|store)\s+(?:this|that|the\s+following)\b"""
)
_WORD = re.compile(r"[^\W_]+")


def orders_in(text: str) -> tuple[str, ...]:
    """The lines of a text that read like an order to whoever reads them."""
    return tuple(line.strip() for line in text.splitlines() if _ORDER.search(line))


def taken_over(insight: Insight, trajectory: Trajectory) -> str:
    """The order out of files, pages or output that the insight repeats; '' where it repeats none."""
    return _repeated(insight, (order for call in trajectory.calls for order in orders_in(call.preview)))


def dictated(insight: Insight, trajectory: Trajectory) -> str:
    """The standing order out of a person's words, or an earlier attempt's, that it repeats; '' where it repeats none."""
    earlier = (each.text for each in trajectory.lessons if each.kind == "reflection")
    said = (trajectory.task, *trajectory.corrections, *earlier)
    return _repeated(insight, (order for text in said for order in orders_in(text)))


def _repeated(insight: Insight, orders: Iterable[str]) -> str:
    told = [
        _words(text) for text in (insight.strategy_change, insight.key_insight, insight.what_failed, insight.root_cause)
    ]
    runs = {tuple(words[at : at + RUN]) for words in told for at in range(len(words) - RUN + 1)}
    for order in orders:
        words = _words(order)
        if any(tuple(words[at : at + RUN]) in runs for at in range(len(words) - RUN + 1)):
            return order
    return ""


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
