"""What leaves: the schema as it is published, signatures by the standard, addresses, and what goes side by side."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentic.aws.aws_place import check_queue, region_of
from agentic.core.outside.outside_events import AnyOutsideEvent, TurnCompleted
from agentic.egress.host_list import private_places
from agentic.event_targets.event_schema import event_schema
from agentic.event_targets.event_target import waves
from agentic.event_targets.event_webhook import check_address, key_from, signature

DOCS = Path(__file__).parents[3] / "docs"


def turn(execution: str, seq: int) -> AnyOutsideEvent:
    """An event to be delivered."""
    return TurnCompleted(
        key=f"{execution}/{seq}", execution=execution, thread="100", parent="", seq=seq, at=datetime(2026, 1, 1, tzinfo=UTC),
        turn=seq, confidence=60, status="progressing",
    )  # fmt: skip


def test_the_published_schema_is_that_of_the_types() -> None:
    how = "run python -m agentic.event_targets.event_schema > docs/outside-events.schema.json"
    assert (DOCS / "outside-events.schema.json").read_text("utf-8") == event_schema(), how


def test_the_user_guide_names_every_event_of_the_schema() -> None:
    guide = (DOCS / "user-guide.md").read_text("utf-8")
    kinds = json.loads(event_schema())["discriminator"]["mapping"]
    assert len(kinds) == 11
    assert [kind for kind in kinds if f"`{kind}`" not in guide] == []


def test_a_signature_is_that_of_the_standard() -> None:
    """The example of the specification's libraries."""
    key = key_from("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    signed = signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_short", "whsec_!!", b64encode(bytes(32)).decode(), "a" * 40])
def test_a_secret_of_another_form_is_refused_with_how_to_make_one(secret: str) -> None:
    with pytest.raises(ValueError, match="openssl rand"):
        key_from(secret)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("http://example.org/x", "in the open"), ("https://example.org:8443/x", "THREADWRIGHT_NETWORK_PRIVATE"),
        ("https://127.0.0.1/x", "hosts are named"), ("https://2130706433/x", "hosts are named"), ("example.org", "https://"),
        ("ftp://example.org", "https://"), ("https://me:pw@example.org/x", "password"), ("https://[::1/x", "https://"),
        ("http://intern.corp:8080/x", "in the open"), ("https://example.org:99999/", "https://"),
    ],
)  # fmt: skip
def test_an_address_that_no_event_could_be_sent_to_is_refused(address: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        check_address(address, private_places("intern.corp"))


@pytest.mark.parametrize(
    "address", ["https://example.org/hooks?of=me", "http://intern.corp/x", "https://hooks.corp:8443/"]
)
def test_other_addresses_are_taken(address: str) -> None:
    check_address(address, private_places("intern.corp hooks.corp:8443"))


def test_an_address_of_a_queue_is_known_by_its_form_and_names_its_region() -> None:
    amazon = "https://sqs.eu-central-1.amazonaws.com/123456789012/events.fifo"
    check_queue(amazon)
    check_queue("http://127.0.0.1:4566/000000000000/events")
    assert (region_of(amazon), region_of("http://127.0.0.1:4566/000000000000/events")) == ("eu-central-1", "")
    for wrong in ("events", "arn:aws:sqs:eu-central-1:123456789012:events", "https://example.org/events"):
        with pytest.raises(ValueError, match="a queue's URL"):
            check_queue(wrong)


def test_no_two_events_of_an_execution_go_side_by_side_and_each_keeps_its_order() -> None:
    events = [turn("x1", 1), turn("x1", 2), turn("x2", 1), turn("x3", 1), turn("x1", 3), turn("x2", 2)]
    assert [[event.key for event in wave] for wave in waves(events, 2)] == [
        ["x1/1", "x2/1"], ["x1/2", "x3/1"], ["x1/3", "x2/2"],
    ]  # fmt: skip
