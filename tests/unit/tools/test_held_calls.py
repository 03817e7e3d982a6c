"""What of a call is put to a person: once for all its reasons, with what would leave, and never what cannot be done."""

from __future__ import annotations

from agentic.core.events.execution_events import CallBlock, Departure, Gated, ToolFinished
from agentic.core.state.execution import Call, Execution
from agentic.ports.runtime import Prepared, Preview, Refused
from agentic.runtime import effects

BLOCK = CallBlock(provider_id="p", tool="publish", arguments={"title": "Fix"})
PREPARED = Prepared({"title": "Fix"}, "sha", "keyed")
LEAVING = Departure(to="acme/shop at github.com", untrusted=("the log of a check",), private=("attached files",))


def test_a_call_that_leaves_is_held_with_what_would_leave_and_the_reasons_of_its_own() -> None:
    call = Call("c", BLOCK)
    gated = effects.held(call, PREPARED, "old", LEAVING, Preview("+ a", "new", "changes workflows"))
    assert isinstance(gated, Gated)
    assert (gated.shown, gated.state_sha, gated.reason, gated.leaving) == ("+ a", "new", "changes workflows", LEAVING)
    assert (gated.publishes, gated.put_back) == (True, False)
    assert effects.leaving_of(Call("c", BLOCK, gated=gated), None) == LEAVING
    assert effects.leaving_of(call, None) is None


def test_what_could_not_be_done_is_put_to_nobody() -> None:
    seen = effects.held(Call("c", BLOCK), PREPARED, "", LEAVING, Refused("There is nothing to publish."))
    assert seen == ToolFinished(call="c", outcome="refused", preview="There is nothing to publish.")


def test_a_publication_whose_commits_changed_is_shown_anew_before_it_is_asked_about_again() -> None:
    before = Gated(call="c", args_sha="sha", reason="changes workflows", put_back=True, publishes=True, shown="+ seen")
    call = Call("c", BLOCK, gated=before)
    assert effects.is_previewed(call, None)
    again = effects.held(call, PREPARED, "", None, Preview("+ unseen", "newer", "changes workflows"))
    assert isinstance(again, Gated)
    assert (again.shown, again.state_sha, again.publishes, again.put_back) == ("+ unseen", "newer", True, False)
    plain = Gated(call="c", args_sha="sha", reason="deletes src", put_back=True)
    assert not effects.is_previewed(Call("c", BLOCK, gated=plain), None)


def test_a_yes_to_what_leaves_is_no_yes_to_what_is_destroyed() -> None:
    seen = Gated(call="c", args_sha="sha", reason="deletes src", state_sha="s", losses=("1", "2"))
    leaves = Gated(call="c", args_sha="sha", reason="", leaving=LEAVING)
    for gated, shown in ((seen, {"1", "2"}), (leaves, None)):
        permitted = effects.permitted(Execution(), Call("c", BLOCK, gated=gated), PREPARED, "q1")
        assert (permitted.approved, permitted.shown, permitted.unkept) == (True, shown, False)
