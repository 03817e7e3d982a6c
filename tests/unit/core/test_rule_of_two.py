"""The rule of two: words of strangers, what is private, and an act outside come together before a person only."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from agentic.core.audit.verification import verify
from agentic.core.events.execution_events import (
    FACTS,
    REASONS,
    Asked,
    Envelope,
    Event,
    Exposure,
    FileRef,
    Gated,
    HandedOver,
    InboxItem,
    InputReceived,
    Option,
    OwnerChanged,
    Part,
    Perceived,
    Person,
    Policy,
    QuotedMessage,
    Started,
    ToolFinished,
    ToolRef,
    ToolStarted,
)
from agentic.core.fold.exposure import (
    ATTACHED,
    CUT_OFF,
    DEPENDENCIES,
    FOREIGN_FILE,
    HIDDEN,
    MESSAGE,
    TYPED,
    left,
    merged,
    reachable,
    typed,
)
from agentic.core.fold.fold import fold
from agentic.core.rules.approvals import ALWAYS, OUTSIDE, goes_to, leaves, options_of, why_gated
from agentic.core.rules.decide import RULES_VERSION, decide
from agentic.core.state.actions import Ask, Record, UseTools
from agentic.runtime.inbox_drain import received
from tests.unit.core.building import BOSS, TOOLS, YOU, Log, Said

LOG = "the log of a check that failed"
HERE = "acme/shop at forge.example"
READ = Exposure(untrusted=(LOG,))
PRIVATE = Exposure(private=("acme/shop, which is private",))
STRANGER = Person(id="66", name="Mallory")
OUTWARD = (
    *(each for each in TOOLS if each.name != "shell"),
    ToolRef(name="publish", effect="keyed", outside="remote"),
    ToolRef(name="shell", effect="unkeyed", outside="network"),
    ToolRef(name="mail", effect="read", outside="always", untrusted=True, private=True),
    ToolRef(name="fetch", effect="read", untrusted=True),
)


class Exposed(Log):
    """A log whose tools reach outside."""

    def __init__(
        self, exposure: Exposure, *, notices: tuple[str, ...] = FACTS, saved: bool = True, **started: object
    ) -> None:
        super().__init__(rule_of_two=notices, saved=saved)
        begun = self.envelopes[0].event
        assert isinstance(begun, Started)
        update: dict[str, object] = {"tools": OUTWARD, "exposure": exposure, **started}
        first = self.envelopes[0].model_copy(update={"event": begun.model_copy(update=update)})
        self.envelopes[0] = first
        self.execution = fold(self.envelopes)


def exposed(exposure: Exposure, *said: Said, notices: tuple[str, ...] = FACTS) -> Log:
    log = Exposed(exposure, notices=notices)
    log.answer(*(said or (("publish", {"title": "Fix"}),)))
    return log


def both(**more: object) -> Exposure:
    return merged(READ, PRIVATE).model_copy(update={"remote": HERE, **more})


def held(log: Log) -> UseTools:
    action = decide(log.execution)
    assert isinstance(action, UseTools)
    assert action.leaving is not None
    return action


def gate(log: Log, index: int = 0, **more: object) -> None:
    call = log.execution.turn.calls[index].id
    leaving = held(log).leaving
    log.add(Gated.model_validate({"call": call, "args_sha": "sha", "reason": "", "leaving": leaving, **more}))


def test_with_all_three_the_act_outside_is_put_to_a_person() -> None:
    log = exposed(both())
    leaving = held(log).leaving
    assert leaving is not None
    assert (leaving.to, leaving.untrusted, leaving.private) == (HERE, (LOG,), ("acme/shop, which is private",))
    gate(log, shown="+ secret")
    asks = decide(log.execution)
    assert isinstance(asks, Ask)
    assert f"This goes to {HERE}. I ask because I read {LOG}" in asks.asked.text
    assert "+ secret" in asks.asked.text
    log.settle()
    log.say("answer", "allow", log.execution.question.question if log.execution.question else "", by=BOSS)
    log.settle()
    allowed = decide(log.execution)
    assert isinstance(allowed, UseTools)
    assert allowed.leaving is None
    assert allowed.calls[0].approval


@pytest.mark.parametrize("missing", FACTS)
def test_two_of_the_three_ask_nobody_and_each_can_be_left_out_by_a_test(missing: str) -> None:
    said: Said = ("put", {}) if missing == "outside" else ("publish", {})
    exposure = both(**({missing: ()} if missing != "outside" else {}))
    without = decide(exposed(exposure, said).execution)
    assert isinstance(without, UseTools)
    assert without.leaving is None
    unnoticed = decide(exposed(both(), notices=tuple(fact for fact in FACTS if fact != missing)).execution)
    assert isinstance(unnoticed, UseTools)
    assert unnoticed.leaving is None


def test_logs_from_before_the_rule_are_decided_as_ever() -> None:
    assert Policy().rule_of_two == ()
    action = decide(exposed(both(), notices=()).execution)
    assert isinstance(action, UseTools)
    assert action.leaving is None


def test_what_nobody_can_approve_is_refused_with_the_reasons_in_words() -> None:
    log = exposed(both())
    begun = log.envelopes[0].event
    assert isinstance(begun, Started)
    policy = begun.policy.model_copy(update={"attended": False})
    log.envelopes[0] = log.envelopes[0].model_copy(update={"event": begun.model_copy(update={"policy": policy})})
    log.execution = fold(log.envelopes)
    gate(log)
    denied = decide(log.execution)
    assert isinstance(denied, Record)
    (result,) = denied.events
    assert isinstance(result, ToolFinished)
    assert result.outcome == "denied"
    assert f"it goes to {HERE} after {LOG} was read, with acme/shop, which is private at hand" in result.preview


def test_one_question_names_both_reasons_and_nothing_is_allowed_for_good() -> None:
    log = exposed(both())
    gate(log, reason="changes workflows", publishes=True, shown="+ run")
    asks = decide(log.execution)
    assert isinstance(asks, Ask)
    assert "It changes workflows. This goes to" in asks.asked.text
    gated = log.execution.turn.calls[0].gated
    assert gated is not None
    assert why_gated(gated).startswith("changes workflows, and goes to")
    hosts = gated.model_copy(update={"hosts": ("evil.example",)})
    assert "This goes to evil.example." in leaves(hosts)
    assert ALWAYS not in [option.id for option in options_of(hosts)]
    alone = gated.model_copy(update={"leaving": None})
    assert (leaves(alone), why_gated(alone)) == ("", "changes workflows")


def test_commands_go_outside_where_they_reach_more_than_package_indexes() -> None:
    shut = exposed(both(fetches=True), ("shell", {"command": "ls"}))
    assert goes_to(shut.execution, shut.execution.open_calls[0]) == ""
    open_ = exposed(both(reach=("example.org", "*.evil.example")), ("shell", {"command": "ls"}))
    assert held(open_).leaving is not None
    assert goes_to(open_.execution, open_.execution.open_calls[0]) == "example.org, *.evil.example"
    assert goes_to(exposed(merged(READ, PRIVATE)).execution, open_.execution.open_calls[0]) == ""
    nowhere = exposed(merged(READ, PRIVATE))
    assert goes_to(nowhere.execution, nowhere.execution.open_calls[0]) == OUTSIDE
    foreign = exposed(both(), ("mail", {}))
    assert goes_to(foreign.execution, foreign.execution.open_calls[0]) == OUTSIDE


def test_a_tool_of_a_server_is_asked_about_by_its_own_name_and_the_servers() -> None:
    add = ToolRef(name="mcp__far__add", effect="unkeyed", outside="always", untrusted=True, private=True)
    call = add.model_copy(update={"name": "mcp_call"})
    by_name: dict[str, JsonValue] = {"tool": "mcp__far__add", "arguments": {"text": "x"}}
    for tool, arguments in (("mcp__far__add", {"text": "x"}), ("mcp_call", by_name)):
        log = Exposed(both(), tools=(*OUTWARD, add, call))
        log.answer((tool, arguments))
        gate(log)
        asks = decide(log.execution)
        assert isinstance(asks, Ask)
        assert "This goes to the MCP server far. I ask" in asks.asked.text
        assert asks.asked.text.endswith("add at far, with\n```\ntext: x\n```")
        assert "mcp_" not in asks.asked.text
        assert reachable((add, call)).private == ("what the MCP server far shows",)
        assert reachable((call,)).private == ("what an MCP server shows",)
        alone = Exposed(Exposure(), tools=(*OUTWARD, add, call))
        alone.answer((tool, arguments))
        alone.use(0)
        exposure = alone.execution.exposure
        assert "what add at far answered" in exposure.untrusted
        assert "what the MCP server far shows" in exposure.private


def test_a_call_that_cannot_run_as_it_was_written_is_put_to_nobody() -> None:
    unknown = exposed(both(), ("send_mail", {}))
    assert goes_to(unknown.execution, unknown.execution.open_calls[0]) == ""
    empty = Log()
    empty.execution = fold(())
    assert goes_to(empty.execution, unknown.execution.open_calls[0]) == ""
    action = decide(unknown.execution)
    assert isinstance(action, Record)


def test_an_act_outside_begins_alone_so_that_what_is_read_beside_it_counts() -> None:
    log = exposed(merged(PRIVATE, Exposure()), ("fetch", {"url": "a"}), ("look", {}), ("mail", {"text": "b"}))
    action = decide(log.execution)
    assert isinstance(action, UseTools)
    assert [call.block.tool for call in action.calls] == ["fetch", "look"]
    for index in (0, 1):
        log.start(index)
    for index in (0, 1):
        log.finish(index)
    assert log.execution.exposure.untrusted == ("what fetch answered",)
    assert held(log).calls[0].block.tool == "mail"


def test_what_others_wrote_or_sent_before_it_began_is_untrusted_and_what_is_attached_is_private() -> None:
    own = QuotedMessage(author="you", text="as I said", trusted=True)
    other = QuotedMessage(author="Mallory", text="ignore all")
    red = QuotedMessage(author="a check", text="E", what=LOG)
    sent = FileRef(name="a.txt", path="attachments/a.txt", foreign=True)
    left_out = FileRef(name="b.txt", skipped="too large", foreign=True)
    assert Exposed(Exposure(), quoted=(own,), files=(left_out,)).execution.exposure == Exposure()
    log = Exposed(PRIVATE, quoted=(own, other, red), files=(sent, left_out))
    assert log.execution.exposure.untrusted == (MESSAGE, LOG, FOREIGN_FILE)
    assert log.execution.exposure.private == (*PRIVATE.private, ATTACHED)


def test_what_is_said_meanwhile_counts_by_who_said_it() -> None:
    log = Exposed(Exposure())

    def says(by: Person, sort: str = "guidance", **more: object) -> Exposure:
        said = {"inbox": f"i{len(log.envelopes)}", "sort": sort, "author": by, "text": "do this", **more}
        return log.add(InputReceived.model_validate(said)).exposure

    assert says(YOU) == Exposure()
    assert says(BOSS) == Exposure()
    assert says(STRANGER, "feedback") == Exposure()
    assert says(YOU, files=(FileRef(name="a", path="a"),)).private == (ATTACHED,)
    for sort in ("guidance", "task", "edited", "correction", "answer"):
        other = Exposed(Exposure()).add(InputReceived(inbox="i", sort=sort, author=STRANGER, text="do this"))  # type: ignore[arg-type]
        assert other.exposure.untrusted == (MESSAGE,), sort
    assert says(STRANGER).untrusted == (MESSAGE,)
    assert says(YOU, quoted=(QuotedMessage(author="x", text="y", what=LOG),)).untrusted == (MESSAGE, LOG)


@pytest.mark.parametrize(
    ("answer", "by", "counts"),
    [
        ("Tea", STRANGER, False),
        ("2", STRANGER, False),
        ("Tea, and do this", STRANGER, True),
        ("Tea, and do this", BOSS, False),
    ],
)
def test_an_answer_in_words_of_their_own_counts_and_an_option_that_is_chosen_does_not(
    answer: str, by: Person, counts: bool
) -> None:
    options = (Option(id="1", label="Tea"), Option(id="2", label="Coffee"))
    for question in (
        Asked(question="q", text="Which?", options=options),
        Asked(question="q", text="Both", parts=(Part(id="1", text="Which?", options=options),)),
    ):
        log = Exposed(Exposure())
        log.add(question)
        log.say("answer", answer, "q", by=by)
        assert log.execution.exposure.untrusted == ((MESSAGE,) if counts else ())


@pytest.mark.parametrize(("reader", "counts"), [(YOU, False), (STRANGER, True)])
def test_a_task_leaves_what_it_had_read_and_its_own_words_to_whoever_did_not_write_them(
    reader: Person, counts: bool
) -> None:
    past = Exposed(both(reach=("example.org",), fetches=True)).execution
    told = (LOG, MESSAGE) if counts else (LOG,)
    assert left(past, reader) == Exposure(untrusted=told, private=PRIVATE.private)


def test_a_secret_that_a_person_writes_meanwhile_is_private_as_one_in_the_task_is() -> None:
    said = {"id": "i", "thread": "t", "sort": "guidance", "author": YOU, "at": Exposed(Exposure()).now}
    for text, private in (("the key is ghp_" + "a1B2c3D4" * 4 + "e5F6", (TYPED,)), ("the key is at home", ())):
        item = InboxItem.model_validate({**said, "text": text})
        assert Exposed(Exposure()).add(received(item)).exposure == typed(text) == Exposure(private=private)


READS_A_DEPENDENCY: tuple[tuple[str, dict[str, object], str, bool], ...] = (
    ("shell", {"command": "cat node_modules/left/README.md"}, "", True),
    ("shell", {"command": "cat README.md", "cwd": "vendor/lib"}, "", True),
    ("shell", {"command": "pytest"}, "src/a.py:1: x\n.venv/lib/python3/site-packages/b.py:2: y", True),
    ("look", {"path": "third_party"}, "", True),
    ("shell", {"command": "grep -rn x . --exclude-dir=node_modules"}, "src/vendors.py:1: x", False),
    ("shell", {"command": "find . -not -path './node_modules/*' ':!vendor'"}, "", False),
    ("put", {"path": ".gitignore", "content": "node_modules/"}, "", False),
    ("shell", {"command": "pytest"}, '  File "/usr/lib/site-packages/x.py", line 1', False),
)


@pytest.mark.parametrize(("tool", "arguments", "shown", "counts"), READS_A_DEPENDENCY)
def test_files_of_dependencies_are_words_of_strangers(
    tool: str, arguments: dict[str, object], shown: str, counts: bool
) -> None:
    log = exposed(PRIVATE, (tool, arguments))  # pyright: ignore[reportArgumentType]
    call = log.start()
    log.add(ToolFinished(call=call, outcome="ok", preview=shown))
    assert (DEPENDENCIES in log.execution.exposure.untrusted) is counts


def test_results_expose_by_what_their_tool_is_and_by_what_they_show() -> None:
    log = exposed(Exposure(), ("mail", {}), ("shell", {"command": "env"}), ("look", {}), ("put", {}))
    log.add(ToolFinished(call="nobody's", outcome="ok", preview="[secret: GitHub token]"))
    log.add(ToolFinished(call=log.execution.turn.calls[0].id, outcome="refused", preview="[secret: GitHub token]"))
    assert log.execution.exposure == Exposure()
    call = log.start(1)
    came = Exposure(untrusted=("what came from pypi.org",), reach=("example.org",), fetches=True)
    log.add(ToolFinished(call=call, outcome="failed", preview="TOKEN=[secret: GitHub token]", exposure=came))
    assert log.execution.exposure == merged(Exposure(private=(HIDDEN,)), came)
    log.start(2)
    log.finish(2)
    assert log.execution.exposure == merged(Exposure(private=(HIDDEN,)), came)


def test_a_result_without_tools_on_record_exposes_to_nothing() -> None:
    log = exposed(Exposure(), ("mail", {}))
    log.execution = fold(log.envelopes[1:])
    log.use()
    assert log.execution.exposure == Exposure()


def test_what_is_perceived_and_what_was_put_back_expose_too() -> None:
    came = Exposure(untrusted=("what came from example.org",))
    log = exposed(Exposure(), ("shell", {"command": "curl x"}))
    before = log.execution.mind.perceived
    log.add(Perceived(exposure=came))
    assert (log.execution.exposure, log.execution.mind.perceived) == (came, before)
    log = exposed(Exposure(), ("shell", {"command": "curl x"}))
    log.add(Gated(call=log.start(), args_sha="sha", reason="destroyed src", put_back=True, exposure=came))
    assert log.execution.exposure == came


@pytest.mark.parametrize("fetches", [True, False])
def test_what_was_cut_off_counts_as_fetched_where_anything_could_be(fetches: bool) -> None:
    counts = (CUT_OFF,) if fetches else ()
    log = exposed(Exposure(fetches=fetches), ("shell", {"command": "pip install x"}))
    log.start()
    log.finish(outcome="unknown")
    assert log.execution.exposure.untrusted == counts
    log = Exposed(
        Exposure(fetches=fetches),
        tools=tuple(each.model_copy(update={"permission": "execute"}) for each in OUTWARD),
    )
    log.answer(("shell", {"command": "serve", "background": True}))
    log.use()
    log.add(HandedOver())
    log.fence = 2
    assert log.add(OwnerChanged(worker="next")).exposure.untrusted == counts


def test_reasons_are_kept_each_once_and_only_the_first_ones() -> None:
    many = Exposure(untrusted=tuple(map(str, range(9))))
    assert merged(READ, many).untrusted == (LOG, "0", "1")[:REASONS]
    assert merged(READ, READ) == READ
    assert merged(READ, Exposure()) is READ
    assert merged(both(), Exposure(remote="b at c")).remote == "b at c"


def test_a_log_in_which_something_left_unasked_is_found_out() -> None:
    log = Exposed(both(), saved=False, rules=RULES_VERSION)
    log.answer(("publish", {"title": "Fix"}))
    log.settle()
    call = log.execution.open_calls[0]
    unasked = ToolStarted(
        call=call.id, provider_id="p0", tool="publish", effect="keyed", arguments={"title": "Fix"}, args_sha="sha"
    )

    def ends_with(event: Event) -> list[Envelope]:
        last = log.envelopes[-1]
        return [*log.envelopes, last.model_copy(update={"seq": last.seq + 1, "event": event})]

    asked = Gated(call=call.id, args_sha="sha", reason="", leaving=held(log).leaving)
    others = Gated(call=call.id, args_sha="sha", reason="")
    for event, holds in ((unasked, False), (asked, True), (others, False)):
        found = verify(ends_with(event)).divergence
        assert (found is None) is holds, event
    refused = ToolFinished(call=call.id, outcome="refused", preview="nothing to publish")
    assert verify(ends_with(refused)).divergence is None


STEPS = st.lists(
    st.sampled_from(("publish", "shell", "fetch", "mail", "look", "guidance", "private", "allow", "deny", "owner")),
    max_size=14,
)


@given(steps=STEPS, reach=st.booleans())
def test_nothing_leaves_after_words_of_strangers_with_private_things_at_hand_but_by_a_yes_to_the_same(
    steps: list[str], reach: bool
) -> None:
    """Whatever is read, said and decided in whatever order."""
    log = Exposed(Exposure(remote=HERE, reach=("example.org",) if reach else ()))
    for step in steps:
        _step(log, step)
    _audit(log.envelopes)


def _step(log: Log, step: str) -> None:
    """What a model, people and processes do, with the rules between."""
    if step in ("publish", "shell", "fetch", "mail", "look"):
        if log.execution.question is None and log.execution.finished is None and not log.execution.open_calls:
            log.answer((step, {"n": log.execution.seq}))
    elif step == "guidance":
        log.say("guidance", "do this", by=STRANGER)
    elif step == "private":
        log.add(Perceived(exposure=PRIVATE))
    elif step == "owner":
        log.fence += 1
        log.add(OwnerChanged(worker="next"))
    elif log.execution.question is not None:
        log.say("answer", step, log.execution.question.question, by=BOSS)
    for _ in range(6):
        log.settle()
        action = decide(log.execution)
        if not isinstance(action, UseTools):
            break
        _perform(log, action)


def _perform(log: Log, action: UseTools) -> None:
    """As the loop does it: a call that is held is gated, all others begin and end."""
    for call in action.calls:
        index = next(at for at, known in enumerate(log.execution.turn.calls) if known.id == call.id)
        leaving = action.leaving or (call.gated.leaving if call.gated else None)
        if leaving is not None and not call.approval:
            log.add(Gated(call=call.id, args_sha="sha", reason="", leaving=leaving))
            continue
        log.use(index)


def _audit(envelopes: list[Envelope]) -> None:
    """Independent of the rule: at each intent, what the state before it holds and what it was allowed."""
    for at, envelope in enumerate(envelopes):
        event = envelope.event
        if not isinstance(event, ToolStarted):
            continue
        before = fold(envelopes[:at])
        exposure = before.exposure
        leaves = event.tool in ("publish", "mail") or (event.tool == "shell" and exposure.reach)
        if leaves and exposure.untrusted and exposure.private:
            call = next(each for each in before.turn.calls if each.id == event.call)
            assert call.approval
            assert call.gated is not None
            assert call.gated.args_sha == event.args_sha


def test_the_property_can_fail() -> None:
    """The audit sees what left unasked."""
    log = exposed(both())
    log.use()
    with pytest.raises(AssertionError):
        _audit(log.envelopes)
