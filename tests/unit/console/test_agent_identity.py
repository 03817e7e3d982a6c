"""Where each part of a system prompt comes from, and whether it is what was sent."""

from __future__ import annotations

from dataclasses import replace

from agentic.core.events.execution_events import (
    ChosenLesson,
    Envelope,
    Event,
    Exposure,
    Policy,
    PolicyChanged,
    RoleTemplate,
    RuleFile,
    ToolRef,
    Triaged,
    WithheldLesson,
)
from bot.console.views import agent_identity
from bot.console.views.agent_identity import AgentIdentity, identity_of
from bot.console.views.sent_request import SentRequest
from tests.integration.console.logs import enveloped, started, triaged, turn
from tests.unit.console.sent_logs import SHELL, rebuilt, state_at

OWN = RoleTemplate(name="gardener", text="You tend the garden.")
TOLD = ChosenLesson(id="l1", kind="pitfall", text="Run the migrations.", why="it names migrations")
LEFT = ChosenLesson(id="r1", kind="reflection", text="Next time: read the log.", why="it failed")
LEFT_OUT = WithheldLesson(id="l2", arm="held_back", why="drawn")


def task(*more: Event, chosen: str = "") -> list[Event]:
    role = Triaged(
        talk=False, role="gardener", role_text=OWN.text, role_may=("execute",), role_refuses=("note",), why="it names a bed"
    )  # fmt: skip
    begun = started(
        own_roles=(OWN,), instructions="Be kind.", rule_files=(RuleFile(name="house", text="Tests first."),),
        lessons=(LEFT, TOLD), withheld=(LEFT_OUT,), role=chosen or "python-coder",
    )  # fmt: skip
    return [begun, role, *more]


async def identity(log: list[Event]) -> tuple[AgentIdentity, list[Envelope], SentRequest]:
    events, requests = await rebuilt(log)
    return identity_of(events, state_at(events, len(events)), requests[-1]), events, requests[-1]


async def test_each_part_of_the_prompt_is_named_with_where_it_comes_from() -> None:
    who, _, request = await identity(task(*turn(1)))
    assert who.verdict == agent_identity.STORED
    assert "\n\n".join(part.text for part in who.parts) == request.system
    assert {part.source: part.origin for part in who.parts} == {
        "product": "Built in: Threadwright's own words",
        "environment": "The sandbox, as it was when the task began",
        "tools": "Made of the tools of its role",
        "role": "Role file of this place: gardener",
        "rules": "Rule files: house (for this server)",
        "instructions": "Instructions of whoever runs this bot",
    }
    assert all(part.sent for part in who.parts)
    (choice,) = who.choices
    assert (choice.seq, choice.role, choice.by, choice.why) == (2, "gardener", "a rule", "it names a bed")
    assert [(tool.name, tool.does, tool.asks) for tool in who.tools] == [
        ("shell", "runs commands in the sandbox", (agent_identity.DESTROYS,))
    ]
    assert who.tools[0].description == SHELL.description
    assert who.not_in_role == ("note",)
    assert (who.left, who.lessons, who.withheld) == ((LEFT,), (TOLD,), (LEFT_OUT,))


async def test_a_prompt_of_another_version_or_one_that_is_gone_is_said() -> None:
    who, events, request = await identity(task(*turn(1)))
    now = state_at(events, len(events))
    older = replace(request, system=(request.system or "").replace("people see each step", "all see each step"))
    other = identity_of(events, now, older)
    assert (other.verdict, other.stored) == (agent_identity.OTHER, older.system)
    assert [part.source for part in other.parts if not part.sent] == ["product"]
    gone = identity_of(events, now, replace(request, system=None, tools=None))
    assert (gone.verdict, {part.sent for part in gone.parts}) == (agent_identity.GONE, {None})
    assert [tool.description for tool in gone.tools] == [""]
    before = identity_of(events[:2], state_at(events, 2), None)
    assert (before.verdict, before.parts) == (agent_identity.NOT_YET, tuple(replace(p, sent=None) for p in who.parts))


async def test_a_role_that_a_person_chose_and_raised_limits_are_told() -> None:
    raised = PolicyChanged(by="Ann", add_turns=5, add_usd=2)
    who, *_ = await identity(task(raised, *turn(1), chosen="gardener"))
    assert who.choices[0].by == "whoever asked for the task"
    limits = {limit.name: limit for limit in who.limits}
    assert (limits["Turns"].cap, limits["Turns"].added, limits["Turns"].used) == (25, 5, 1)
    assert (limits["US dollars"].cap, limits["US dollars"].used) == (7, 0.0031)
    assert [change.by for _, change in who.raises] == ["Ann"]


async def test_talk_is_told_its_own_words_and_has_no_tools() -> None:
    log = [started(), triaged().model_copy(update={"talk": True}), *turn(1)[:1]]
    who, *_ = await identity(log)
    assert [(part.source, part.sent) for part in who.parts] == [("product", True)]
    assert who.tools == ()
    assert who.role_origin == "No role"


def test_a_tool_is_told_by_what_it_does_and_when_a_person_is_asked_first() -> None:
    tools = (
        ToolRef(name="shell", outside="network"), ToolRef(name="write", permission="write"),
        ToolRef(name="ask_user", permission="read", asks=True), ToolRef(name="mull", permission="read", cognitive=True),
        ToolRef(name="network", permission="admin", outside="always"), ToolRef(name="build"),
        ToolRef(name="publish", permission="write", outside="remote"),
        ToolRef(name="search", permission="read", untrusted=True, private=True, outside="always"),
    )  # fmt: skip
    told = {}
    for reach in ((), ("api.example.com",)):
        events = enveloped("x", [started(tools=tools, exposure=Exposure(reach=reach)), triaged()])
        who = identity_of(events, state_at(events, 2), None)
        told = {tool.name: (tool.does, tool.asks) for tool in who.tools}
        assert told["shell"][1] == (agent_identity.DESTROYS, *([agent_identity.LEAVES] if reach else [])), reach
    assert told["write"] == ("changes files in the workspace", ())
    assert told["ask_user"] == ("asks a person and waits for the answer", ())
    assert told["mull"] == ("works with its own notes, changes no files", ())
    assert told["network"] == ("asks that commands may reach hosts", ("each time",))
    assert told["build"] == ("runs something in the sandbox", ())
    assert told["publish"][0] == "changes things outside of the workspace"
    assert told["search"] == (
        "looks, changes nothing; what it reads may be by strangers; what it reads is not public", (agent_identity.LEAVES,)
    )  # fmt: skip


def test_settings_are_told_as_people_read_them() -> None:
    events = enveloped("x", [started(policy=Policy(rule_of_two=("untrusted", "private"))), triaged()])
    told = dict(identity_of(events, state_at(events, 2), None).policy)
    assert (told["max tokens"], told["max usd"], told["attended"]) == ("2,000,000", "5", "yes")
    assert told["rule of two"] == "untrusted, private"
