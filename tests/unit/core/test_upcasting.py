"""What older versions wrote is read as today's; what only newer ones know is refused by name."""

from __future__ import annotations

import json

import pytest

from agentic.core.events.execution_events import (
    SCHEMA,
    Envelope,
    Event,
    Noted,
    Started,
)
from agentic.core.events.upcasting import (
    READING,
    UPCASTERS,
    Raw,
    ReaderVersion,
    ShapeUnknown,
    read_envelope,
    read_event,
)
from tests.unit.core.building import Log

OLD = {"kind": "noted", "words": "it is half open"}


def renamed(raw: Raw) -> Raw:
    """As a release might have to: the field was called otherwise before."""
    return {("text" if key == "words" else key): value for key, value in raw.items()}


def test_an_event_of_today_is_read_as_it_is() -> None:
    assert read_event('{"kind": "noted", "text": "a", "of_a_later_version": 1}') == Noted(text="a")


def test_an_older_event_is_brought_up_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(UPCASTERS, SCHEMA - 1, renamed)
    monkeypatch.setitem(UPCASTERS, SCHEMA - 2, lambda raw: {**raw, "words": f"{raw['words']}!"})
    assert read_event(json.dumps(OLD), SCHEMA - 1) == Noted(text="it is half open")
    assert read_event(json.dumps(OLD), SCHEMA - 2) == Noted(text="it is half open!")


def test_an_older_envelope_becomes_one_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(UPCASTERS, SCHEMA - 1, renamed)
    envelope = Log().envelopes[1].model_copy(update={"event": Noted(text="it is half open")})
    raw = {**json.loads(envelope.model_dump_json()), "event": OLD, "schema_version": SCHEMA - 1}
    assert read_envelope(json.dumps(raw)) == envelope
    assert read_envelope(envelope.model_dump_json()) == envelope
    del raw["schema_version"], raw["event"]["words"]
    with pytest.raises(ShapeUnknown, match="text"):
        read_envelope(json.dumps(raw))


@pytest.mark.parametrize(
    ("text", "version", "said"),
    [
        ('{"kind": "noted", "text": "a"}', SCHEMA + 1, f"version {SCHEMA + 1} of its shapes, this one knows {SCHEMA}"),
        ('{"kind": "noted", "text": "a"}', SCHEMA - 5, "never released"),
        ('{"kind": "of_a_later_version"}', SCHEMA, "of_a_later_version"),
        ('{"kind": "finished", "reason": "of_a_later_version", "answer": ""}', SCHEMA, "finished.reason"),
    ],
)
def test_what_is_not_known_here_is_refused_and_named(text: str, version: int, said: str) -> None:
    with pytest.raises(ShapeUnknown, match=said):
        read_event(text, version)


def test_events_say_which_reader_they_need() -> None:
    def aside(event: Event) -> bool:
        return isinstance(event, Started) and event.side

    log = Log(side=True)
    events = [envelope.event for envelope in log.envelopes]
    assert READING.needs(events) == 1
    assert ReaderVersion(3, ((2, aside), (3, lambda event: event.kind == "quarantined"))).needs(events) == 2
    assert ReaderVersion(3, ((2, aside),)).needs(events[1:]) == 1
    assert all(isinstance(envelope, Envelope) for envelope in log.envelopes)
