"""Find secrets in a text by their form: the one table of tokens, keys and passwords.

A form is a fixed beginning (``ghp_``) and a pattern that is matched from there. Plain search for the beginnings is
cheap, so an ordinary text of a megabyte takes hundredths of a second, and every pattern is bounded: no text is slow. A
value without a form of its own counts where a name calls it a secret (``DB_PASSWORD=``) and it looks random. Hashes,
commit ids and UUIDs under other names do not count.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from agentic.text.first_look import FirstLook


class Form(NamedTuple):
    """A kind of secret: its beginning, and its pattern from there on."""

    kind: str
    begins: tuple[str, ...]
    pattern: re.Pattern[str]


class Secret(NamedTuple):
    """A range of a text, and the kind of secret in it."""

    start: int
    end: int
    kind: str


_FREE = r"(?<![A-Za-z0-9])"
"""A beginning does not count in the middle of a word."""

FORMS: tuple[Form, ...] = (
    Form("AWS key", ("AKIA", "ASIA", "ABIA", "ACCA"), re.compile(
        _FREE + r"A(?:KI|SI|BI|CC)A[A-Z0-9]{16}(?![A-Za-z0-9])(?<!EXAMPLE)")),
    Form("AWS key", ("ABSK",), re.compile(_FREE + r"ABSK[A-Za-z0-9+/]{100,300}={0,2}")),
    Form("GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), re.compile(_FREE + r"gh[pousr]_[A-Za-z0-9]{20,260}")),
    Form("GitHub token", ("github_pat_",), re.compile(_FREE + r"github_pat_[A-Za-z0-9_]{20,260}")),
    Form("GitLab token", ("glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glsoat-", "glcbt-", "glimt-", "gloas-", "glagent-"),
         re.compile(_FREE + r"gl(?:pat|dt|rt|ptt|ft|soat|cbt|imt|oas|agent)-[A-Za-z0-9_.-]{16,320}")),
    Form("Slack token", ("xox", "xapp-"),
         re.compile(_FREE + r"(?:xox[abeoprs]|xapp)(?:-|\.xox[bp]-)[A-Za-z0-9-]{10,400}")),
    Form("Slack webhook", ("hooks.slack.com/",), re.compile(
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,100}")),
    Form("Discord webhook", ("/api/webhooks/",), re.compile(r"/api/webhooks/[0-9]{15,22}/[A-Za-z0-9_-]{50,100}")),
    Form("Anthropic key", ("sk-ant-",), re.compile(_FREE + r"sk-ant-[A-Za-z0-9_-]{10,300}")),
    Form("OpenRouter key", ("sk-or-",), re.compile(_FREE + r"sk-or-[A-Za-z0-9_-]{16,300}")),
    Form("OpenAI key", ("sk-",), re.compile(
        _FREE + r"sk-(?:[A-Za-z0-9]{20,300}|(?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{16,400})")),
    Form("Stripe key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "pk_live_", "pk_test_"),
         re.compile(_FREE + r"[srp]k_(?:live|test)_[A-Za-z0-9]{10,260}")),
    Form("Stripe key", ("whsec_",), re.compile(_FREE + r"whsec_[A-Za-z0-9+/]{24,100}={0,2}")),
    Form("Google key", ("AIza",), re.compile(_FREE + r"AIza[A-Za-z0-9_-]{30,100}")),
    Form("Google key", ("GOCSPX-",), re.compile(_FREE + r"GOCSPX-[A-Za-z0-9_-]{20,100}")),
    Form("Google token", ("ya29.",), re.compile(_FREE + r"ya29\.[A-Za-z0-9_-]{20,2000}")),
    Form("signed token", ("eyJ",), re.compile(
        _FREE + r"eyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{8,8000}(?:\.[A-Za-z0-9_-]{0,2000})?")),
    Form("npm token", ("npm_",), re.compile(_FREE + r"npm_[A-Za-z0-9]{30,100}")),
    Form("PyPI token", ("pypi-",), re.compile(_FREE + r"pypi-[A-Za-z0-9_-]{30,1000}")),
    Form("RubyGems token", ("rubygems_",), re.compile(_FREE + r"rubygems_[a-f0-9]{48}")),
    Form("crates.io token", ("cio",), re.compile(_FREE + r"cio(?=[A-Za-z]{0,31}[0-9])[A-Za-z0-9]{32}(?![A-Za-z0-9])")),
    Form("Docker token", ("dckr_pat_", "dckr_oat_"), re.compile(_FREE + r"dckr_[po]at_[A-Za-z0-9_-]{20,100}")),
    Form("Hugging Face token", ("hf_",), re.compile(_FREE + r"hf_[A-Za-z0-9]{20,100}")),
    Form("Groq key", ("gsk_",), re.compile(_FREE + r"gsk_[A-Za-z0-9]{40,100}")),
    Form("xAI key", ("xai-",), re.compile(_FREE + r"xai-[A-Za-z0-9]{60,120}")),
    Form("Perplexity key", ("pplx-",), re.compile(_FREE + r"pplx-[A-Za-z0-9]{40,80}")),
    Form("Replicate token", ("r8_",), re.compile(_FREE + r"r8_[A-Za-z0-9]{37,40}")),
    Form("SendGrid key", ("SG.",), re.compile(_FREE + r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}")),
    Form("Twilio key", ("SK",), re.compile(_FREE + r"SK[0-9a-f]{32}(?![0-9A-Za-z])")),
    Form("DigitalOcean token", ("dop_v1_", "doo_v1_", "dor_v1_"), re.compile(_FREE + r"do[por]_v1_[a-f0-9]{64}")),
    Form("Shopify token", ("shpat_", "shpca_", "shppa_", "shpss_"), re.compile(_FREE + r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}")),
    Form("Square token", ("sq0atp-", "sq0csp-"), re.compile(_FREE + r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,60}")),
    Form("Telegram token", (":AA",), re.compile(r"(?<=[0-9]{8}):AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])")),
    Form("Atlassian token", ("ATATT3",), re.compile(_FREE + r"ATATT3[A-Za-z0-9_=-]{100,300}")),
    Form("Linear key", ("lin_api_",), re.compile(_FREE + r"lin_api_[A-Za-z0-9]{40}")),
    Form("Notion token", ("ntn_",), re.compile(_FREE + r"ntn_[A-Za-z0-9]{40,60}")),
    Form("Databricks token", ("dapi",), re.compile(_FREE + r"dapi[a-f0-9]{32}(?![a-z0-9])")),
    Form("Grafana token", ("glsa_",), re.compile(_FREE + r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}")),
    Form("Grafana token", ("glc_",), re.compile(_FREE + r"glc_[A-Za-z0-9+/]{32,400}={0,3}")),
    Form("New Relic key", ("NRAK-",), re.compile(_FREE + r"NRAK-[A-Z0-9]{27}")),
    Form("Postman key", ("PMAK-",), re.compile(_FREE + r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}")),
    Form("Vault token", ("hvs.", "hvb."), re.compile(_FREE + r"hv[sb]\.[A-Za-z0-9_-]{24,300}")),
    Form("Terraform token", (".atlasv1.",), re.compile(r"\.atlasv1\.[A-Za-z0-9_=-]{50,80}")),
    Form(
        "Azure key",
        ("AccountKey=", "SharedAccessKey="),
        re.compile(r"(?:Account|SharedAccess)Key=[A-Za-z0-9+/]{40,90}={0,2}"),
    ),
    Form("Azure key", ("Q~",), re.compile(r"(?<=[A-Za-z0-9_~.]{3}[0-9])Q~[A-Za-z0-9_~.-]{31,34}")),
    Form("Supabase key", ("sbp_", "sb_secret_"), re.compile(_FREE + r"sb(?:p|_secret)_[A-Za-z0-9_-]{20,100}")),
    Form("Tailscale key", ("tskey-",), re.compile(_FREE + r"tskey-[A-Za-z0-9-]{20,100}")),
    Form("Sentry token", ("sntrys_", "sntryu_"), re.compile(_FREE + r"sntry[su]_[A-Za-z0-9+/=_-]{40,500}")),
    Form("age key", ("AGE-SECRET-KEY-1",), re.compile(r"AGE-SECRET-KEY-1[A-Z0-9]{58}")),
)  # fmt: skip
"""All forms; at the same position an earlier one wins over a later one."""

_LOOKS = re.compile(r"\(\?<?[=!][^()]*\)")
_AT_MOST = re.compile(r",[0-9]+\}")


def _widened(form: Form) -> str:
    """A form's pattern without what it looks for around it and without upper bounds: it matches wherever the form does."""
    pattern = form.pattern.pattern
    begins = r"(?:\A|[^A-Za-z0-9])" if pattern.startswith(_FREE) else ""
    return begins + _AT_MOST.sub(",}", _LOOKS.sub("", pattern))


ANY_FORM = FirstLook("|".join(map(_widened, FORMS)))

_DISCORD = re.compile(r"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,60}")
_DISCORD_ID = re.compile(r"(?<![A-Za-z0-9])[MNO][A-Za-z0-9_-]{22,27}\Z")

_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = re.compile(r"[A-Za-z0-9+/]{32}")
_KEY_LINE = re.compile(r"[^A-Za-z0-9+/\n]{0,4}(?:[0-9]{1,6}[:\t-])?[ \t+>|-]{0,8}[A-Za-z0-9+/]{30,80}={0,2}\\?\r?\Z")
_KEY_CHARACTERS = 20_000

_IN_ADDRESS = re.compile(r"""://[^/\s:@"'<>]{0,200}:([^/\s@"'<>]{3,200})@""")

_NAMES = (
    ("password", "passw"), ("password", "passphrase"), ("token", "token"), ("key", "apikey"), ("key", "api_key"),
    ("key", "api-key"), ("key", "access_key"), ("key", "access-key"), ("key", "accesskey"), ("key", "private_key"),
    ("key", "signing_key"), ("key", "encryption_key"), ("key", "master_key"), ("value", "secret"), ("value", "credential"),
    ("login", '"auth"'),
)  # fmt: skip
"""Parts of names whose values are secret, in lower case."""
_GIVEN = re.compile(
    r"""[A-Za-z0-9_-]{0,40}\\?["']?\]?[ \t]{0,8}
        (?::[ \t]{0,4}[A-Za-z_][A-Za-z0-9_.|\[\]]{0,30}[ \t]{0,4}=|:=|=>|=|:)[ \t]{0,8}
        (?:\\?["'`](?P<quoted>[^"'`\n\\]{8,400})(?=\\?["'`])|(?P<bare>[^\s"'`,;(){}\[\]<>&|$\\]{8,400}+)(?![(\[{]))""",
    re.VERBOSE,
)
_SAID = (("bearer token", "bearer "), ("login", "basic "))
_SAID_VALUE = re.compile(r"[ \t]{0,4}(?P<bare>[A-Za-z0-9._~+/=-]{16,4000})")

_REFERENCE = re.compile(r"[$%{<*\[]|.{0,80}(?:\$\{|\{\{|\$\()")
_STANDS_IN = re.compile(r"(?i).{0,400}?(?:example|placeholder|change.?me|your[_-]|x{6}|\.\.\.|…)")
_OF_PARTS = re.compile(r"[-_./:@+=~,#\s]")
_WORDLIKE = re.compile(r"(?:[A-Za-z]{0,400}|[A-Za-z]{3,20}[0-9]{1,2}|[0-9]{0,400}|.{0,4})\Z")
_OF_CODE = re.compile(r"[A-Za-z_]{1,60}[0-9]{0,6}(?:\.[A-Za-z_]{1,60}(?:[0-9]{1,6}[A-Za-z_]{0,60})?){1,10}\Z")
"""Dotted names such as ``hashers.PBKDF2PasswordHasher``."""
_DIGIT = re.compile(r"[0-9]")
_LETTER = re.compile(r"[A-Za-z]")
LEAST, LEAST_OF_A_PASSWORD = 12, 8
"""Minimum characters of a value that counts because of its name."""
LEAST_BITS = 3.0
"""Minimum bits of information per character of a value that counts because of its name."""
_ORDINARY_WORDS = frozenset(
    {"password", "passwd", "pass", "secret", "token", "user", "test", "root", "postgres", "admin"}
)


def tokens_in(text: str) -> tuple[Secret, ...]:
    """Return the keys and tokens with a form of their own, in order, none within another."""
    return _apart(_by_form(text))


def secrets_in(text: str) -> tuple[Secret, ...]:
    """Return these and private keys, passwords in addresses, and values that a name calls a secret."""
    return _apart([*_key_blocks(text), *_by_form(text), *_in_addresses(text), *_by_name(text)])


def _apart(found: list[Secret]) -> tuple[Secret, ...]:
    """Sort the ranges; of overlapping ones the first stays."""
    kept: list[Secret] = []
    for secret in sorted(found, key=lambda each: each.start):  # stable: the table's order decides at the same place
        if not kept or secret.start >= kept[-1].end:
            kept.append(secret)
    return tuple(kept)


def _by_form(text: str) -> list[Secret]:
    found: list[Secret] = []
    for form in FORMS if ANY_FORM.finds(text) else ():
        for begin in form.begins:
            at = text.find(begin)
            while at >= 0:
                match = form.pattern.match(text, at)
                if match is not None:
                    found.append(Secret(at, match.end(), form.kind))
                at = text.find(begin, at + len(begin) if match is None else match.end())
    for dotted in _DISCORD.finditer(text):
        whose = _DISCORD_ID.search(text[max(0, dotted.start() - 29) : dotted.start()])
        if whose is not None:
            found.append(Secret(dotted.start() - len(whose[0]), dotted.end(), "Discord token"))
    return found


def _key_blocks(text: str) -> Iterator[Secret]:
    """Yield private keys in the form of files, also those whose beginning or end was cut off."""
    done, at = 0, text.find("PRIVATE KEY")
    last = _KEY_ENDS.search(text) if at >= 0 else None
    while at >= 0:
        begins = _KEY_BEGINS.search(text, max(done, at - 60), at + 30)
        ends = None if begins else _KEY_ENDS.search(text, max(done, at - 60), at + 30)
        if begins is not None:
            if last is not None and last.start() < begins.end():
                last = _KEY_ENDS.search(text, begins.end())
            near = last is not None and last.end() - begins.end() < _KEY_CHARACTERS
            end = last.end() if last is not None and near else _after_lines(text, begins.end())
            if _KEY_BODY.search(text, begins.end(), end):
                yield Secret(begins.start(), end, "private key")
                done = end
        elif ends is not None:
            start = _before_lines(text, ends.start(), done)
            if start < ends.start():
                yield Secret(start, ends.end(), "private key")
            done = ends.end()
        at = text.find("PRIVATE KEY", max(done, at + 1))


def _after_lines(text: str, at: int) -> int:
    """Return the end of the key's lines that follow."""
    end = at
    while (begin := text.find("\n", end, end + 200)) >= 0:
        stop = text.find("\n", begin + 1, begin + 200)
        if not _KEY_LINE.match(text[begin + 1 : stop if stop >= 0 else begin + 200]):
            break
        end = stop if stop >= 0 else min(len(text), begin + 200)
    return end


def _before_lines(text: str, at: int, least: int) -> int:
    """Return the beginning of the key's lines that precede."""
    start = at
    while start > least and text[start - 1] == "\n":
        begin = max(text.rfind("\n", max(least, start - 200), start - 1) + 1, least)
        if not _KEY_LINE.match(text[begin : start - 1]):
            break
        start = begin
    return start


def _in_addresses(text: str) -> Iterator[Secret]:
    at = text.find("://")
    while at >= 0:
        match = _IN_ADDRESS.match(text, at)
        if match is not None and not _stands_for_another(match[1]):
            yield Secret(*match.span(1), "password")
        at = text.find("://", at + 3)


def _by_name(text: str) -> Iterator[Secret]:
    small = text.lower()
    if len(small) != len(text):  # a letter that is two when it is small
        small = text.encode("ascii", "replace").decode().lower()
    for names, pattern in ((_NAMES, _GIVEN), (_SAID, _SAID_VALUE)):
        for kind, name in names:
            at = small.find(name)
            while at >= 0:
                after = at + len(name)
                match = None if _goes_on(text, after, name) else pattern.match(text, after)
                if match is not None:
                    value = match[match.lastgroup or 0]
                    if _is_drawn(value, kind):
                        yield Secret(*match.span(match.lastgroup or 0), kind)
                    after = after if " " in value else match.end()  # each run of characters is looked at once
                at = small.find(name, after)


def _goes_on(text: str, after: int, name: str) -> bool:
    """Whether a name is only the first part of a word, as in ``tokenizer``."""
    if name == "passw":
        return False
    after += text.startswith(("s", "S"), after)
    here, before = text[after : after + 1], text[after - 1]
    return here.isalpha() and before.isalpha() and here.isupper() == before.isupper()


def _stands_for_another(value: str) -> bool:
    return bool(_REFERENCE.match(value) or _STANDS_IN.match(value)) or value.lower() in _ORDINARY_WORDS


def _is_drawn(value: str, kind: str) -> bool:
    """Whether a value looks random: no words, no name, no path, no reference to another place."""
    least = LEAST_OF_A_PASSWORD if kind == "password" else LEAST
    if len(value) < least or " " in value or not _DIGIT.search(value) or not _LETTER.search(value):
        return False
    if (
        _OF_CODE.match(value)
        or _stands_for_another(value)
        or all(_WORDLIKE.match(part) for part in _OF_PARTS.split(value))
    ):
        return False
    return _bits(value) >= (LEAST_BITS if len(value) >= LEAST else 2.5)


def _bits(value: str) -> float:
    """Return Shannon's entropy in bits per character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())
