"""Log entries as lines of JSON: whole, with the ids of what they are about, without secrets."""

from __future__ import annotations

import asyncio
import io
import json
import logging

from agentic.core.events.ids import trace_id
from agentic.log_context import about, of_effect, of_execution, of_thread
from bot.config.log_format import ERROR_CHARACTERS, FORM, MESSAGE_CHARACTERS, Entries, JsonEntries
from bot.rendering.secrets import Discretion

KEY = "ghp_AbCdEf1234567890AbCdEf1234567890AbCd"
HELD = "a-password-of-this-process"


def logger(formatter: logging.Formatter) -> tuple[logging.Logger, io.StringIO]:
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(formatter)
    log = logging.Logger("bot.test")
    log.addHandler(handler)
    return log, out


def test_an_entry_is_one_line_with_the_ids_of_what_it_is_about() -> None:
    log, out = logger(JsonEntries(Discretion()))
    log.info("before\n{forged}: %s", "a\u2028b")
    with of_thread("100"), of_execution("100", "x1"):
        of_effect("r1").run(log.warning, "asked")
        of_effect("r1.0").run(log.error, "called")
        with of_execution("100", "c1"):
            log.error("child")
        log.info("between")
    log.info("after")
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["message"] for line in lines] == [
        "before\n{forged}: a\u2028b",
        "asked",
        "called",
        "child",
        "between",
        "after",
    ]
    ids = [{name: line[name] for name in line if name not in ("time", "level", "logger", "message")} for line in lines]
    x1 = {"thread": "100", "execution": "x1", "trace_id": trace_id("x1")}
    assert ids == [
        {}, {**x1, "request": "r1"}, {**x1, "request": "r1", "call": "r1.0"}, {**x1, "execution": "c1"}, x1, {},
    ]  # fmt: skip
    assert (lines[1]["level"], lines[1]["logger"], lines[1]["time"][-6:]) == ("warning", "bot.test", "+00:00")


async def test_the_ids_go_with_the_tasks_that_are_begun() -> None:
    async def what() -> dict[str, str]:
        return dict(about())

    with of_execution("100", "x1"):
        one = asyncio.create_task(what(), context=of_effect("r1.2"))
        two = asyncio.create_task(what())
    assert (await one)["call"] == "r1.2"
    assert await two == {"thread": "100", "execution": "x1", "trace_id": trace_id("x1")}
    assert await what() == {}


def test_secrets_are_taken_out_of_both_forms_and_long_entries_are_cut() -> None:
    for formatter in (JsonEntries(Discretion((HELD,))), Entries(FORM, Discretion((HELD,)))):
        log, out = logger(formatter)
        log.warning("the token is %s, the password %s", KEY, HELD)
        try:
            raise OSError(f"{HELD} and {KEY}")
        except OSError:
            log.exception("it broke")
        assert KEY not in out.getvalue()
        assert HELD not in out.getvalue()
        assert out.getvalue().count("[redacted]") == 4
    log, out = logger(JsonEntries(Discretion()))
    try:
        raise OSError("y" * 2 * ERROR_CHARACTERS)
    except OSError:
        log.exception("x" * 2 * MESSAGE_CHARACTERS)
    line = json.loads(out.getvalue())
    assert (len(line["message"]), len(line["error"])) == (MESSAGE_CHARACTERS, ERROR_CHARACTERS)
