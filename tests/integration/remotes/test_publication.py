"""From a clone in a sandbox to a pull request, over git's and the host's real protocols."""

from __future__ import annotations

import os
import re

import pytest

from agentic.ports.errors import (
    BranchMoved,
    ForgeUnclear,
    GitFailed,
    NotPublished,
    RemoteError,
    RepositoryGone,
    RightMissing,
    TokenRefused,
)
from agentic.remotes import publication
from agentic.remotes.checkout import check_out
from agentic.remotes.mirror import Mirrors
from agentic.remotes.publication import Hand, NeedsYes, Order, Origin, Published
from agentic.remotes.publication_rules import branch_for, powerful
from bot.local_forge import Account, LocalForge
from bot.local_forge.forge_records import HostedRepository, Pull
from bot.local_forge.git_endpoint import commit, git, tip

from .benches import THREAD, Checkout


@pytest.fixture
def kind() -> str:
    """One kind of host; where they differ is tested with their adapters."""
    return "github"


async def test_the_checkout_is_there_and_git_reads_it_under_its_usual_address(
    bench: Checkout, forge: LocalForge
) -> None:
    checked = await bench.check_out()
    assert checked.commit == tip(forge.repositories["ada/shop"].folder, "main")
    assert f"url = {forge.web}/ada/shop\n" in await bench.sh("cat .git/config")
    assert "def total" in await bench.sh("cat shop/price.py")
    await bench.sh(f"git clone -q {forge.web}/ada/shop /tmp/again && git clone -q {forge.web}/ada/shop.git /tmp/thrice")
    assert "def total" in await bench.sh("cat /tmp/again/shop/price.py")
    before = len(forge.requests)
    await bench.sh("git fetch -q origin")
    assert len(forge.requests) == before  # nothing in the sandbox reaches the host


async def test_what_is_committed_becomes_one_branch_and_one_pull_request_and_no_credential_comes_near(
    bench: Checkout, forge: LocalForge, shop: HostedRepository
) -> None:
    await bench.check_out()
    await bench.fix()
    await bench.put("notes.txt", "not committed")
    done = await bench.publish()
    (pull,) = shop.pulls
    assert (pull.head, pull.base, pull.title) == (done.pull.head, "main", "Round prices")
    assert pull.head.startswith("threadwright/round-prices-")
    assert pull.body.startswith("Because of a cent.\n\nFor Ada\n<!-- threadwright:text ")
    assert (done.files, done.open, done.commits, done.pushed) == (("shop/price.py",), ("notes.txt",), 1, True)
    assert [(name, after) for name, _, after in shop.pushes] == [(pull.head, done.commit)]
    assert not (await bench.world.exec("git push -q origin HEAD:refs/heads/x 2>&1", timeout=30)).ok
    assert forge.token not in await bench.sh("env; git config --list; cat .git/config; git remote -v")
    mirror = bench.publisher.mirrors.of(bench.remote).folder
    for path in mirror.rglob("*"):
        assert not path.is_file() or forge.token.encode() not in path.read_bytes()


async def test_published_again_it_is_the_same_pull_request(bench: Checkout, shop: HostedRepository) -> None:
    await bench.check_out()
    await bench.fix()
    first = await bench.publish()
    same = await bench.publish()
    assert (same.pull.number, same.pushed) == (first.pull.number, False)
    await bench.fix("def total(cents):\n    return int(sum(cents))\n")
    more = await bench.publish("Cut prices")
    await bench.sh("git reset -q --soft HEAD~1 && git commit -q --amend -m 'Another one'")
    rewritten = await bench.publish("Cut prices")
    assert {more.pull.number, rewritten.pull.number} == {first.pull.number}
    assert len(shop.pulls) == 1
    assert shop.pulls[0].title == "Cut prices"
    assert len(shop.pushes) == 3
    assert tip(shop.folder, first.pull.head) == rewritten.commit


@pytest.mark.parametrize("kind", ["github", "forgejo"])
async def test_what_people_wrote_on_a_pull_request_stays_and_what_is_new_comes_as_one_comment(
    bench: Checkout, shop: HostedRepository
) -> None:
    await bench.check_out()
    await bench.fix()
    await bench.publish()
    (pull,) = shop.pulls
    pull.title = "Ann's title"
    await bench.fix("# two\n")
    done = await bench.publish("Cut prices", body="Because of two cents.")
    assert (pull.title, done.pull.title, done.kept) == ("Ann's title", "Ann's title", ("title",))
    assert pull.body.startswith("Because of two cents.\n\nFor Ada")  # the text is the bot's still

    pull.body = theirs = "Ann's own words."
    for text in ("Because of three.", "Because of three.", "Because of four."):
        done = await bench.publish("Cut prices", body=text)
    assert (pull.title, pull.body, done.kept) == ("Ann's title", theirs, ("title", "description"))
    assert ["Because of three." in note.text for note in pull.notes] == [True, False]
    assert "**Cut prices**\n\nBecause of four." in pull.notes[1].text


async def test_what_cannot_be_commented_is_told_and_does_not_undo_what_was_published(
    bench: Checkout, shop: HostedRepository, forge: LocalForge
) -> None:
    await bench.check_out()
    await bench.fix()
    await bench.publish()
    (pull,) = shop.pulls
    pull.body = "Ann's own words."
    await bench.fix("# two\n")
    forge.fault("lacks_right", "POST */comments")
    done = await bench.publish("Round prices", body="Because of two cents.")
    assert (done.pushed, done.kept, pull.notes) == (True, ("description",), [])
    assert done.comment.startswith("What is new could not be said")
    done = await bench.publish("Round prices", body="Because of two cents.")
    assert done.comment == "A new description stands in a comment there."
    assert pull.notes[0].text.startswith("The description may be somebody's own, so")


async def test_a_text_that_nobody_edited_is_brought_up_to_date_however_its_host_writes_lines(
    bench: Checkout, shop: HostedRepository
) -> None:
    await bench.check_out()
    await bench.fix()
    await bench.publish(body="First.  \n\n- one\n- two")
    (pull,) = shop.pulls
    pull.body = pull.body.replace("  \n", "\n").replace("\n", "\r\n") + "\r\n"
    await bench.fix("# again\n")
    done = await bench.publish("Cut prices", body="Second.")
    assert (pull.title, pull.notes, done.kept) == ("Cut prices", [], ())
    assert pull.body.startswith("Second.\n\nFor Ada")


@pytest.mark.parametrize("fault", ["fails_after", "drops_after"])
async def test_a_host_that_fails_after_it_did_the_thing_is_looked_at_before_anything_is_repeated(
    bench: Checkout, forge: LocalForge, shop: HostedRepository, fault: str
) -> None:
    await bench.check_out()
    await bench.fix()
    forge.fault(fault, "POST */git-receive-pack")  # pyright: ignore[reportArgumentType]
    forge.fault(fault, "POST */pulls")  # pyright: ignore[reportArgumentType]
    done = await bench.publish()
    assert len(shop.pushes) == 1
    assert [pull.number for pull in shop.pulls] == [done.pull.number]
    forge.fault(fault, "POST */comments")  # pyright: ignore[reportArgumentType]
    said = await bench.publisher.comment(bench.remote, done.pull.number, "Hello", "k1")
    assert said == await bench.publisher.comment(bench.remote, done.pull.number, "Hello", "k1")
    assert len(shop.pulls[0].notes) == 1
    await bench.publisher.comment(bench.remote, done.pull.number, "Hello", "k2")
    assert len(shop.pulls[0].notes) == 2


async def test_somebody_elses_commits_are_not_overwritten(bench: Checkout, shop: HostedRepository) -> None:
    await bench.check_out()
    await bench.fix()
    done = await bench.publish()
    theirs = commit(shop.folder, done.pull.head, {"README.md": "# The shop\n"}, "Typo")
    await bench.fix("def total(cents):\n    return int(sum(cents))\n")
    with pytest.raises(BranchMoved, match="nothing was overwritten"):
        await bench.publish()
    assert tip(shop.folder, done.pull.head) == theirs
    await bench.sh(f"git fetch -q origin && git rebase -q origin/{done.pull.head}")
    again = await bench.publish()
    assert tip(shop.folder, done.pull.head) == again.commit
    assert git(shop.folder, "merge-base", theirs, again.commit) == theirs


class Cut(BaseException):
    """An attempt that ends at a point, as if the process had."""


async def test_linked_or_unlinked_between_two_attempts_it_is_one_pull_request_and_one_comment(
    bench: Checkout, forge: LocalForge, shop: HostedRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    forge.accounts["a-token-of-ada"] = Account("ada")
    hers = bench.publisher.forges.forge_with(bench.publisher.forges.host(bench.remote.host), "a-token-of-ada")
    told: list[RemoteError] = []

    async def refused(why: RemoteError) -> None:
        told.append(why)

    def cut(point: str) -> None:
        if point in ("publish.pull.after", "publish.comment.after"):
            raise Cut

    await bench.check_out()
    ada, bot = Hand(hers, refused), "threadwright-bot"
    for first, then, who in ((ada, None, "ada"), (None, ada, bot)):
        await bench.fix(f"# for {who}\n")
        bench.hand = first
        with monkeypatch.context() as patched:
            patched.setattr(publication, "reach", cut)
            with pytest.raises(Cut):
                await bench.publish(branch=f"by-{who}")
        bench.hand = then
        done = await bench.publish(branch=f"by-{who}")
        pull = shop.pull(done.pull.number)
        assert pull is not None
        assert pull.author == who
        with monkeypatch.context() as patched:
            patched.setattr(publication, "reach", cut)
            with pytest.raises(Cut):
                await bench.publisher.comment(bench.remote, pull.number, "Hello", "k", hand=first)
        await bench.publisher.comment(bench.remote, pull.number, "Hello", "k", hand=then)
        assert [note.author for note in pull.notes] == [who]
    assert len(shop.pulls) == 2
    assert told == []
    await hers.close()


async def test_where_the_host_refuses_the_person_the_bot_writes_and_they_are_told_why(
    bench: Checkout, forge: LocalForge, shop: HostedRepository
) -> None:
    """An answer that leaves open what happened is no refusal: nothing is written a second time."""
    forge.accounts |= {"a-token-of-ada": Account("ada"), "one-that-reads": Account("ada", may_write=False)}
    told: list[type[RemoteError]] = []

    async def refused(why: RemoteError) -> None:
        told.append(type(why))

    await bench.check_out()
    host = bench.publisher.forges.host(bench.remote.host)
    for token, fault in (
        ("revoked", ""),
        ("one-that-reads", ""),
        ("a-token-of-ada", "gone"),
        ("a-token-of-ada", "fails"),
    ):
        hers = bench.publisher.forges.forge_with(host, token)
        bench.hand = Hand(hers, refused)
        await bench.fix(f"# {token} {fault}\n")
        branch = f"{token}-{fault or 'as-it-is'}"
        if fault:
            forge.fault(fault, "POST */pulls")  # pyright: ignore[reportArgumentType]
        if fault == "fails":
            with pytest.raises(ForgeUnclear):
                await bench.publish(branch=branch)
        else:
            await bench.publish(branch=branch)
        await hers.close()
    assert told == [TokenRefused, RightMissing, RepositoryGone]
    assert [pull.author for pull in shop.pulls] == ["threadwright-bot"] * 3


async def test_a_forks_pull_request_of_the_same_branch_is_not_touched(bench: Checkout, shop: HostedRepository) -> None:
    await bench.check_out()
    await bench.fix()
    theirs = Pull(shop.next(), "Theirs", "By somebody else", "threadwright/round", "main", fork="mallory", sha="1" * 40)
    shop.pulls.append(theirs)
    done = await bench.publish(branch="round")
    assert (theirs.title, theirs.body) == ("Theirs", "By somebody else")
    assert [pull.number for pull in shop.pulls] == [theirs.number, done.pull.number]


async def test_a_pull_request_that_shows_another_commit_is_left_as_it_is(
    bench: Checkout, shop: HostedRepository
) -> None:
    await bench.check_out()
    await bench.fix()
    bench.publisher.look_seconds = 0.0
    await bench.publish()
    shop.pulls[0].sha = "1" * 40
    with pytest.raises(BranchMoved, match="does not show the commit"):
        await bench.publish("Another title")
    assert shop.pulls[0].title == "Round prices"
    shop.pulls[0].sha = ""
    assert (await bench.publish("Another title")).pull.title == "Another title"


async def test_only_branches_of_ours_are_pushed_to(bench: Checkout, shop: HostedRepository) -> None:
    await bench.check_out()
    await bench.fix()
    with pytest.raises(NotPublished):
        await bench.publish(branch="../main")
    shop.protected.add("threadwright/kept")
    commit(shop.folder, "threadwright/kept", {"x": "y"}, "Kept")
    with pytest.raises(NotPublished, match="protected"):
        await bench.publish(branch="kept")
    assert shop.pushes == []
    assert (await bench.publish(branch="main")).pull.head == "threadwright/main"


async def test_workflows_wait_for_a_yes_to_exactly_that_commit(bench: Checkout, shop: HostedRepository) -> None:
    await bench.check_out()
    await bench.put(".github/workflows/ci.yml", "on: push\n")
    await bench.sh("git add -A && git commit -qm CI")
    asked = await bench.asked()
    assert isinstance(asked, NeedsYes)
    assert ".github/workflows/ci.yml" in asked.reason
    assert "+on: push" in asked.difference
    assert shop.pushes == []
    await bench.put(".github/workflows/ci.yml", "on: push  # and mine\n")
    await bench.sh("git commit -qam More")
    assert isinstance(await bench.asked(approved=asked.state), NeedsYes)  # another diff than was allowed
    assert shop.pushes == []
    await bench.sh("git reset -q --hard HEAD~1")
    assert isinstance(await bench.asked(approved=asked.state), Published)
    assert len(shop.pulls) == 1


async def test_what_a_person_allowed_is_that_commit_and_no_other(bench: Checkout, shop: HostedRepository) -> None:
    """Also where no workflow changes: whoever was asked why something leaves has seen all of it."""
    await bench.check_out()
    await bench.fix()
    order = Order("Round prices", "Because of a cent.")
    seen = await bench.publisher.preview(bench.world, ".", bench.thread, Origin(bench.remote), order)
    await bench.put("loot.txt", "customers\n")
    await bench.sh("git add -A && git commit -qm Loot")
    asked = await bench.asked(approved=seen.state)
    assert isinstance(asked, NeedsYes)
    assert "another commit" in asked.reason
    assert "+customers" in asked.difference
    assert shop.pushes == []
    assert isinstance(await bench.asked(approved=asked.state), Published)


@pytest.mark.parametrize("path", [".forgejo/workflows/a.yml", ".gitea/workflows/a.yml"])
def test_every_folder_of_workflows_waits(path: str) -> None:
    assert powerful(["shop/price.py", path]) == (path,)


@pytest.mark.parametrize("wrong", ["../main", "x y", "-x", "UPPER", "a..b", "refs/heads/main", "x.lock", "--force"])
def test_what_is_no_name_of_a_branch_of_ours_is_refused(wrong: str) -> None:
    with pytest.raises(NotPublished, match="cannot be the branch"):
        branch_for(wrong, "Round prices", THREAD)


async def test_the_whole_difference_of_workflows_is_shown_as_text_whatever_the_repository_says_of_it(
    bench: Checkout,
) -> None:
    await bench.check_out()
    await bench.put(".gitattributes", "* -diff\n*.yml binary\n")
    await bench.put(".github/workflows/ci.yml", "on: push\n")
    await bench.sh("git add -A && git commit -qm CI")
    asked = await bench.asked()
    assert isinstance(asked, NeedsYes)
    assert "+on: push" in asked.difference
    assert re.search("index 0{40}\\.\\.[0-9a-f]{40}", asked.difference)


@pytest.mark.parametrize(
    "making",
    [
        r"printf 'on: push\n' > $(printf '.github/workflows/\377.yml')",
        r"printf 'on: push\n\0' > .github/workflows/a.yml",
        "seq 10000 | sed 's/^/# /' > .github/workflows/a.yml",
        "for n in $(seq 101); do echo on: push > .github/workflows/$n.yml; done",
    ],
)
async def test_workflows_that_nobody_could_see_are_published_by_no_yes(
    bench: Checkout, shop: HostedRepository, making: str
) -> None:
    await bench.check_out()
    await bench.sh(f"mkdir -p .github/workflows && {making} && git add -A && git commit -qm CI")
    with pytest.raises(NotPublished, match=r"look through|cannot be shown as text"):
        await bench.asked()
    assert shop.pushes == []


async def test_a_commit_that_brings_an_old_workflow_back_waits_as_well(bench: Checkout, shop: HostedRepository) -> None:
    """It changes nothing of it; but the branch it comes from has a safer one now."""
    path = ".github/workflows/ci.yml"
    old = commit(shop.folder, "main", {path: "on: pull_request_target\n"}, "CI")
    commit(shop.folder, "main", {path: "on: pull_request\n"}, "Safer CI")
    await bench.check_out()
    await bench.sh(f"git checkout -q -b old {old}")
    await bench.fix()
    asked = await bench.asked()
    assert isinstance(asked, NeedsYes)
    assert "-on: pull_request\n+on: pull_request_target\n" in asked.difference
    assert shop.pushes == []
    done = await bench.publish(approved=asked.state)
    assert done.files == ("shop/price.py",)
    await bench.sh("git checkout -q -B new origin/main")
    await bench.fix("def total(cents):\n    return int(sum(cents))\n")
    await bench.publish(branch="new")


async def test_nothing_to_publish_is_told(bench: Checkout) -> None:
    await bench.check_out()
    with pytest.raises(NotPublished, match="commit your changes first"):
        await bench.publish()
    await bench.sh("git checkout -q --orphan other && git commit -qm Other")
    with pytest.raises(NotPublished, match="do not build on"):
        await bench.publish()


async def test_a_machine_without_git_is_told(bench: Checkout, shop: HostedRepository) -> None:
    await bench.check_out()
    await bench.fix()
    object.__setattr__(bench.publisher.mirrors.git, "environment", {"PATH": "/nonexistent"})
    with pytest.raises(GitFailed, match="can't be run"):
        await bench.publish()
    assert shop.pushes == []


async def test_an_empty_repository_is_told(bench: Checkout, forge: LocalForge) -> None:
    forge.create("ada/new")
    bench.remote = bench.publisher.forges.read("ada/new")
    assert (await bench.check_out()).commit == ""
    await bench.put("a.txt", "a")
    await bench.sh("git add -A && git commit -qm First")
    with pytest.raises(NotPublished, match="first commit"):
        await bench.publish()


async def test_a_renamed_repository_is_followed_and_told(
    bench: Checkout, forge: LocalForge, shop: HostedRepository
) -> None:
    await bench.check_out()
    await bench.fix()
    forge.rename("ada/shop", "bob/market")
    done = await bench.publish()
    assert (str(done.remote), done.moved) == ("bob/market", "ada/shop")
    assert len(shop.pulls) == 1


async def test_a_repository_that_is_gone_and_a_token_that_expired_are_told(bench: Checkout, forge: LocalForge) -> None:
    await bench.check_out()
    await bench.fix()
    forge.repositories["ada/shop"].may_push = False
    with pytest.raises(RightMissing, match="may read"):
        await bench.publish()
    forge.repositories["ada/shop"].may_push = True
    forge.fault("refuses_token", "*info/refs*")
    with pytest.raises(TokenRefused, match="expired"):
        await bench.publish()
    forge.remove("ada/shop")
    with pytest.raises(RepositoryGone):
        await bench.publish()


async def test_a_repository_that_is_too_large_is_told_and_leaves_nothing(
    bench: Checkout, shop: HostedRepository
) -> None:
    commit(shop.folder, "main", {"data.bin": os.urandom(3_000_000).hex()}, "Data")
    small = bench.publisher.mirrors.git
    object.__setattr__(small, "largest", 1_000_000)
    with pytest.raises(GitFailed, match="THREADWRIGHT_REPOSITORY_MB"):
        await bench.check_out()
    assert not bench.publisher.mirrors.of(bench.remote).folder.exists()


async def test_f75_what_a_hostile_repository_brings_runs_nowhere_on_our_side(
    bench: Checkout, shop: HostedRepository, forge: LocalForge
) -> None:
    commit(
        shop.folder, "main",
        {
            ".gitattributes": "*.py filter=evil diff=evil merge=evil\n*.bin filter=lfs diff=lfs merge=lfs -text\n",
            ".gitconfig": "[core]\n\tfsmonitor = touch /tmp/evil\n",
            "data.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
            "link": "-> /etc/passwd",
            ".gitmodules": '[submodule "sub"]\n\tpath = sub\n\turl = https://git.example.org/x/sub\n',
        },
        "Evil",
    )  # fmt: skip
    checked = await bench.check_out()
    assert (checked.submodules, checked.lfs) == (True, True)
    hook = "#!/bin/sh\ntouch /workspace/ran-$(basename $0)\n"
    for name in ("pre-push", "reference-transaction", "post-index-change"):
        await bench.put(f".git/hooks/{name}", hook)
    await bench.sh("chmod +x .git/hooks/*; git config filter.evil.clean 'touch /workspace/ran-clean; cat'; rm -f ran-*")
    await bench.sh("git config core.fsmonitor 'touch /workspace/ran-fsmonitor'")
    await bench.sh(
        "git config url.https://evil.example.org/.pushInsteadOf http://; git config core.alternateRefsCommand x"
    )
    await bench.sh("git -c core.hooksPath=/dev/null -c core.fsmonitor= commit -q --allow-empty -m Empty && rm -f ran-*")
    await bench.publish()
    ran = await bench.sh("ls | grep '^ran-' || true")
    assert ran in (
        "",
        "ran-clean\n",
    )  # a filter of the repository may run inside the sandbox; without it files would differ
    assert shop.pulls


async def test_a_sandbox_that_hands_out_something_else_publishes_nothing(
    bench: Checkout, shop: HostedRepository
) -> None:
    """The checkout lacks objects that its commit names; a pack that is cut off or damaged is refused as well."""
    await bench.check_out()
    await bench.fix()
    await bench.sh(
        "f=$(git rev-parse HEAD:shop/price.py); rm -f .git/objects/$(echo $f | cut -c1-2)/$(echo $f | cut -c3-)"
    )
    with pytest.raises((NotPublished, GitFailed)):
        await bench.publish()
    assert shop.pushes == []
    assert shop.pulls == []


async def test_two_repositories_in_turn_are_each_seen(bench: Checkout, forge: LocalForge) -> None:
    await bench.check_out()
    forge.create("ada/other", {"a.txt": "other\n"})
    bench.remote = bench.publisher.forges.read("ada/other")
    await bench.mirrored()
    assert await bench.sh(f"git clone -q {forge.web}/ada/other /tmp/o && cat /tmp/o/a.txt") == "other\n"


async def test_what_a_thread_commits_no_other_thread_is_shown(bench: Checkout, shop: HostedRepository) -> None:
    """Neither what waits for a yes nor what was pushed to a branch that is gone; with its thread it is deleted."""
    await bench.check_out()
    mirror = bench.publisher.mirrors.of(bench.remote)
    await bench.put(".github/workflows/ci.yml", "on: push  # not for others\n")
    await bench.sh("git add -A && git commit -qm CI")
    asked = await bench.asked()
    assert isinstance(asked, NeedsYes)
    made = (await bench.sh("git rev-parse HEAD")).strip()
    assert await mirror.tip(made) == ""
    assert "threadwright" not in git(mirror.folder, "for-each-ref")
    apart = await bench.publisher.mirrors.apart(mirror, THREAD)
    assert git(apart, "rev-parse", f"{made}^{{commit}}") == made
    assert mirror.folder not in apart.parents
    assert isinstance(await bench.asked(approved=asked.state), Published)
    assert await mirror.tip(made) == ""  # until it is fetched as everybody's
    await bench.publisher.mirrors.forget_thread(THREAD)
    assert not apart.exists()
    assert await mirror.tips()


async def test_what_is_kept_of_a_thread_has_an_end(
    bench: Checkout, shop: HostedRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.check_out()
    await bench.fix()
    first = await bench.publish()
    await bench.mirrored()
    monkeypatch.setattr("agentic.remotes.mirror.APART_BYTES", 100)
    mirror = bench.publisher.mirrors.of(bench.remote)
    apart = await bench.publisher.mirrors.apart(mirror, THREAD)
    assert list((apart / "objects/pack").glob("*.pack")) == []
    await bench.fix("def total(cents):\n    return int(sum(cents))\n")
    again = await bench.publish()
    assert (again.pull.number, again.pull.head) == (first.pull.number, first.pull.head)  # it knows what it has pushed


async def test_what_a_fetch_left_half_done_is_swept(bench: Checkout) -> None:
    mirror = await bench.mirrored()
    pack = mirror.folder / "objects/pack"
    pack.mkdir(exist_ok=True)
    (pack / "tmp_pack_x").write_bytes(b"PACK" * 100)
    (mirror.folder / "objects/incoming-x").mkdir()
    await bench.mirrored()
    assert not (pack / "tmp_pack_x").exists()
    assert not (mirror.folder / "objects/incoming-x").exists()


async def test_a_mirror_that_grew_by_what_is_gone_is_made_anew(bench: Checkout, shop: HostedRepository) -> None:
    commit(shop.folder, "large", {"data.bin": os.urandom(3_000_000).hex()}, "Data")
    mirror = await bench.mirrored()
    object.__setattr__(bench.publisher.mirrors.git, "largest", 1_000_000)
    git(shop.folder, "update-ref", "-d", "refs/heads/large")
    assert (await bench.mirrored()).exists
    assert await mirror.branches() == ("main",)


async def test_a_checkout_that_was_cut_off_goes_on(bench: Checkout, forge: LocalForge) -> None:
    """Before its files are there, or half-way; what a person has put there is left as it is."""
    mirror = await bench.mirrored()
    web = f"{forge.web}/ada/shop"
    await bench.sh(
        f"git clone -q --no-checkout {web} half && touch half/.git/threadwright-unfinished half/.git/index.lock"
    )
    await bench.sh("mv half/.git .git && rmdir half && mkdir .threadwright-checkout")
    checked = await check_out(bench.world, mirror, web, "")
    assert checked is not None
    assert checked.commit
    assert await bench.sh("git status --porcelain; ls -A") == ".git\nREADME.md\nshop\n"
    assert await check_out(bench.world, mirror, web, "") is None
    stale = mirror.folder / "packed-refs.lock"
    stale.touch()
    os.utime(stale, (1, 1))
    bench.publisher.mirrors = Mirrors(mirror.folder.parent, bench.publisher.mirrors.git)  # as the next process has it
    await bench.mirrored()
    assert not stale.exists()
