"""What a task asks for by name, so that one can look whether it is there: a pull request, a branch, a file; pure.

Only plain orders count, and what follows plain orders in their sentence: no question, no condition, nothing that is merely
spoken of, described or quoted.  What is missed here costs nothing but a check; what is read wrongly denies an honest end.
"""

from __future__ import annotations

import re

from agentic.core.text import task_vocabulary as words

PULL, BRANCH, FILE = "pull request", "branch", "file"
"""What each thing begins with; a name follows where it has one: ``file notes.md``."""
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|^[ \t]{0,9}>[^\n]*|[\"“„«][^\"“”„«»\s]{0,80}\s[^\"“”„«»]{0,400}[\"“”»]"
    r"|(?<!\w)['`][^'`\s]{0,80}\s[^'`]{0,400}['`](?!\w)",
    re.DOTALL | re.MULTILINE,
)
_SENTENCE = re.compile(r"(?<=[.!?;])(?<!\d\.)(?<!e\.g\.)(?<!i\.e\.)(?<!z\.b\.)\s|\n")
_UNSURE = re.compile(
    r"\b(?:if|unless|in case|or|maybe|perhaps|optional(?:ly)?|e\.g|for example|(?:i|we) (?:want|need|have|would like) to|"
    r"i'd like to|falls|sofern|wenn|oder|vielleicht|z\.b|zum beispiel|si|quizás|peut-être)\b"
)
_REQUEST = re.compile(
    r"\b(?:(?:can|could|would) (?:you|u|we|someone)|please|bitte|kannst du|könntest du|peux[- ]tu|puedes|podrías)\b"
)
"""What makes a question an order."""
_COLON = re.compile(r":(?:\s|$)")
_TELLS = re.compile(r":\s*$|\b(?:steps?|repro(?:duce|duction)?|schritte?|reproduzier\w*)\b|^\s*#+\s")
"""In a line: what follows is described."""
_DESCRIBES = re.compile(
    r"\b(?:to|that|which|who|whose|where|when|while|how|why|what|should|must|shall|can|could|will|would|may|might|lets?|um|zu|"
    r"wie|was|wo|soll\w*|muss|müssen|dass|kann|können|qui|que|pour|comment|doit|para|cómo|debe)\b"
)
"""In a clause: what follows it may be what it tells of."""
_SPEAKS = re.compile(
    r"(?:explain|describe|tell|help|show|list|outline|plan|propose|recommend|suggest|review|design|brainstorm|zeige?|erklär\w*|"
    r"sag|explique|montre|dis|explica|muestra|dime)\b"
)
_WORKS = words.CHANGES | words.LOOKS | frozenset(("mend", "push", "pull", "use", "rebase", "merge"))
_PULL = r"(?:pull|merge)[- ]?request"
_NOUN = rf"(?:{_PULL}|pr)"
_MADE = (
    r"(?:open|create|make|raise|submit|file|send|publish|prepare|start|cut|put up|öffne|eröffne|erstelle?|mache?|stelle?|"
    r"schicke?|lege?|ouvre|crée|fais|abre|crea|haz)"
)
_ONE = (
    r"(?:(?:me|us|up|an?|one|new|your|own|its|draft|separate|another|github|git|feature|mir|uns|eine[nms]?|ein|neue[nms]?|"
    r"eigene[nms]?|une?|nouvelle|nueva)\s+){0,4}"
)
_AFTER = (
    r"[`\"']?(?=\s*(?:\Z|[.,;:!?)])|\s(?:for|with|to|from|on|at|into|in|against|once|when|and|that|which|so|named|called|"
    r"titled|please|here|there|now|after|of|as|containing|saying|using|mit|für|auf|gegen|bitte|damit|dazu|daraus|dafür|an|"
    r"und|aus|nach|namens|über|der|die|das|pour|avec|sur|para|con|que)\b)"
)
_PULLS = (
    re.compile(rf"{_MADE}\s+{_ONE}{_NOUN}{_AFTER}"),
    re.compile(rf"(?:create|publish|submit|raise)\s+the\s+{_NOUN}{_AFTER}"),
    re.compile(
        rf"(?:(?:i|we) (?:want|need|would like|expect)|ich (?:brauche|möchte|will)) {_ONE}{_NOUN}(?!\s+to\b){_AFTER}"
    ),
    re.compile(rf"{_NOUN},? (?:please|bitte)\b"),
)
_OPEN_THE = re.compile(rf"open\s+the\s+{_NOUN}(?:\s(?:when|once|after|now|please|for|against|as)\b.*|\W*)\Z")
"""After a change; else one that is there is looked at."""
_AS_PULL = re.compile(rf"\s(?:as|via|als|per)\s+{_ONE}{_NOUN}{_AFTER}")
_NAME = r"[`\"']?(?P<name>\w[\w./-]{0,79})"
_BRANCHES = (
    re.compile(rf"{_MADE}\s+{_ONE}branch,?\s+(?:called|named|namens|with the name|mit dem namen)\s+{_NAME}"),
    re.compile(rf"{_MADE}\s+{_ONE}branch\s+(?=\S*\w[-/_0-9]){_NAME}"),
    re.compile(
        rf"{_MADE}\s+{_ONE}branch(?=\s*(?:\Z|[.,;!)])|\s(?:and|from|off|please|bitte)\b|\s(?:for|with|für|mit)\s(?:\w+\s)?"
        r"(?:it|this|that|fix|fixes|changes?|work|feature|task|issue|bug|änderung(?:en)?|fehler|aufgabe)\b)"
    ),
)
_ENDING = (
    r"(?:py|ipynb|jsx?|tsx?|css|html?|md|rst|json|ya?ml|toml|sql|sh|csv|txt|pdf|png|jpe?g|svg|xlsx?|docx?|zip|log|c|h|cpp|rs|"
    r"go|java|kt|rb|php|tf|ini|cfg|xml)"
)
_PATH = rf"[`\"']?(?:/workspace/|\./)?(?P<name>(?:[\w.-]{{1,80}}/){{0,8}}[\w-][\w.-]{{0,80}}\.{_ENDING})"
_OF_FILES = (
    r"(?:(?:an?|the|new|empty|short|small|simple|single|text|python|json|markdown|html|csv|shell|file|script|module|document|"
    r"report|called|named|eine?|die|das|neue|leere|kurze|datei|skript|namens|un|le|fichier|el|archivo)\s+){0,6}"
)
_FILES = re.compile(
    r"(?:create|write|generate|produce|draft|erstelle?|schreibe?|lege?|generiere|crée|écris|crea|escribe)\s+"
    rf"{_OF_FILES}{_PATH}(?!\s+(?:to|into)\b){_AFTER}"
)
_INTO = re.compile(
    r"(?:save|store|export|write|put|dump|output|convert|render|speichere?|schreibe?|exportiere|sichere)\s(?P<what>[^\n]{0,200}?)"
    rf"\s(?:to|into|as|under|als|unter|in die|in eine|nach)\s+{_OF_FILES}{_PATH}{_AFTER}"
)
_MORE = re.compile(rf"{_PATH}{_AFTER}")
_NO_FILES = frozenset(("node.js", "next.js", "vue.js", "nuxt.js", "react.js", "three.js", "d3.js", "express.js"))
_SPOKEN = {PULL: re.compile(rf"\b(?:{_PULL}s?|prs?)\b"), BRANCH: re.compile(r"\bbranch")}
_DEFERRED = re.compile(r"\b(?:no|not|never|don't|without|later|myself|kein\w*|nicht|ohne|später|selbst)\b|n't\b")


def asked(text: str) -> tuple[str, ...]:
    """The things that a task plainly orders and does not take back, each once."""
    found: dict[str, None] = {}
    changed = False
    for line in _plain(text).splitlines():
        for sentence in _SENTENCE.split(_COLON.split(line, maxsplit=1)[0]):
            if not _UNSURE.search(sentence) and (not sentence.rstrip().endswith("?") or _REQUEST.search(sentence)):
                changed = _orders(sentence, found, changed=changed)
        if _TELLS.search(line):
            break
    return tuple(thing for thing in found if not taken_back(thing, text))


def speaks_of(thing: str, text: str) -> tuple[str, ...]:
    """The sentences of a text that are about a thing."""
    kind, name = kind_and_name(thing)
    last = name.rpartition("/")[2]
    return tuple(
        one for one in _sentences(text) if (last and last in one) or (kind in _SPOKEN and _SPOKEN[kind].search(one))
    )


def taken_back(thing: str, text: str) -> bool:
    """Whether somebody says that it is not wanted, or not now."""
    return any(_DEFERRED.search(sentence) for sentence in speaks_of(thing, text))


def kind_and_name(thing: str) -> tuple[str, str]:
    """What a thing is, and its name, '' where it has none."""
    kind = next(kind for kind in (PULL, BRANCH, FILE) if thing.startswith(kind))
    return kind, thing.removeprefix(kind).strip()


def _plain(text: str) -> str:
    return _QUOTED.sub(" ", text.replace("’", "'").lower())


def _sentences(text: str) -> list[str]:
    return _SENTENCE.split(_plain(text))


def _orders(sentence: str, found: dict[str, None], *, changed: bool) -> bool:
    """Take what a sentence orders, up to what is no plain order; whether anything was to be changed up to here."""
    listing = False
    for clause in words.CLAUSES.split(sentence):
        order = words.COURTESY.sub("", clause.strip(" ,(*-"))
        if changed and _OPEN_THE.match(order) and sentence.rstrip(" .!").endswith(order.rstrip(" .!")):
            found[PULL] = None
        more = listing and _MORE.match(order)
        listing = _named(order, found, listing=listing)
        first = order.split(" ", 1)[0]
        if order and not more and (first not in _WORKS or _SPEAKS.match(order) or _DESCRIBES.search(order)):
            break
        changed = changed or first in words.CHANGES or first == "mend"
    return changed


def _named(order: str, found: dict[str, None], *, listing: bool) -> bool:
    """Take what one clause orders; whether it named a file, so that the next one may name another."""
    by_way = order.split(" ", 1)[0] in words.CHANGES and _AS_PULL.search(order)
    if by_way or any(pattern.match(order) for pattern in _PULLS):
        found[PULL] = None
    for pattern in _BRANCHES:
        if branch := pattern.match(order):
            name = branch.groupdict().get("name", "")
            found[f"{BRANCH} {name.rstrip('.')}".strip()] = None
            break
    into = _FILES.match(order) or _INTO.match(order) or (_MORE.match(order) if listing else None)
    if into is None or into["name"] in _NO_FILES or _DESCRIBES.search(into.groupdict().get("what") or ""):
        return False
    found[f"{FILE} {into['name']}"] = None
    return True
