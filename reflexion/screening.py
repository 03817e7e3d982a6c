"""Why a lesson may not be used until a person has approved it.

A lesson stands in the instructions of later executions, and its words come from a model that read files, web pages
and output of commands.  So text that could steer somebody else's work (a command to run, an address to reach) or
that does not belong to everyone (a secret, a person's data) is kept apart.  It errs towards asking a person.
"""

from __future__ import annotations

import re

from reflexion.redaction import holds_secret

_ADDRESS = re.compile(
    r"""(?ix) \b[a-z][a-z0-9+.-]{1,15}://\S | \bwww\.\S
      | \b\d{1,3}(?:\.\d{1,3}){3}\b | \[[0-9a-f]*:[0-9a-f:]+\] | \blocalhost\b
      | \b[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|ai|co|app|xyz|info|me|ru|cn|gg|cloud|onion|example|invalid)\b
      | \b[a-z][\w.-]*:\d{2,5}\b"""
)
_PERSON = re.compile(r"(?i)\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+ | <[@#][!&]?\d+> | (?<!\w)\+\d[\d ()-]{7,}\d", re.VERBOSE)
_COMMAND = re.compile(
    r"""(?ix)
        \|\s*(?:ba|z|da|k)?sh\b | &&\s*\w | \$\( | (?:^|\s)\$\s\w | \brm\s+-\w | (?:^|\s)>{1,2}\s*/\S
      | \b(?:sudo|curl|wget|chmod|chown|eval|ssh|scp|nc|dd|mkfs|iptables|crontab|systemctl|kubectl|docker|podman
          |pip3?|pipx|uvx?|npm|npx|yarn|pnpm|apt|apt-get|brew|cargo|powershell|bash|zsh)\s+[-./\w$"']
      | \b(?:python3?|node|perl|ruby|sh)\s+(?:-\w|[\w./-]+\.(?:py|js|pl|rb|sh)\b)
      | \bgit\s+(?:push|reset|clean|checkout|clone|config|remote|rebase|commit|pull)\b
      | `[^`\n]*\s[^`\n]*`"""
)


def objections(text: str) -> tuple[str, ...]:
    """What in a lesson's text a person has to look at first; empty where there is nothing."""
    found = (
        ("a secret", holds_secret(text)),
        ("a person's data", bool(_PERSON.search(text))),
        ("an address", bool(_ADDRESS.search(text))),
        ("a command", bool(_COMMAND.search(text))),
    )
    return tuple(name for name, there in found if there)
