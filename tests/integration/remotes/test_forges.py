"""Both kinds of host over real sockets: what is asked, what is read, and what each refusal becomes."""

from __future__ import annotations

import pytest

from agentic.forges.api_client import ANSWER_BYTES, MOST_CHECKS
from agentic.forges.hosts import Forges, host_from
from agentic.ports.errors import (
    AnswerTooLarge,
    ForgeBusy,
    ForgeRejected,
    ForgeUnclear,
    RemoteError,
    RepositoryGone,
    RightMissing,
    TokenRefused,
)
from agentic.ports.forge import Forge, Remote
from bot.cli.checks.forge_token import check
from bot.local_forge import LocalForge
from bot.local_forge.forge_records import HostedRepository, Note, Pull
from bot.local_forge.git_endpoint import commit, git, tip
from bot.local_forge.misbehaviour import Kind


def pushed(shop: HostedRepository, branch: str = "threadwright/fix") -> str:
    """A branch that stands one commit beside the default branch."""
    base = tip(shop.folder, "main")
    made = commit(shop.folder, "work", {"shop/price.py": "def total(cents):\n    return round(sum(cents))\n"}, "Fix")
    made = git(shop.folder, "commit-tree", f"{made}^{{tree}}", "-p", base, "-m", "Fix")
    git(shop.folder, "update-ref", "-d", "refs/heads/work")
    git(shop.folder, "update-ref", f"refs/heads/{branch}", made)
    return made


async def test_a_repository_is_read_with_its_default_branch_and_rights(api: Forge, remote: Remote) -> None:
    held = await api.repository(remote)
    assert (held.remote, held.default_branch, held.may_push, held.empty) == (remote, "main", True, False)
    assert await api.account() == "threadwright-bot"


async def test_an_empty_repository_is_known_as_one(forge: LocalForge, forges: Forges) -> None:
    forge.create("ada/new", private=True)
    remote = forges.read("ada/new")
    held = await forges.forge(remote).repository(remote)
    assert held.empty
    assert held.private


async def test_a_repository_that_everybody_sees_is_known_as_one(api: Forge, remote: Remote) -> None:
    assert not (await api.repository(remote)).private


async def test_a_renamed_repository_is_found_under_its_new_name(forge: LocalForge, api: Forge, remote: Remote) -> None:
    forge.rename("ada/shop", "ada/market")
    assert str((await api.repository(remote)).remote) == "ada/market"


async def test_one_pull_request_is_opened_found_and_described(
    api: Forge, remote: Remote, shop: HostedRepository
) -> None:
    sha = pushed(shop)
    assert await api.open_from(remote, "threadwright/fix", "main") is None
    opened = await api.open(remote, "threadwright/fix", "main", "Round prices", "Because.", draft=True)
    assert (opened.state, opened.sha, opened.title, opened.draft) == ("open", sha, "Round prices", True)
    assert await api.open_from(remote, "threadwright/fix", "main") == opened
    assert (await api.describe(remote, opened.number, "Round all prices", "Why.")).title == "Round all prices"
    assert (await api.pull_request(remote, opened.number)).draft
    with pytest.raises(ForgeRejected, match="already exists"):
        await api.open(remote, "threadwright/fix", "main", "Again", "", draft=False)
    assert len(shop.pulls) == 1
    shop.pulls[0].state, shop.pulls[0].merged = "closed", True
    assert (await api.pull_request(remote, opened.number)).state == "merged"
    assert await api.open_from(remote, "threadwright/fix", "main") is None


async def test_checks_are_read_with_the_end_of_their_log(api: Forge, remote: Remote, shop: HostedRepository) -> None:
    sha = pushed(shop)
    assert await api.checks(remote, sha) == ()
    shop.set_check(sha, "tests", "pending")
    assert [each.state for each in await api.checks(remote, sha)] == ["running"]
    shop.set_check(sha, "tests", "failure", "x" * 500 + "\nE   assert 3 == 2\n")
    (check,) = await api.checks(remote, sha)
    assert (check.name, check.state) == ("tests", "failed")
    assert await api.log_of(remote, check, 18) == "E   assert 3 == 2\n"
    shop.set_check(sha, "tests", "success")
    assert [each.state for each in await api.checks(remote, sha)] == ["passed"]


async def test_checks_are_read_page_by_page_and_too_many_are_no_green(
    api: Forge, remote: Remote, shop: HostedRepository
) -> None:
    sha = pushed(shop)
    for number in range(MOST_CHECKS - 1):
        shop.set_check(sha, f"t{number}", "success")
    shop.set_check(sha, "t101", "failure")
    checks = await api.checks(remote, sha)
    assert len({check.name for check in checks}) == len(checks) == MOST_CHECKS - 1
    assert [check.name for check in checks if check.state == "failed"] == ["t101"]
    shop.set_check(sha, "one more", "success")
    with pytest.raises(AnswerTooLarge, match="600 or more checks"):
        await api.checks(remote, sha)


async def test_of_an_answer_that_is_too_long_only_a_log_has_a_use(
    api: Forge, remote: Remote, shop: HostedRepository
) -> None:
    sha = pushed(shop)
    opened = await api.open(remote, "threadwright/fix", "main", "Round prices", "", draft=False)
    shop.set_check(sha, "tests", "failure", "x" * (2 * ANSWER_BYTES + 9) + "the end")
    (check,) = await api.checks(remote, sha)
    assert await api.log_of(remote, check, 8) == "xthe end"
    shop.pulls[0].notes.append(Note(901, "bob", "x" * ANSWER_BYTES))
    with pytest.raises(AnswerTooLarge, match="more than 4 MB"):
        await api.remarks(remote, opened.number)


async def test_a_comment_is_found_again_among_as_many_as_a_host_takes(
    api: Forge, remote: Remote, shop: HostedRepository
) -> None:
    pushed(shop)
    opened = await api.open(remote, "threadwright/fix", "main", "Round prices", "", draft=False)
    shop.pulls[0].notes += [Note(1_000 + number, "bob", f"no. {number}") for number in range(2_499)]
    said = await api.comment(remote, opened.number, "Looking at it.")
    remarks = await api.remarks(remote, opened.number)
    assert [each.id for each in remarks if each.text == "Looking at it."] == [said]
    assert len({each.id for each in remarks}) == len(remarks) == 2_500


async def test_remarks_of_every_kind_are_read(api: Forge, remote: Remote, shop: HostedRepository) -> None:
    pushed(shop)
    opened = await api.open(remote, "threadwright/fix", "main", "Round prices", "", draft=False)
    shop.pulls[0].notes += [
        Note(901, "bob", "Why not half up?"),
        Note(902, "bob", "Two things.", "review"),
        Note(903, "bob", "This line.", "line", "shop/price.py", 2, 902),
    ]
    said = await api.comment(remote, opened.number, "Looking at it.")
    assert {(each.id, each.author, each.text) for each in await api.remarks(remote, opened.number)} == {
        ("c901", "bob", "Why not half up?"), ("r902", "bob", "Two things."), ("l903", "bob", "This line."),
        (said, "threadwright-bot", "Looking at it."),
    }  # fmt: skip
    assert [(e.path, e.line) for e in await api.remarks(remote, opened.number) if e.path] == [("shop/price.py", 2)]


async def test_a_protected_branch_is_known(api: Forge, remote: Remote, shop: HostedRepository) -> None:
    shop.protected.add("main")
    assert await api.is_protected(remote, "main")
    assert not await api.is_protected(remote, "no-such-branch")


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("refuses_token", TokenRefused), ("lacks_right", RightMissing), ("gone", RepositoryGone), ("fails", ForgeUnclear),
        ("drops_after", ForgeUnclear), ("limited", ForgeBusy),
    ],
)  # fmt: skip
async def test_each_refusal_has_its_own_error(
    forge: LocalForge, api: Forge, remote: Remote, fault: Kind, error: type[RemoteError]
) -> None:
    times = 2 if fault == "drops_after" else 1  # a broken connection is tried once more where only reading is asked for
    forge.fault(fault, "GET */repos/ada/shop", times, seconds=7)
    with pytest.raises(error) as raised:
        await api.repository(remote)
    if isinstance(raised.value, ForgeBusy):
        assert raised.value.retry_after == 7
    assert (await api.repository(remote)).may_push  # the next one is answered


async def test_what_was_done_before_an_error_is_found_by_looking_again(
    forge: LocalForge, api: Forge, remote: Remote, shop: HostedRepository
) -> None:
    pushed(shop)
    forge.fault("fails_after", "POST */pulls")
    with pytest.raises(ForgeUnclear):
        await api.open(remote, "threadwright/fix", "main", "Round prices", "", draft=False)
    found = await api.open_from(remote, "threadwright/fix", "main")
    assert found is not None
    assert found.number == shop.pulls[0].number


async def test_a_forks_pull_request_is_nobodys_of_ours(api: Forge, remote: Remote, shop: HostedRepository) -> None:
    """It may bear the name of our branch."""
    pushed(shop)
    stranger = Pull(shop.next(), "Theirs", "", "threadwright/fix", "main", fork="mallory", sha="1" * 40)
    shop.pulls.append(stranger)
    assert await api.open_from(remote, "threadwright/fix", "main") is None
    ours = await api.open(remote, "threadwright/fix", "main", "Ours", "", draft=False)
    assert await api.open_from(remote, "threadwright/fix", "main") == ours
    assert await api.open_from(remote, "threadwright/fix", "next") is None


@pytest.mark.parametrize("kind", ["github"], indirect=True)
async def test_what_did_not_change_is_answered_from_memory(forge: LocalForge, api: Forge, remote: Remote) -> None:
    first = await api.repository(remote)
    assert await api.repository(remote) == first
    assert forge.unchanged == 1


async def test_a_token_that_is_wrong_is_told_without_showing_it(
    forge: LocalForge, shop: HostedRepository, kind: str
) -> None:
    forges = Forges([host_from(f"{forge.web}=FORGE_TOKEN:{kind}")], {"FORGE_TOKEN": "another-secret"})
    remote = forges.read(shop.full)
    with pytest.raises(TokenRefused) as raised:
        await forges.forge(remote).repository(remote)
    await forges.close()
    assert "another-secret" not in str(raised.value)


@pytest.mark.parametrize(
    "written",
    ["ada/shop", "<http://HOST/ada/shop>", "http://HOST/ada/shop.git", "http://HOST/ada/shop/"],
)
async def test_a_repository_is_read_however_it_is_written(forges: Forges, forge: LocalForge, written: str) -> None:
    assert str(forges.read(written.replace("HOST", forge.host))) == "ada/shop"


def test_public_hosts_are_known_and_others_are_not() -> None:
    forges = Forges([], {})
    assert forges.read("git@github.com:ada/shop.git") == Remote("github.com", "ada", "shop")
    assert forges.read("ssh://git@codeberg.org/ada/shop") == Remote("codeberg.org", "ada", "shop")
    for wrong in ("https://git.example.org/ada/shop", "http://169.254.169.254/latest/meta-data", "git@10.0.0.1:a/b"):
        with pytest.raises(RemoteError, match="I don't know the host"):
            forges.read(wrong)
    for wrong in ("ada", "ada/../shop", "-x/shop", "ada/shop/tree/main", "https://github.com/ada", "--upload-pack=x/y"):
        with pytest.raises(RemoteError, match="names no repository"):
            forges.read(wrong)
    with pytest.raises(RemoteError, match="Leave the name and the password"):
        forges.read("https://ada:secret@github.com/ada/shop")


def test_hosts_are_read_from_settings() -> None:
    host = host_from("git.example.org=FORGE:forgejo")
    assert (host.api, host.variable) == ("https://git.example.org/api/v1", "FORGE")
    assert host_from("github.com=GITHUB_TOKEN").api == "https://api.github.com"
    assert host_from("ghe.example.org=T:github").api == "https://ghe.example.org/api/v3"
    for wrong in ("github.com", "http://git.example.org=T", "github.com=ghp_secret-token!", "a b=T", "x.org=T:svn"):
        with pytest.raises(ValueError, match=r"write|comes"):
            host_from(wrong)


async def test_doctor_says_whose_token_it_is_or_what_is_wrong_with_it(forge: LocalForge, kind: str) -> None:
    host = host_from(f"{forge.web}=FORGE_TOKEN:{kind}")
    (good,) = await check([host], {"FORGE_TOKEN": forge.token})
    assert (good.verdict, "threadwright-bot's" in good.said) == ("ok", True)
    (wrong,) = await check([host], {"FORGE_TOKEN": "nonsense"})
    assert (wrong.verdict, "does not take the token" in wrong.said) == ("wrong", True)
    (missing,) = await check([host], {})
    assert missing.said.startswith("FORGE_TOKEN is not set")
    forge.fault("fails", "GET */user", 5)
    (unknown,) = await check([host], {"FORGE_TOKEN": forge.token})
    assert unknown.verdict == "unknown"
    assert await check([], {}) == ()
