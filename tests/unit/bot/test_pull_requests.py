"""What follows from what a host says of a pull request, what a task's text names, and which files wait for a person."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentic.core.events.execution_events import PullRequestOpened
from agentic.ports.forge import PullRequest, Remark, RemoteCheck
from agentic.remotes.publication_rules import powerful
from agentic.remotes.pull_request_text import EDITED, UNMARKED, Merged, marked, merged
from bot.outbound.live.pull_messages import pull_message
from bot.retention.expiry import forget_logs
from bot.workspace.pull_requests import ATTEMPTS, Change, PullRow, PullRows, Sighting, judged
from bot.workspace.repositories import Named, named_in
from tests.stores import fresh_store

ROW = PullRow(
    key="h/ada/shop/3", thread="1", host="h", repository="ada/shop", number=3, url="u", title="t", branch="b", base="main",
    person="1",
)  # fmt: skip


def seen(sha: str = "s1", state: str = "open", checks: str = "", *remarks: Remark) -> Sighting:
    """A sighting; each letter of ``checks`` is one: passed, failed or running."""
    states = {"p": "passed", "f": "failed", "r": "running"}
    made = tuple(RemoteCheck(f"c{n}", states[letter]) for n, letter in enumerate(checks))  # type: ignore[arg-type]
    pull = PullRequest(3, "u", state, "t", "b", "main", sha)  # type: ignore[arg-type]
    return Sighting(pull, made, remarks, "bot")


def after(*sightings: Sighting) -> tuple[PullRow, list[Change]]:
    row, changes = ROW, list[Change]()
    for sighting in sightings:
        changes.append(judged(row, sighting))
        row = changes[-1].row
    return row, changes


def test_a_red_head_is_mended_once_and_only_when_nothing_of_it_runs_any_more() -> None:
    _, changes = after(seen(checks="fr"), seen(checks="fp"), seen(checks="fp"), seen(checks="ff"))
    assert [len(change.red) for change in changes] == [0, 1, 0, 0]


def test_the_message_says_which_attempt_it_is() -> None:
    heads = ("s1", "s2", "s3", "s4")
    states = [
        pull_message(after(*(seen(head, checks="f") for head in heads[:n]))[0]).splitlines()[-1] for n in range(5)
    ]
    assert states == [
        "-# No checks yet. I watch it and say when something changes.",
        *(f"❌ Failed: `c0` · attempt {n} of 3 to fix it" for n in (1, 2, 3)),
        "❌ Failed: `c0` · still red after 3 attempts, so I stopped",
    ]
    running, _ = after(seen("s1", checks="f"), seen("s2", checks="fr"))
    assert pull_message(running).endswith("⏳ Running: `c1` · ❌ `c0` · attempt 1 of 3 to fix it")
    green, _ = after(seen("s1", checks="f"), seen("s2", checks="p"))
    assert "attempt" not in pull_message(green)


def test_green_is_told_once_a_head_and_begins_the_count_of_attempts_anew() -> None:
    row, changes = after(seen("s1", checks="f"), seen("s2", checks="p"), seen("s2", checks="p"), seen("s3", checks="p"))
    assert [change.green for change in changes] == [False, True, False, True]
    assert row.attempts == 0


def test_a_check_that_turns_red_after_green_was_told_is_mended_too() -> None:
    _, changes = after(seen(checks="p"), seen(checks="pf"), seen(checks="pf"))
    assert [change.green for change in changes] == [True, False, False]
    assert [len(change.red) for change in changes] == [0, 1, 0]


def test_checks_that_cannot_be_seen_are_never_green() -> None:
    _, (change,) = after(replace(seen(checks="p"), unseen="The token may not do this."))
    assert (change.green, change.red, change.row.colour) == (False, (), "none")
    assert change.row.trouble == "The token may not do this."


def test_after_so_many_red_heads_in_a_row_it_gives_up_once() -> None:
    heads = [seen(f"s{n}", checks="f") for n in range(ATTEMPTS + 1)]
    _, changes = after(*heads, heads[-1])
    assert [bool(change.red) for change in changes] == [True] * ATTEMPTS + [False, False]
    assert [change.gives_up for change in changes] == [False] * ATTEMPTS + [True, False]


def test_checks_that_are_red_once_on_each_commit_never_use_the_attempts_up() -> None:
    flaky = [seen(f"s{n}", checks=checks) for n in range(ATTEMPTS + 2) for checks in "fp"]
    _, changes = after(*flaky)
    assert [change.row.attempts for change in changes if change.red] == [1] * (ATTEMPTS + 2)


@pytest.mark.parametrize("state", ["merged", "closed"])
def test_one_that_was_merged_or_closed_ends_whatever_its_checks_say(state: str) -> None:
    _, (change,) = after(seen(state=state, checks="f"))
    assert (change.ended, change.red, change.green) == (True, (), False)


def test_without_checks_nothing_is_said() -> None:
    row, changes = after(seen(), seen())
    assert row.colour == "none"
    assert not any(change.green or change.red or change.ended for change in changes)
    assert [change.moved for change in changes] == [True, False]


def test_remarks_are_new_once_and_ours_never() -> None:
    theirs, mine = Remark("c1", "bob", "Hm"), Remark("c2", "bot", "Done")
    marked = Remark("c3", "other-bot", "Done <!-- threadwright:abc -->")
    _, changes = after(seen("s1", "open", "", theirs, mine, marked), seen("s1", "open", "", theirs, mine, marked))
    assert [change.remarks for change in changes] == [(theirs,), ()]


def test_however_many_remarks_are_read_none_is_new_twice() -> None:
    many = tuple(Remark(f"{kind}{n}", "bob", "Hm") for kind in "crl" for n in range(300))
    _, changes = after(seen("s1", "open", "", *many), seen("s1", "open", "", *many))
    assert [len(change.remarks) for change in changes] == [900, 0]
    assert not changes[1].moved


OURS = marked("Round", "Because of a cent.")


@pytest.mark.parametrize(
    ("title", "body", "merges"),
    [
        ("Round", OURS, Merged("Cut", marked("Cut", "Two."))),
        ("Round", OURS.replace("\n", "\r\n") + " \r\n", Merged("Cut", marked("Cut", "Two."))),
        ("Cut", OURS, Merged(None, marked("Cut", "Two."))),
        ("Ann's", "Ann's own words.", Merged(kept=("title", "description"), news=UNMARKED)),
        ("Cut", "Ann's own words.", Merged(kept=("description",), news=UNMARKED)),
        ("Round", f"{OURS}\n\nAnn: see line 3.", Merged(kept=("title", "description"), news=EDITED)),
        ("Round", OURS.replace("cent", "dollar"), Merged(kept=("title", "description"), news=EDITED)),
        ("Round", "", Merged(kept=("title", "description"), news=UNMARKED)),
        (
            "Round",
            "Because of a cent.",
            Merged(kept=("title", "description"), news=UNMARKED),
        ),  # nobody knows who wrote it
        ("Ann's", "Two.", Merged(kept=("title",))),
        ("Cut", "Two.", Merged()),
        ("Cut", marked("Cut", "Two."), Merged()),
        ("Ann's", f"Ann's own words.\n{marked('Cut', 'Two.').splitlines()[-1]}", Merged(kept=("title", "description"))),
    ],
)
def test_only_what_the_bot_wrote_last_is_written_anew(title: str, body: str, merges: Merged) -> None:
    assert merged(title, body, "Cut", "Two.") == merges


def test_a_text_that_brings_a_mark_of_the_bots_is_no_edit_of_somebody() -> None:
    brought = f"One.\n{marked('Other', 'Other.')}"
    body = marked("Cut", brought)
    assert merged("Cut", body, "Cut", brought) == Merged()
    assert merged("Cut", body, "Cut", "Two.") == Merged(None, marked("Cut", "Two."))
    assert merged("Cut", marked("Cut", "Two."), "Cut", brought) == Merged(None, body)


def test_a_title_that_a_person_wrote_stays_theirs_through_any_number_of_publications() -> None:
    body = OURS
    for text in ("Two.", "Three."):
        change = merged("Ann's", body, "Cut", text)
        assert (change.title, change.kept) == (None, ("title",))
        body = change.body or ""
        assert body.startswith(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("fix it repo:ada/shop", Named("ada/shop")),
        ("repo:ada/shop branch:next fix it", Named("ada/shop", "next")),
        ("fix the branch:next thing", Named()),
        ("see http://repo:ada/shop", Named()),
        ("repo: ada/shop", Named()),
        ("repo:https://github.com/ada/shop.git", Named("https://github.com/ada/shop.git")),
    ],
)
def test_a_task_names_a_repository_and_a_branch(text: str, names: Named) -> None:
    assert named_in(text) == names


@pytest.mark.parametrize(
    ("path", "waits"),
    [
        (".github/workflows/a.yml", True), (".GITHUB/Actions/x/action.yml", True), (".github", True),
        (".woodpecker.yml", True), (".woodpecker/a.yml", True), (".gitlab-ci.yml", True), (".drone.yml", True),
        (".circleci/config.yml", True), ("Jenkinsfile", True), ("jenkinsfile", True), ("azure-pipelines.yml", True),
        (".BuildKite/pipeline.yml", True), (".github/ISSUE_TEMPLATE/a.md", False), ("docs/.drone.yml", False),
        ("workflows/a.yml", False), ("src/jenkins.py", False),
    ],
)  # fmt: skip
def test_files_that_run_with_the_rights_of_the_repository_wait_for_a_person(path: str, waits: bool) -> None:
    assert powerful([path, "README.md"]) == ((path,) if waits else ())


def opened(key: str) -> PullRequestOpened:
    return PullRequestOpened(
        host="h", repository="ada/shop", number=int(key), url="u", title="t", branch="b", base="main", commit="c",
    )  # fmt: skip


async def test_what_is_erased_of_a_person_includes_pull_requests_that_ended() -> None:
    rows = PullRows(fresh_store())
    first, second, third = opened("1"), opened("2"), opened("3")
    for event, person in ((first, "7"), (second, "7"), (third, "8")):
        await rows.opened(event, "t1", person)
    await rows.ended(first.key)
    await rows.erase("7")
    assert [row.person for row in await known(rows, first, second, third)] == ["", "", "8"]
    assert await rows.watched() == (third.key,)


async def test_with_a_thread_everything_that_is_kept_of_its_pull_requests_goes() -> None:
    store = fresh_store()
    rows = PullRows(store)
    ended, open_, others = opened("1"), opened("2"), opened("3")
    for event, thread in ((ended, "t1"), (open_, "t1"), (others, "t2")):
        await rows.opened(event, thread, "7")
        await rows.carded(event.key, f"card {event.key}")
    await rows.ended(ended.key)
    await forget_logs(store, "t1", "me")
    for event in (ended, open_):
        assert await store.fact(f"pull.{event.key}") is None
        assert await store.fact(f"pull.cards.{event.key}") is None
    assert [row.key for row in await known(rows, others)] == [others.key]
    assert await rows.cards(others.key)
    assert await rows.watched() == (others.key,)
    assert await rows.facts_of("t1") == ()


async def known(rows: PullRows, *events: PullRequestOpened) -> list[PullRow]:
    return [row for event in events if (row := await rows.of(event.key)) is not None]
