"""Whose work a task is, by its words: a label, '' where nothing fits.

Each sign weighs 1 to 3; the role with the most wins, and of two alike the one that stands first.
"""

from __future__ import annotations

import re

from agentic.prompts.roles import NAMES

_SIGNS: tuple[tuple[str, int, str], ...] = (
    ("code-reviewer", 3, r"\b(?:code[- ])?review\b|\brevisa el código\b|\brelis\b"),
    (
        "code-reviewer",
        3,
        r"^(?:please )?check (?:this|the|my) (?:function|code|class|patch|diff)\b|\banything wrong with\b",
    ),
    (
        "code-reviewer",
        2,
        r"\b(?:security problems|last commit|letzten commit|dernier commit|último commit|vulnerabilit)",
    ),
    (
        "planner",
        3,
        r"\b(?:make|write|create|draw up|need) (?:me |us )?an? (?:\w+ )?(?:plan|roadmap)\b|\bbreak .{0,200} down\b",
    ),
    ("planner", 3, r"^(?:please )?plan\b|\bsprint\b|\btickets\b|\b(?:what|which) steps\b|\bmilestones\b|\broadmap\b"),
    (
        "documentation",
        3,
        r"\b(?:readme|docstrings?|changelog|documentation|user guide|release notes|dokumentation)\b|\bdocs/",
    ),
    ("documentation", 2, r"\bdocument\b|\btutorial\b|\bmanual\b|\badr\b|\btranslate\b.*\.md\b"),
    ("dba", 3, r"\b(?:sql|postgres(?:ql)?|mysql|sqlite|query|queries|indexes|foreign key|stored procedure)\b|\.sql\b"),
    ("dba", 2, r"\b(?:database|datenbank|base de données|base de datos|db)\b|\btables?\b.*\b(?:column|migration)\b"),
    ("dba", 2, r"\bmigration\b.*\b(?:column|table)\b|\bselect\b.*\bfrom\b"),
    (
        "devops",
        3,
        r"\b(?:docker(?:file)?|kubernetes|k8s|terraform|helm|ansible|github actions|gitlab ci|nginx|jenkins)\b",
    ),
    ("devops", 3, r"\b(?:ci|ci/cd|pipeline|deployment|liveness|ecs|vpc|systemd|prometheus|grafana)\b"),
    ("devops", 2, r"\b(?:deploys?|deployed|production|staging|502|503|uptime|reachable|load balancer)\b"),
    ("architect", 3, r"\b(?:architecture|microservices?|module structure|monolith|system design|adr|grpc)\b"),
    (
        "js-ts-coder",
        3,
        r"\b(?:react|vue|angular|svelte|typescript|javascript|next\.?js|node(?:\.?js)?|npm|npx|yarn|eslint)\b",
    ),
    ("js-ts-coder", 3, r"\b(?:jest|vitest|webpack|vite|tailwind)\b|\.(?:jsx?|tsx?|mjs|vue)\b|\bjs\b|\bts\b"),
    ("js-ts-coder", 2, r"\b(?:css|html|browser|website|web page|navbar|frontend|webseite|formulario)\b"),
    ("python-coder", 3, r"\bpython\b|\b(?:pytest|fastapi|django|flask|pandas|numpy|pydantic|mypy|pip|poetry)\b|\.py\b"),
    ("python-coder", 1, r"\.csv\b|\bcsv\b|\bjupyter\b|\bplot\b|\bkeyerror\b|\btraceback\b"),
    ("shell", 3, r"\b(?:bash|shell|zsh|one-liner|cron(?:job)?|awk|sed)\b"),
    ("shell", 2, r"\b(?:largest files|disk space|how many lines|file permissions|list (?:the|all) (?:\w+ )?files)\b"),
    ("shell", 2, r"^(?:`|ls\b|df\b|du\b|git status\b|ping\b|find\b.*-name)|\bsha256\b|größer als"),
    ("researcher", 3, r"\b(?:research|find out what|latest (?:stable )?version|pros and cons|what do people say)\b"),
    (
        "researcher",
        2,
        r"\bsummari[sz]e\b.*(?:https?://|article|paper)|\bcompare\b|\brecherchiere\b|\bstate of the art\b",
    ),
)
_READ = tuple((role, weight, re.compile(sign)) for role, weight, sign in _SIGNS)
_CODERS = frozenset(("python-coder", "js-ts-coder", "shell"))
_THINKERS = frozenset(("code-reviewer", "planner", "researcher"))


def role_of(plain: str, *, changes: bool) -> str:
    """The role for these words, in lower case; one that only reads gives way where files are to be changed."""
    points: dict[str, int] = dict.fromkeys(NAMES, 0)
    for role, weight, sign in _READ:
        if sign.search(plain):
            points[role] += weight
    if changes:
        points = {role: 0 if role in _THINKERS else count for role, count in points.items()}
    elif points["code-reviewer"] or points["planner"]:
        points = {role: 0 if role in _CODERS else count for role, count in points.items()}
    order = list(dict.fromkeys(role for role, _, _ in _READ))
    best = max(order, key=lambda role: (points[role], -order.index(role)))
    return best if points[best] > 1 else ""
