"""Why a lesson may not be used until a person has approved it.

A lesson stands in the instructions of later executions, and its words come from a model that read files, web pages
and output of commands.  So text that could steer somebody else's work (a command to run, an address to reach) or
that does not belong to everyone (a secret, a person's data) is kept apart.  It errs towards asking a person.
"""

from __future__ import annotations

import re

from reflexion.legible import as_read, decoded
from reflexion.redaction import holds_secret

_ADDRESS = re.compile(
    r"""(?ix) \b[a-z][a-z0-9+.-]{1,15}://\S | \bwww\.\S | \bhxxps? | \[\.\] | \(dot\)
      | \b\d{1,3}(?:\.\d{1,3}){3}\b | \[[0-9a-f]*:[0-9a-f:]+\] | \blocalhost\b
      | \b[\w-]+(?:[.。][\w-]+)*[.。](?:com|org|net|io|dev|ai|co|app|xyz|info|me|ru|cn|gg|cloud|onion|example|invalid
          |co[.]uk|eu|tk|pw|biz|ly|online)\b
      | (?<!\w)!?\[[^\]\n]+\]\([^)\n]+\) | \b(?:javascript|vbscript|mailto|data:\w+/):?\S | (?<![:\w/])//[\w-]+\.\w
      | \b[\w-]+(?:\.[\w-]+)*\.[a-z]{2}/\w
      | \b[a-z][\w.-]*:\d{2,5}\b"""
)
_PERSON = re.compile(
    r"""(?ix) \b[\w.+-]+@[\w-]+(?:\.[\w-]+)+ | \b\w+\s*[(\[]\s*at\s*[)\]]\s*\w | <[@\#][!&]?\d+>
      | (?<!\w)\+\d[\d\ ()-]{7,}\d | \(\d{3}\)\s*\d{3}[-.\s]\d{4}\b | \b\d{3}[-.]\d{3}[-.]\d{4}\b
      | \b\d{3}-\d{2}-\d{4}\b | \b(?:\d{4}[\ -]?){3}\d{4}\b | (?-i:\b[A-Z]{2}\d{2}(?:\ ?[A-Z0-9]{4}){3,7}\b)"""
)
_COMMAND = re.compile(
    r"""(?ix)
        \|\s*(?:ba|z|da|k)?sh\b | \binto\s+(?:ba|z|da|k)?sh\b | &&\s*\w | \$\( | (?:^|\s)\$\s\w | \brm\s+-\w
      | (?:^|\s)>{1,2}\s*[~/]\S | \bkill(?:all)?\s+-\w | \w\s+--?[a-z][\w-]*
      | \b(?:sudo|curl|wget|chmod|chown|ssh|scp|nc|dd|mkfs|iptables|crontab|systemctl|kubectl|pipx|uvx?|npx
          |powershell|bash|zsh)\s+[-./\w$"']
      | \bpip3?\s+(?:install|uninstall|download|wheel)\b
      | \b(?:npm|yarn|pnpm)\s+(?:i|install|ci|add|run|exec|start|test|publish|update|link|audit)\b
      | \b(?:docker|podman)\s+(?:run|exec|build|pull|push|compose|rm|rmi|stop|start|cp|login|load|save)\b
      | \b(?:apt|apt-get|brew|cargo|gem|go|dnf|yum|apk)\s+(?:install|update|upgrade|remove|add|run|build|publish|get)\b
      | \b(?:python3?|node|perl|ruby|sh)\s+(?:-\w|[\w./-]+\.(?:py|js|pl|rb|sh)\b)
      | (?:^|\s)\.{0,2}/[\w./-]+\.(?:sh|py|pl|rb|js|bat|ps1)\b | \b(?:run|execute|start|source)\s+\.{0,2}/\w
      | \bgit\s+(?:push|reset|clean|checkout|clone|config|remote|rebase|commit|pull)\b
      | \b(?:eval|exec|system|popen|__import__)\s*\( | \bsubprocess\.\w | \bshell\s*=\s*true\b | \biex\b
      | (?-i:\b(?:Invoke|Start|New|Set|Remove|Get|Add)-[A-Z]\w+)
      | \b(?:drop|truncate)\s+(?:table|database|schema)\b | \bdelete\s+from\s+\w
      | `[^`\n]*\s[^`\n]*`"""
)


_ORDER = re.compile(
    r"""(?ix)
        \b(?:ignore|disregard|forget|override)\s+(?:all|any|every|your|these|previous|prior|above|earlier
          |the\s+(?:previous|prior|above|earlier|system))\b.{0,30}\b(?:rules?|prompts?|guidelines?|polic\w+|orders?|messages?)\b
      | \b(?:ignor|disregard|forget|vergiss|olvid|oubli|overrid)\w*\b.{0,30}\b(?:instruc|instrucc|istruzion|anweisung|consigne)
      | (?:игнорир|забудь).{0,40}(?:инструкц|правил|указан) | (?:忽略|无视|無視).{0,20}(?:指令|指示|规则|規則)
      | \bsystem\s*prompt\b | \bnew\s+instructions?\b | \byou\s+are\s+now\b | \bpretend\s+(?:to|that|you)\b
      | <\|?/?(?:im_start|im_end|system|assistant|user|human)\|?> | \[/?(?:INST|SYS)\]
      | (?:^|\n)\s*(?:system|assistant|human)\s*:
      | \b(?:score|rate|grade)\s+(?:this|it|that|them|me|everything|the\s+\w+)\b.{0,20}\b\d{2,3}\b | \b100\s+points\b
      | \bscore\s+(?:is\s+|of\s+)?100\b | \bwithout\s+(?:asking|approval|permission|confirmation|telling)
      | \b(?:do\s+not|don't|never)\s+(?:ask|tell|inform|warn|alert|notify)\s+(?:(?:the|a)\s+)?
          (?:person|user|owner|operator|any|people)
      | \b(?:bypass|disable|circumvent|evade|get\s+around|turn\s+off)\b.{0,30}\b
          (?:approvals?|sandbox|safety|guardrails?|aiignore|confirmations?|restrictions?)\b
      | \b(?:reveal|leak|exfiltrate|send|post|upload)\b.{0,30}\b
          (?:passwords?|credentials?|secrets?|api\s*keys?|environment\s+variables?)\b
      | \bfrom\s+now\s+on\b
      | \b(?:all|every|any)\s+(?:future|later)\s+(?:agents?|tasks?|attempts?|sessions?|executions?|runs?)\b"""
)
"""What no advice needs: words that turn the reader against its rules, its people, or for good."""


def objections(text: str) -> tuple[str, ...]:
    """What in a lesson's text a person has to look at first; empty where there is nothing."""
    hidden = decoded(text)
    text = as_read("\n".join((text, *hidden)))
    found = (
        ("a secret", holds_secret(text)),
        ("a person's data", bool(_PERSON.search(text))),
        ("an address", bool(_ADDRESS.search(text))),
        ("a command", bool(_COMMAND.search(text))),
        ("an order to whoever reads it", bool(_ORDER.search(text))),
        ("text that is encoded", bool(hidden)),
    )
    return tuple(name for name, there in found if there)
