"""A record of `threadwright doctor --live` holds kinds, and nothing of what they were kinds of."""

from __future__ import annotations

import io
import json

from bot.cli.live.wire_record import WireRecord, route_of

CANARY = "c4n4ry-9f8e7d6c5b4a"


def test_nothing_of_a_canary_reaches_a_record_wherever_it_stands() -> None:
    out = io.StringIO()
    record = WireRecord(out, [CANARY])
    everywhere = {
        "token": CANARY, CANARY: "as a name", "state": CANARY, "type": CANARY, "content": f"say {CANARY}",
        "list": [CANARY, {"id": CANARY}], "nested": {"authorization": f"Bearer {CANARY}"}, "url": f"https://x/{CANARY}",
    }  # fmt: skip
    body = json.dumps(everywhere).encode()
    headers = {
        "Content-Type": "application/json",
        "X-RateLimit-Bucket": CANARY,
        "X-RateLimit-Scope": CANARY,
        "Set-Cookie": CANARY,
    }
    record.exchange("POST", f"/webhooks/123456789012345678/{CANARY}?token={CANARY}", body, 200, headers, body)
    stream = {"Content-Type": "text/event-stream; charset=utf-8"}
    record.exchange("POST", f"/{CANARY}", CANARY.encode(), 200, stream, b"data: " + body + b"\n\ndata: [DONE]\n\n")
    record.event("MESSAGE_CREATE", everywhere)
    text = out.getvalue()
    assert len(text.splitlines()) == 3
    assert CANARY not in text
    assert "say" not in text
    assert '"/webhooks/{}/{}"' in text


def test_a_record_keeps_kinds_and_gives_an_id_one_number_throughout() -> None:
    out = io.StringIO()
    record = WireRecord(out, ())
    sent = {"id": "876543210987654321", "at": "2026-11-28T10:00:00+00:00", "n": 4.5, "type": 3, "ok": True, "no": None}
    record.exchange(
        "GET", "/channels/876543210987654321", json.dumps(sent).encode(), 200, {}, b'{"id": "876543210987654321"}'
    )
    line = json.loads(out.getvalue())
    first, time = "100000000000000000", "2000-01-01T00:00:00+00:00"
    assert line["request"] == {"id": first, "at": time, "n": 0, "type": 3, "ok": True, "no": None}
    assert line["body"] == {"id": first}
    assert line["route"] == "/channels/{}"


def test_an_address_keeps_only_words_that_every_address_has() -> None:
    assert route_of("/repos/ada/secret-name/pulls/7?state=open&head=ada:x") == "/repos/{}/{}/pulls/{}"
    assert route_of("/channels/1/messages/2/reactions/%F0%9F%9B%91/@me") == "/channels/{}/messages/{}/reactions/{}/@me"
