"""Why a lesson may not be used until a person has approved it.

A lesson stands in the instructions of later executions, and its words come from a model that read files, web pages
and output of commands.  So text that could steer somebody else's work (a command to run, an address to reach) or
that does not belong to everyone (a secret, a person's data) is kept apart.  It errs towards asking a person.
"""

from __future__ import annotations

import re

from reflexion.text.command_detection import holds_command
from reflexion.text.hidden_text import as_read, decoded
from reflexion.text.host_detection import names_host
from reflexion.text.resemblance import resembled
from reflexion.text.secrets import holds_secret

_ADDRESS = re.compile(
    r"""(?ix) \b[a-z][a-z0-9+.-]{1,15}://\S | \bwww\.\S | \bhxxps? | \[\.\] | \(dot\)
      | (?<![\w\\])\\\\[\w.-]+\\\w
      | \b\d{1,3}(?:\.\d{1,3}){3}\b | \[[0-9a-f]*:[0-9a-f:]+\] | \blocalhost\b
      | (?<!\w)!?\[[^\]\n]{1,500}\]\([^)\n]{1,500}\) | \b(?:javascript|vbscript|mailto|data:\w+/):?\S
        | (?<![:\w/])//[\w-]+\.\w
      | \b[a-z][\w.-]{0,250}:\d{2,5}\b"""
)
_PERSON = re.compile(
    r"""(?ix) \b[\w.+-]{1,100}@[\w-]{1,250}\.[\w-] | \b\w+\s*[(\[]\s*at\s*[)\]]\s*\w | <[@\#][!&]?\d+>
      | (?<!\w)\+\d[\d\ ()-]{7,}\d | \(\d{3}\)\s*\d{3}[-.\s]\d{4}\b | \b\d{3}[-.\ ]\d{3}[-.\ ]\d{4}\b
      | (?<![\w.,:/-])0(?=(?:[\ /-]?\d){7})\d{1,5}(?:[\ /-]\d{2,8}){1,5}\b
      | \b(?:call|dial|ring|phone|tel|telephone|mobile|cell|fax|whatsapp|sms)\b[^\n\d]{0,25}\d(?:[\ ()/.-]{0,2}\d){6,}
      | \b\d{3}-\d{2}-\d{4}\b | \b(?:\d{4}[\ -]?){3}\d{4}\b | (?-i:\b[A-Z]{2}\d{2}(?:\ ?[A-Z0-9]{4}){3,7}\b)
      | \b(?:passport|identity\ card|driving\ licence|driver's\ license|social\ security|tax|insurance)\s(?:number|no\.?
        |id)\b
          .{0,12}\w*\d
      | \b(?:born|birthday|date\ of\ birth|geburtsdatum)\b.{0,20}\d | \blives\s+(?:at|in)\s.{0,40}\d
      | (?-i:\b\d{1,4}[a-z]?\s(?:[A-Z][a-z]+\s){1,3}(?:Street|Road|Avenue|Lane|Drive|Square)\b)
      | (?-i:\b[A-Z]\w+(?:straße|strasse|gasse|platz)\s\d)"""
)
_TOLD_SECRET = re.compile(
    r"""(?ix) \b(?:pass(?:word|wd|phrase|code)|secret|token|pin|credentials?|api[\ _-]?key|access[\ _-]?key|passwort|kennwort
          |contraseña|contrasena|mot\ de\ passe)s?\b
        (?:\s+(?:for|of|to)\s+[\w'-]+(?:\s+[\w'-]+)?)?\s*(?:\b(?:is|are|was|ist|lautet|es|est)\b|[:=])\s*["']?
        (?!(?:a|an|the|its|their|one|what|where|when|why|how|not|no|never|always|also|only|still|already|just|then|now|in|on
            |at|by|from|to|for|of|with|without|as|too|so|than|under|inside|outside|longer|shorter|valid|invalid|empty
            |wrong|missing
            |optional|secret|public|private|there|here|none|null|undefined|unknown|up|out|old|new|due|part|case|both|all|any
            |first|last|next|string|text|bytes|int|integer|hex|base64|json|required|true|false)\b
          |\w+(?:ed|en|ing)\b|(?:read|set|kept|sent|put|lost|built|cut|spelt|known|shown|drawn|made)\b) [^\s"'.,;]
      | \b(?:password|passphrase|token|secret)\s+(?=[\w-]{0,60}\d)(?=[\w-]{0,60}[a-z])[\w-]{6}
      | \bkey\s+is\s+(?=[\w-]{0,60}\d)[\w-]{5}
      | \b(?=[\w-]{0,40}\d)[\w-]{4,60}\s+as\s+(?:the|its|a|your)\s+(?:password|passphrase|token|pin|secret)\b"""
)
_PLACE_OF_SECRETS = re.compile(
    r"""(?ix) (?:~|\$HOME|\$\{HOME\}|/root|/home/[\w.-]+|%USERPROFILE%)[/\\]\.\w | (?<![\w/.])~/\w
      | /etc/(?:g?shadow|passwd|sudoers|ssh|ssl/private|kubernetes|krb5) | /proc/(?:self|\d+)/environ | /var/run/secrets
      | \bid_(?:rsa|dsa|ecdsa|ed25519)\b | \bauthorized_keys\b
      | (?<!\w)\.(?:netrc|npmrc|pypirc|pgpass|htpasswd|git-credentials|dockercfg|my\.cnf|s3cfg|vault-token
          |(?:\w+_)?history)\b
      | (?<![\w*])\.env(?!\.(?:example|sample|template|dist|test))\b | (?<!\w)\.(?:ssh|aws|gnupg|kube|azure|docker)[/\\]
      | \$\{?\w*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)\b
      | \w\.(?:pem|p12|pfx|kdbx|jks|keystore|ovpn|ppk|asc)\b | \bkubeconfig\b | \bwallet\.dat\b
      | \b(?:credentials|client_secrets?|service[-_]account)\.(?:json|ya?ml|ini|csv)\b"""
)


_ORDER = re.compile(
    r"""(?ix)
        \b(?:ignore|disregard|forget|override)\s+(?:all|any|every|your|these|previous|prior|above|earlier
          |the\s+(?:previous|prior|above|earlier|system))\b.{0,30}\b(?:rules?|prompts?|guidelines?|polic\w+|orders?
          |messages?)\b
      | \b(?:ignor|disregard|forget|vergiss|olvid|oubli|overrid)\w*\b.{0,30}\b(?:instruc|instrucc|istruzion|anweisung
        |consigne)
      | (?:игнорир|забудь).{0,40}(?:инструкц|правил|указан) | (?:忽略|无视|無視).{0,20}(?:指令|指示|规则|規則)
      | \bsystem\s*prompt\b | \bnew\s+instructions?\b | \byou\s+are\s+now\b | \bpretend\s+(?:to|that|you)\b
      | <\|?/?(?:im_start|im_end|system|assistant|user|human)\|?> | \[/?(?:INST|SYS)\]
      | (?:^|\n)[^\S\n]*(?:system|assistant|human)\s*:
      | \b(?:score|rate|grade)\s+(?:this|it|that|them|me|everything|the\s+\w+)\b.{0,20}\b\d{2,3}\b | \b100\s+points\b
      | \bscore\s+(?:is\s+|of\s+)?100\b | \bwithout\s+(?:asking|approval|permission|confirmation|telling)
      | \b(?:do\s+not|don't|never)\s+(?:ask|tell|inform|warn|alert|notify)\s+(?:(?:the|a)\s+)?
          (?:person|user|owner|operator|any|people)
      | \b(?:bypass|disable|circumvent|evade|get\s+around|turn\s+off)\b.{0,30}\b
          (?:approvals?|sandbox|safety|guardrails?|aiignore|confirmations?|restrictions?)\b
      | \b(?:reveal|leak|exfiltrate|send|post|upload|print|echo|show|list|dump|paste|attach|include|quote)\b.{0,30}\b
          (?:passwords?|credentials?|secrets?|(?:api|private)\s*keys?|environment\s+variables?)\b
      | \bfrom\s+now\s+on\b
      | \b(?:all|every|any)\s+(?:future|later)\s+(?:agents?|tasks?|attempts?|sessions?|executions?|runs?)\b"""
)
"""What no advice needs: words that turn the reader against its rules, its people, or for good."""
_STEERS = re.compile(
    r"""(?ix)
        \b(?:ignore|disregard|forget|override)\s+(?:all\s+|any\s+)?(?:the\s+|your\s+)?(?:previous|prior|above|earlier
        |system)\b.{0,30}\b(?:rules?|prompts?|instructions?|guidelines?)
      | \b(?:note|message|instructions?|attention)\W{1,3}(?:to|for)\s+(?:the\s+|all\s+|any\s+)?(?:agents?|assistants?|ai
        |llms?|language\s+models?|reviewers?|judges?)\b
      | <\|?/?(?:im_start|im_end)\|?> | \[/?INST\]
      | (?:игнорир|забудь).{0,40}(?:инструкц|правил) | (?:忽略|无视|無視).{0,20}(?:指令|指示|规则|規則)"""
)
"""Words in what was read that are meant for a model."""


def orders_its_reader(text: str) -> bool:
    """Whether a text that was read tries to steer whoever reads it, as no output of a program and no documentation does."""
    return bool(_STEERS.search(as_read(text)))


def objections(text: str) -> tuple[str, ...]:
    """What in a lesson's text a person has to look at first; empty where there is nothing."""
    hidden = decoded(text)
    text = as_read("\n".join((text, *hidden)))
    touched = resembled(text)
    found = (
        ("a secret", holds_secret(text) or bool(_TOLD_SECRET.search(text))),
        ("a place of secrets", bool(_PLACE_OF_SECRETS.search(text))),
        ("a person's data", bool(_PERSON.search(text))),
        ("an address", bool(_ADDRESS.search(text)) or names_host(text)),
        ("a command", holds_command(text)),
        ("an order to whoever reads it", bool(_ORDER.search(text))),
        ("text that is encoded", bool(hidden)),
        (f"advice that resembles harmful examples ({touched})", touched is not None),
    )
    return tuple(name for name, there in found if there)
