"""A wire that has seen a conversation grow says the same as one that sees it for the first time."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from agentic.models.anthropic.request import AnthropicWire
from agentic.models.openai.chat_request import ChatWire
from agentic.models.requests.call_pairing import call_ids, paired
from agentic.models.requests.wire_cache import Grown
from agentic.ports.runtime import Message, Prompt
from tests.unit.models.test_repair import WILD

LENGTHS = st.lists(st.integers(0, 8), min_size=1, max_size=6)


class Heard:
    """What was taken, in order."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.turns = 0

    def take(self, messages: Sequence[Message]) -> None:
        self.messages += messages
        self.turns += len(messages)


@given(WILD, LENGTHS, st.booleans())
def test_a_history_that_grew_or_was_cut_is_sent_as_one_seen_for_the_first_time(
    wild: list[Message], lengths: list[int], put_right: bool
):
    messages = tuple(paired(wild)) if put_right else tuple(wild)
    direct, native = AnthropicWire(), ChatWire()
    for length in (*sorted(lengths), *lengths):
        history = messages[:length]
        prompt = Prompt("system", (), history, "now")
        assert direct.request("m", prompt, max_tokens=1, stream=False) == AnthropicWire().request(
            "m", prompt, max_tokens=1, stream=False
        )
        assert native.rows(prompt) == ChatWire().rows(prompt)
        assert direct.call_ids(history) == native.call_ids(history) == call_ids(history)


@given(WILD, LENGTHS)
def test_what_is_kept_is_made_of_exactly_the_history_that_was_asked_for(wild: list[Message], lengths: list[int]):
    grown: Grown[Heard] = Grown(Heard)
    for length in lengths:
        history = tuple(wild[:length])
        made = grown.of(history)
        assert all(one is other for one, other in zip(made.messages, history, strict=True))


def test_a_history_that_only_grows_is_taken_once():
    grown: Grown[Heard] = Grown(Heard)
    messages = tuple(Message("user", str(number)) for number in range(50))
    for length in range(1, 51):
        assert grown.of(messages[:length]).turns == length


def test_conversations_beyond_the_capacity_are_let_go_of_oldest_first():
    grown: Grown[Heard] = Grown(Heard, capacity=5_000)
    histories = [(Message("user", f"{number} " + "x" * 1_000),) for number in range(20)]
    first = grown.of(histories[0])
    for history in histories:
        grown.of(history)
    assert 1 < len(grown) < 20
    last = grown.of(histories[-1])
    assert grown.of(histories[-1]) is last
    assert grown.of(histories[0]) is not first
