"""What a task asks for by name, so that one can look whether it is there: a pull request, a branch, a file; pure.

Only plain orders count: no question, no condition, nothing that is merely spoken of.  What is missed here costs nothing but
a check; what is read wrongly denies an honest end.
"""

from __future__ import annotations

import re

from agentic.core.text import task_vocabulary as words

PULL, BRANCH, FILE = "pull request", "branch", "file"
"""What each thing begins with; a name follows where it has one: ``file notes.md``."""
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?;])\s|\n")
_CONDITION = re.compile(
    r"\b(?:if|unless|in case|or|maybe|perhaps|optional(?:ly)?|falls|sofern|wenn|oder|vielleicht|si|quizás|peut-être)\b"
)
_PULL = r"(?:pull|merge)[- ]?request"
_NOUN = rf"(?:{_PULL}|pr)"
_MADE = (
    r"(?:open|create|make|raise|submit|file|send|publish|prepare|start|add|cut|put up|öffne|eröffne|erstelle?|mache?|stelle?|"
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
    re.compile(rf"(?:open|create|publish|submit|raise)\s+the\s+{_NOUN}{_AFTER}"),
    re.compile(
        rf"(?:i|we) (?:want|need|would like|expect) {_ONE}{_NOUN}{_AFTER}|ich (?:brauche|möchte|will) {_ONE}{_NOUN}"
    ),
    re.compile(rf"{_NOUN},? (?:please|bitte)\b"),
)
_AS_PULL = re.compile(rf"\s(?:as|via|als|per)\s+{_ONE}{_NOUN}{_AFTER}")
_NAME = r"[`\"']?(?P<name>\w[\w./-]{0,79})"
_BRANCHES = (
    re.compile(rf"{_MADE}\s+{_ONE}branch,?\s+(?:called|named|namens|with the name|mit dem namen)\s+{_NAME}"),
    re.compile(rf"{_MADE}\s+{_ONE}branch\s+(?=\S*\w[-/_0-9]){_NAME}"),
    re.compile(rf"{_MADE}\s+{_ONE}branch{_AFTER}"),
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
    r"(?:create|write|make|add|generate|produce|draft|erstelle?|schreibe?|lege?|generiere|crée|écris|crea|escribe)\s+"
    rf"{_OF_FILES}{_PATH}{_AFTER}"
)
_INTO = re.compile(
    r"(?:save|store|export|write|put|dump|output|convert|render|speichere?|schreibe?|exportiere|sichere)\s[^\n]{0,200}?"
    rf"\s(?:to|into|as|under|als|unter|in die|in eine|nach)\s+{_OF_FILES}{_PATH}{_AFTER}"
)
_MORE = re.compile(rf"{_PATH}{_AFTER}")
_NO_FILES = frozenset(("node.js", "next.js", "vue.js", "nuxt.js", "react.js", "three.js", "d3.js", "express.js"))
_SPOKEN = {PULL: re.compile(rf"\b(?:{_PULL}s?|prs?)\b"), BRANCH: re.compile(r"\bbranch")}
_DEFERRED = re.compile(r"\b(?:no|not|never|don't|without|later|myself|kein\w*|nicht|ohne|später|selbst)\b|n't\b")


def asked(text: str) -> tuple[str, ...]:
    """The things that a task plainly orders, each once."""
    found: dict[str, None] = {}
    for sentence in _sentences(text):
        if _CONDITION.search(sentence):
            continue
        listing = False
        for clause in words.CLAUSES.split(sentence):
            order = words.COURTESY.sub("", clause.strip(" ,(*-"))
            listing = _named(order, found, listing=listing)
    return tuple(found)


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


def _sentences(text: str) -> list[str]:
    return _SENTENCE.split(_FENCE.sub(" ", text).replace("’", "'").lower())


def _named(order: str, found: dict[str, None], *, listing: bool) -> bool:
    """Take what one clause orders; whether it named a file, so that the next one may name another."""
    first = order.split(" ", 1)[0]
    by_way = first in words.CHANGES and _AS_PULL.search(order)
    if by_way or any(pattern.match(order) for pattern in _PULLS):
        found[PULL] = None
    for pattern in _BRANCHES:
        if branch := pattern.match(order):
            name = branch.groupdict().get("name", "")
            found[f"{BRANCH} {name.rstrip('.')}".strip()] = None
            break
    into = _FILES.match(order) or _INTO.match(order) or (_MORE.match(order) if listing else None)
    if into is None or into["name"] in _NO_FILES:
        return False
    found[f"{FILE} {into['name']}"] = None
    return True
