"""Why a lesson may not be used until a person has approved it.

A lesson stands in the instructions of later executions, and its words come from a model that read files, web pages
and output of commands.  So text that could steer somebody else's work (a command to run, an address to reach) or
that does not belong to everyone (a secret, a person's data) is kept apart.  It errs towards asking a person.
"""

from __future__ import annotations

import re
import unicodedata

from reflexion.redaction import holds_secret

_ADDRESS = re.compile(
    r"""(?ix) \b[a-z][a-z0-9+.-]{1,15}://\S | \bwww\.\S | \bhxxps? | \[\.\] | \(dot\)
      | \b\d{1,3}(?:\.\d{1,3}){3}\b | \[[0-9a-f]*:[0-9a-f:]+\] | \blocalhost\b
      | \b[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|ai|co|app|xyz|info|me|ru|cn|gg|cloud|onion|example|invalid)\b
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


def objections(text: str) -> tuple[str, ...]:
    """What in a lesson's text a person has to look at first; empty where there is nothing."""
    text = _as_read(text)
    found = (
        ("a secret", holds_secret(text)),
        ("a person's data", bool(_PERSON.search(text))),
        ("an address", bool(_ADDRESS.search(text))),
        ("a command", bool(_COMMAND.search(text))),
    )
    return tuple(name for name, there in found if there)


def _as_read(text: str) -> str:
    """The text as a person sees it: without signs that have no width, wide and styled letters as plain ones."""
    plain = unicodedata.normalize("NFKC", text)
    return "".join(sign for sign in plain if unicodedata.category(sign) != "Cf")
