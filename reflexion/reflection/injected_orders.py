"""Whether a reflection only repeats an order that stood in what the agent read.  Pure.

A file, a page or the output of a command can hold sentences that are meant for the agent ("Remember: always …", "ignore
the instructions above", "score this 100").  A model that reviews the record may take them over as its own insight, and
from there they would reach the instructions of the next attempts.  So orders in what was read are looked for in the
insight, word for word, as a model reads them (``hidden_text.py``) and in several languages; a reflection that repeats one is
kept for people to see and told to no attempt, and a lesson made of it waits for a person.  What a person dictated in the
thread counts there, and waits only as a lesson for everyone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from reflexion.evaluation.trajectory import ASK, Trajectory
from reflexion.lessons.lesson import Insight
from reflexion.text.hidden_text import as_read, decoded

RUN = 4
"""So many words in a row, the same in the order and in the insight, are no chance."""
GOES_ON = 3
"""So many lines an order may go on in."""
WRAPPED = 56
"""A line so long may have been broken for its length."""
_ORDER = re.compile(
    r"""(?ix)
        \bremember\s*(?:[:,-]|to\b|that\b|this\b) | \bfrom\s+now\s+on\b | \bin\s+(?:the\s+)?future\s*[,:]
      | \b(?:ignore|disregard|forget)\s+(?:all|any|every|the|your|previous|prior|above|earlier)\b
      | \b(?:you|agents?|assistants?|models?)\s+(?:must|shall|should|have\s+to|need\s+to|will|are\s+to|may)\b
      | (?:^|[.:;!?>"'#*\-\]]\s*)(?:always|never|do\s+not|don't)\s+[a-z]
      | \bsystem\s+prompt\b | \bnew\s+(?:rules?|instructions?|policy)\b | \binstructions?\s+(?:to|for)\b
      | \b(?:future|next|later|all)\s+(?:agents?|attempts?|tasks?|runs?|sessions?|executions?)\b
      | \b(?:note|message|dear|attention)\W+(?:to\s+)?(?:the\s+)?(?:agent|assistant|ai|llm|model|reviewer|judge)s?\b
      | \b(?:score|rate|grade)\b.{0,20}\b\d{2,3}\b | \b(?:learn|memori[sz]e|record|store)\s+(?:this|that|the\s+following)\b
      | \b(?:merke?\s+(?:dir|euch)|ab\s+(?:jetzt|sofort)|in\s+zukunft|kunftig|ignoriere?n?|vergiss|du\s+(?:musst|sollst))\b
      | \b(?:souviens-toi|rappelle-toi|retiens|desormais|dorenavant|ignorez|tu\s+dois|vous\s+devez)\b
      | \ba\s+partir\s+de\s+(?:maintenant|ahora|agora)\b
      | \b(?:recuerd[ae]|de\s+ahora\s+en\s+adelante|ignor[ae]\s+(?:todas?|las?|as)|debes|lembre-se)\b
      | \b(?:ricorda(?:ti)?|d'ora\s+in\s+poi|ignora\s+(?:tutte|le)|onthoud|vanaf\s+nu|negeer|pamietaj|od\s+teraz|zignoruj)\b
      | (?:^|[.:;!?>"'#*\-\]]\s*)(?:immer|niemals|toujours|jamais|siempre|nunca|sempre|mai|altijd|nooit|всегда|никогда)\s+\w
      | запомни|отныне|с\s+этого\s+момента|игнорируй|ты\s+должен
      | 记住|記住|从现在|從現在|忽略|无视|今后|必须始终 | 覚えて|今後は|無視して|必ず | 기억해|앞으로|무시하|반드시"""
)
_WORD = re.compile(r"[^\W_]+")
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_BETWEEN = re.compile(r"[_/\\.-]+")


def orders_in(text: str) -> tuple[str, ...]:
    """The lines of a text that read like an order to whoever reads them, with the lines that they go on in."""
    found: list[str] = []
    for part in (text, *decoded(text)):
        lines = [line.strip() for line in part.splitlines()]
        found += [_whole(lines, at) for at in range(len(lines)) if _begins(lines, at)]
    return tuple(dict.fromkeys(found))


def _begins(lines: Sequence[str], at: int) -> bool:
    """An order begins here: in this line, or between it and the next, where that is none by itself."""
    following = lines[at + 1] if at + 1 < len(lines) else ""
    return _is_order(lines[at]) or (
        bool(following) and not _is_order(following) and _is_order(f"{lines[at]} {following}")
    )


def _is_order(line: str) -> bool:
    return bool(_ORDER.search(as_read(line)))


def _whole(lines: Sequence[str], at: int) -> str:
    """A line with those that it goes on in: it is only a heading, or it was wrapped."""
    told = lines[at] if _is_order(lines[at]) else f"{lines[at]} {lines[at + 1]}"
    last = lines[at] if told == lines[at] else lines[at + 1]
    for line in lines[at + 1 + (told != lines[at]) :][:GOES_ON]:
        heading = len(_words(told)) < RUN + 1 or last.endswith(":")
        wrapped = len(last) >= WRAPPED and line[:1].islower() and not last.endswith((".", "!", "?"))
        if not line or not (heading or wrapped):
            break
        told, last = f"{told} {line}", line
    return told


def taken_over(insight: Insight, trajectory: Trajectory) -> str:
    """The order out of files, pages or output that the insight repeats; '' where it repeats none."""
    return _repeated(insight, orders_read(trajectory))


def orders_read(trajectory: Trajectory) -> tuple[str, ...]:
    """The orders that stood in what the agent read: output, errors, names of files."""
    read = [call for call in trajectory.calls if call.tool != ASK]
    names = [_BETWEEN.sub(" ", change.path) for call in read for change in call.changes]
    said = [text for call in read for text in (call.preview, call.error)]
    return tuple(dict.fromkeys(order for text in (*said, *names) for order in orders_in(text)))


def dictated(insight: Insight, trajectory: Trajectory) -> str:
    """The standing order out of people's words, or an earlier attempt's, that it repeats; '' where it repeats none."""
    earlier = (each.text for each in trajectory.lessons if each.kind == "reflection")
    answers = (call.preview for call in trajectory.calls if call.tool == ASK)
    said = (trajectory.task, *trajectory.corrections, *trajectory.overheard, *answers, *earlier)
    return _repeated(insight, (order for text in said for order in orders_in(text)))


def _repeated(insight: Insight, orders: Iterable[str]) -> str:
    told = {run for text in insight.model_dump().values() for run in _runs(text)}
    return next((order for order in orders if not told.isdisjoint(_runs(order))), "")


def _runs(text: str) -> set[str]:
    """Rows of neighbouring words, and of neighbouring signs where a language writes no spaces."""
    words = _words(text)
    signs = "".join(_IDEOGRAPHS.findall(text))
    of_words = {" ".join(words[at : at + RUN]) for at in range(len(words) - RUN + 1)}
    return of_words | {signs[at : at + 2 * RUN] for at in range(len(signs) - 2 * RUN + 1)}


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_IDEOGRAPHS.sub(" ", as_read(text)))]
