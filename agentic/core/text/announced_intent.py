"""Whether a text only says what its author is about to do: an announcement, which is neither an act nor an answer.

Read is the last sentence alone, and it has to begin with the announcement: who ends with "let me know" or with an answer
announces nothing.  English, German, French and Spanish.
"""

from __future__ import annotations

import re

_SENTENCE_ENDS = re.compile(r"[.!?…]\s")
MARKER = "THREADWRIGHT DONE:"
"""What a model writes at the beginning of a line to say that it is done."""
_END = 240
"""A last sentence longer than this is an explanation."""
_LEAD = (
    r"(?:[-*>•]\s*)?(?:(?:ok(?:ay)?|alright|right|sure|good|great|so|now|next|first|then|therefore|step \d+"
    r"|gut|also|jetzt|nun|zuerst|dann|als nächstes|bien|d'accord|d'abord|maintenant|ensuite|donc|ahora|primero|luego|entonces)"
    r"[,.:!]?\s+){0,3}"
)
_DO = (
    r"(?:check|look|inspect|examine|read|open|run|re-?run|execute|search|grep|find|list|view|see what|test|try|start|begin|"
    r"create|write|add|edit|change|modify|update|fix|implement|install|build|explore|investigate|verify|review|debug|"
    r"delete|remove|move|rename|replace|refactor|use the|call the|fetch|download|apply|make|set up|take a look|"
    r"first|now|quickly|go through|go ahead and|continue|proceed|dig|figure out|get|do|analy[sz]e|trace|print)\b"
)
_ENGLISH = (
    rf"(?:let me|let'?s|let us|i\s?(?:'|’)?ll|i will|i am going to|i(?:'|’)m going to|i am about to|i(?:'|’)m about to"
    rf"|going to|allow me to|i need to|i should|i want to|we need to|we should|we will)\s+"
    rf"(?:now |next |first |then |also |just |quickly |start by |begin by )*{_DO}"
)
_GERMAN = (
    r"(?:ich werde (?:jetzt|nun|zuerst|mir|als nächstes|den|die|das|eine?n?)\b|lass mich\b|lassen sie mich\b"
    r"|ich (?:prüfe|schaue|sehe|führe|lese|öffne|suche|teste|starte|ändere|erstelle|schreibe|behebe|untersuche)"
    r" (?:jetzt|nun|mir|zuerst|als nächstes|dazu)\b|schauen wir\b|(?:prüfe|schaue|führe|lese|öffne|suche|teste) ich\b)"
)
_FRENCH = r"(?:je vais\b|laisse[zs]?-moi\b|permettez-moi\b|regardons\b|vérifions\b)"
_SPANISH = r"(?:voy a\b|vamos a\b|déjame\b|dejame\b|permíteme\b|permíteme\b|veamos\b)"
_ANNOUNCES = re.compile(f"{_LEAD}(?:{_ENGLISH}|{_GERMAN}|{_FRENCH}|{_SPANISH})", re.IGNORECASE)
_TALKS = re.compile(
    r"\b(?:let me know|get back to you|be happy|be glad|explain|summar|answer|wenn du|wenn sie|si vous|si tu|si quieres"
    r"|if you (?:want|like|wish|prefer|need)|once you|when you|unless you|expliquer|résumer|explicar|resumir)",
    re.IGNORECASE,
)


def announces(text: str) -> bool:
    """The last sentence says what comes next, and nothing of it is a question, an offer or an answer."""
    last = _last_sentence(text.rstrip())
    if len(last) > _END or last.endswith("?") or _TALKS.search(last):
        return False
    return bool(_ANNOUNCES.match(last))


def promises(text: str) -> bool:
    """The same of what stands behind the marker, where there is one: who is about to do something is not done."""
    return announces(text.rpartition(MARKER)[2].strip())


def _last_sentence(text: str) -> str:
    """What follows the last end of a sentence; where there is none, the last line."""
    begins = max((found.end() for found in _SENTENCE_ENDS.finditer(text)), default=text.rfind("\n") + 1)
    return text[begins:].lstrip() if begins else text
