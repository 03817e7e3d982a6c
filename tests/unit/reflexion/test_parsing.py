"""What a model may write as a reflection."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflexion.errors import ReflectionUnusable
from reflexion.reflection.parse import FIELD_CHARACTERS, parse_insight, resting_on
from reflexion.reflection.reflector import reflection_instructions

GOOD = {
    "what_worked": "Reading the test first.",
    "what_failed": "pytest ended with AssertionError: 3 != 4.",
    "root_cause": "The range leaves out its end.",
    "strategy_change": "Include the end of the range and run the test again.",
    "key_insight": "The range of the parser is half open.",
}


@pytest.mark.parametrize(
    "wrapped",
    [
        "{}",
        "```json\n{}\n```",
        "Here it is:\n```\n{}\n```\nI hope it helps.",
        'I looked at {{"call": 1}} and {{x}}. {}',
        "\n\n{} trailing",
    ],
)
def test_an_object_is_found_in_fences_and_prose(wrapped: str) -> None:
    insight = parse_insight(wrapped.replace("{}", json.dumps(GOOD, indent=1)).replace("{{", "{").replace("}}", "}"))
    assert insight.model_dump() == GOOD


@pytest.mark.parametrize(
    "value",
    [
        "",
        "  ",
        "N/A",
        "n/a.",
        "None",
        "nothing",
        "unknown",
        "-",
        "TBD",
        "{what_failed}",
        "<fill in>",
        "…",
        None,
        7,
        ["a"],
    ],
)
def test_a_field_that_says_nothing_is_refused_by_name(value: object) -> None:
    with pytest.raises(ReflectionUnusable, match="root_cause"):
        parse_insight(json.dumps({**GOOD, "root_cause": value}))


def test_a_missing_field_is_refused_by_name() -> None:
    with pytest.raises(ReflectionUnusable, match="key_insight: Field required"):
        parse_insight(json.dumps({key: value for key, value in GOOD.items() if key != "key_insight"}))


@pytest.mark.parametrize("text", ["", "I could not say.", '{"what_worked": "cut of', "[1, 2]", "{" * 5_000])
def test_text_without_an_object_is_refused(text: str) -> None:
    with pytest.raises(ReflectionUnusable):
        parse_insight(text)


def test_long_fields_are_cut_and_secrets_taken_out() -> None:
    key = "sk-" + "a1B2" * 8
    insight = parse_insight(json.dumps({**GOOD, "what_failed": f"{key} " + "x" * 9_000, "extra": "ignored"}))
    assert len(insight.what_failed) <= FIELD_CHARACTERS
    assert key not in insight.what_failed


@given(st.text(max_size=300))
def test_any_text_gives_a_reflection_or_a_named_problem(text: str) -> None:
    with pytest.raises(ReflectionUnusable):
        parse_insight(text)


def test_the_instructions_are_sent_without_their_reasons() -> None:
    text = reflection_instructions()
    assert text.startswith("You review one attempt")
    assert "<!--" not in text
    assert all(name in text for name in GOOD)


RECORD = "TURN 2, shell: pytest -q\nfailed, exit code 1\nE  AssertionError: total.txt holds  2\n1 failed"


@pytest.mark.parametrize(
    "said",
    [
        'pytest printed "AssertionError: total.txt holds 2".',
        "`assertionerror: total.txt holds 2` came from the check.",
        "It ended with “AssertionError: … holds 2”.",
        'It has no quotation, and "short" is a name.',
    ],
)
def test_what_is_quoted_of_the_record_is_taken(said: str) -> None:
    insight = parse_insight(json.dumps({**GOOD, "what_failed": said}))
    assert resting_on(insight, RECORD) == insight


@pytest.mark.parametrize("field", ["what_failed", "root_cause"])
def test_a_quotation_that_the_record_does_not_hold_is_refused_by_name(field: str) -> None:
    insight = parse_insight(json.dumps({**GOOD, field: "It printed `KeyError: 'total' in row 3`."}))
    with pytest.raises(ReflectionUnusable, match=f"{field} quotes .*keyerror.* which the record does not hold"):
        resting_on(insight, RECORD)


def test_what_is_to_be_done_may_quote_what_nobody_has_run() -> None:
    insight = parse_insight(json.dumps({**GOOD, "strategy_change": "Run `python3 -m total --check` first."}))
    assert resting_on(insight, RECORD) == insight
