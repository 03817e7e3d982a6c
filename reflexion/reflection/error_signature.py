"""By what a failure is recognised when it comes again: one line that says what went wrong, without what differs.

The end of a failing command's output mostly says only *that* something failed ("1 failed, 2 passed", ``make: *** Error 1``,
``npm ERR! Test failed``).  Such lines are the same for every failure and recognise none, so they are skipped: what counts
is the exception, the compiler's error, the panic.  An assertion is recognised with the test that it stands in.  Where only
lines of that kind are left there is no signature, and two failures stay two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentic.bash.runner_summaries import failed_test

CHARACTERS = 160
TELLING = re.compile(
    r"(?i)\berror\b|error:|exception|assert|\bfail|fatal|panic|traceback|not found|no such|denied|refused|cannot|unable"
    r"|undefined|unexpected|expected|timed? ?out|could(?: not|n't)|invalid|missing|segmentation fault|^E\s"
)
"""A line that may say what went wrong."""
_GENERIC = re.compile(
    r"""(?ix)^[\s=!_*✖✗#ℹ-]*+(?:
        (?:exit(?:ed)?|killed|raised|stopped|done)\b[^:]{0,40}$ | timed\ out\b[^:]{0,30}$
      | (?:fallback:\s*)?exit\ -?\d+\b.* | exit\ (?:status|code):?\ \S+$ | error:?$
      | (?:added|changed|modified|deleted|expected|came|still\ running|as\ expected|not\ as\ expected):.*
      | \(no\ (?:new\ )?output\)
      | (?:\d+\ (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun)\b[,\s]*+)+(?:in\b.*)?\W*+$
      | (?:short\ test\ summary\ info|failures?|errors?)[\s=_:—-]*$ | traceback\ \(most\ recent.* | stack\ backtrace:
      | interrupted:\ \S+\ errors?\ during\ collection.* | stopping\ after\b.* | collected\ .*
      | ran\ \S+\ tests?\b.* | failed\ \((?:failures|errors)=.* | failed$ | error\ \S+\.py$
      | g?make(?:\[\S+\])?:\ (?:\*\*\*|entering|leaving).* | ninja:\ build\ stopped.* | collect2:\ error:\ ld\ returned.*
      | npm\ (?:err!|error)\s*(?:test\ failed.*|code\ (?:\d+|elifecycle)|errno.*|lifecycle\ script.*|exit\ status.*
          |failed\ at.*
          |this\ is\ (?:probably\ )?not.*|a\ complete\ log.*|path\ .*|command\ .*|workspace\ .*|location\ .*
          |in\ workspace.*|(?=\S*@)\S+\ \S+:\ .*)?$
      | (?:error\s+)?(?:elifecycle\b|command\ failed\b).* | .*process\ completed\ with\ exit\ code.*
      | .*returned\ (?:a\ )?non-zero\ (?:exit\ status|code).* | .*(?:recipe|task)\ \S+\ failed\b.{0,300}exit\ code.* | tox:\ .*
      | test\ result:.* | test\ \S+\ \.\.\.\ failed | for\ more\ information\ about\ this\ error.* | caused\ by:$
      | (?:error|warning):\ (?:test\ failed|could\ not\ compile|aborting\ due|build\ failed|\S+\ targets?\ failed
          |\S+\ previous\ errors?
          |process\ didn't\ exit).* | note:.* | error:\ doctest\ failed.*
      | fail(?:\s+\S+)?(?:\s+[\d.]+m?s?|\s+\[[^\]]*\])?$ | exit\ status\ \S+ | ok\s+\S+\s.*
      | (?:tests?|test\ (?:suites|files)|suites|snapshots)\b:?\s+\d.* | (?:time|duration|start\ at):?\s+\d.*
      | ran\ all\ test\ suites.* | (?:fail|pass|cancelled|skipped|todo|tests|suites)\ \d+
      | \d+\ (?:passing|failing|pending)\b.*
      | found\ \S+\ errors?\b.* | \S+\ problems?\ \(.* | \d+\ errors?,.* | build\ failed.*
      | failure:\ build\ failed.* | execution\ failed\ for\ task.* | there\ were\ failing\ tests.*
    )"""
)
"""A line that says that something failed, and of every failure the same."""
_ASSERTED = re.compile(r"^E\s+\S")
_STRONG = re.compile(
    r"(?:^|[\s.(\[])(?:[A-Za-z_]\w*(?:Error|Exception|Exit|Interrupt|Warning|Fault)|Failed|KeyError)(?: \[\w+\])?:\s"
    r"|\bpanicked at\b|\bpanic: |\berror(?:\[\w+\]| [A-Z]{1,4}\d+)?: |\bfatal(?: error)?: "
    r"|^(?:(?=\S+[:(]\d)\S+\s+)?[A-Z]{1,4}\d{3,5}\b(?=[: \[])|undefined reference"
)
_SUMMED = re.compile(r"^(?:FAILED|ERROR)\s+(\S+?::\S+)(?:\s+-\s+(.+))?$")
_BESIDE = re.compile(
    r"^\s*(?:(?:duration_ms|location|failureType|type|name|code|stack|operator|expected|actual):|error: \|-?$|\.\.\.|.{0,3}$)"
)
"""What stands below a test's name and says nothing of its failure."""
_LOCATION = re.compile(
    r"^\s*(?:[\w.@+~-]*/)*[\w.@+~-]+\.\w+(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\))(?:\s*+[:-]\s++|\s++)(?=\S)"
)
_BARE = re.compile(
    r"(?i)^(?:AssertionError(?: \[\w+\])?:?\s*)?(?:assert(?:ion)?\b.*|[\w.]+(?:Error|Exception):?)?$|^AssertionError\b"
    r"|^Failed: |^expect\(|^expected values"
)
"""What an assertion says, or an exception without a word: only with its test it says what failed."""
_CODE_OR_NUMBER = re.compile(
    r"(?P<code>\b[A-Z]{1,4}\d{3,5}\b)|<n>|<hex>|<id>|\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
    r"|0x[0-9a-fA-F]+|\b[0-9a-fA-F]*\d[0-9a-fA-F]{6,}\b|\d+(?:\.\d+)*"
)
_PATH = re.compile(r"<tmp>|[A-Za-z]:(?:[\w.~-]*/)+[\w.-]*|(?<![\w.~-])(?:[\w.~-]*/)+[\w.-]*")


def recognised_by(lines: Sequence[str]) -> str:
    """What a failure's output says of it, normalised; '' where it only says that something failed."""
    said = [line for line in lines if not _GENERIC.match(line.replace("<n>", "0").replace("—", "***"))]
    found = _asserted(said) or _strong(said) or _summed(said) or _named(said) or _telling(said)
    return normalised(found)


def normalised(text: str) -> str:
    """An error text without what differs from run to run; codes of errors (E0382, TS2345) stay."""
    plain = _CODE_OR_NUMBER.sub(lambda found: found["code"] or "#", _PATH.sub("<path>", text))
    return " ".join(plain.split())[:CHARACTERS]


def _asserted(lines: Sequence[str]) -> str:
    """What pytest marks as the error: the first line of the last such block."""
    at = next((at for at in range(len(lines) - 1, -1, -1) if _ASSERTED.match(lines[at])), None)
    if at is None:
        return ""
    while at and lines[at - 1].startswith("E "):
        at -= 1
    return _with_its_test(lines, at, lines[at][1:].strip())


def _strong(lines: Sequence[str]) -> str:
    at = next((at for at in range(len(lines) - 1, -1, -1) if _is_strong(lines[at])), None)
    if at is None:
        return ""
    line = _LOCATION.sub("", lines[at]).strip()
    if line.endswith(":") and at + 1 < len(lines):
        line = f"{line} {lines[at + 1].strip()}"
    return _with_its_test(lines, at, line)


def _is_strong(line: str) -> bool:
    return bool(_STRONG.search(line)) and not (_SUMMED.match(line) or _BESIDE.match(line) or failed_test(line))


def _summed(lines: Sequence[str]) -> str:
    """The last failing test of pytest's summary, where no traceback was printed."""
    found = next((found for line in reversed(lines) if (found := _SUMMED.match(line))), None)
    if found is None:
        return ""
    name, message = found[1].rpartition("::")[2], found[2] or ""
    return f"{name}: {message}" if not message or _BARE.match(message) else message


def _named(lines: Sequence[str]) -> str:
    """The last failing test that is named, and what stands below its name."""
    at = next((at for at in range(len(lines) - 1, -1, -1) if failed_test(lines[at])), None)
    if at is None:
        return ""
    below = next((line for line in lines[at + 1 : at + 9] if not _BESIDE.match(line) and not failed_test(line)), "")
    return f"{failed_test(lines[at])}: {_LOCATION.sub('', below).strip()}"


def _telling(lines: Sequence[str]) -> str:
    """The last line that may say what went wrong; an only one says it whatever it holds."""
    found = next((line for line in reversed(lines) if TELLING.search(line)), "")
    return _LOCATION.sub("", found or (lines[0] if len(lines) == 1 else "")).strip()


def _with_its_test(lines: Sequence[str], at: int, line: str) -> str:
    if not _BARE.match(line):
        return line
    name = next((name for each in reversed(lines[:at]) if (name := failed_test(each))), "")
    summed = next((found[1].rpartition("::")[2] for each in reversed(lines) if (found := _SUMMED.match(each))), "")
    return f"{name or summed}: {line}" if name or summed else line
