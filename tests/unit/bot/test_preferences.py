"""What people chose for a guild, a channel or a thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import pytest

from agentic.ports.stores import SessionRow
from agentic.stores.sqlite.store import SQLiteStore
from bot.config import preferences
from bot.config.network import ThreadNetworks, placed
from bot.config.preferences import (
    CHOICES,
    Preference,
    Preferences,
    UnknownChoice,
    checked,
)
from tests.stores import fresh_store


async def test_the_nearest_choice_counts_thread_before_channel_before_guild_before_default() -> None:
    kept = Preferences(fresh_store())
    assert (await kept.of("3", "2", "1")).verbosity == "normal"
    await kept.put("guild", "1", "verbosity", "quiet")
    assert (await kept.of("3", "2", "1")).verbosity == "quiet"
    await kept.put("channel", "2", "verbosity", "detailed")
    assert (await kept.of("3", "2", "1")).verbosity == "detailed"
    await kept.put("thread", "3", "verbosity", "normal")
    assert (await kept.of("3", "2", "1")).verbosity == "normal"
    assert (await kept.origins("3", "2", "1"))["verbosity"] == ("normal", "thread")
    assert (await kept.of("4", "2", "1")).verbosity == "detailed"
    assert (await kept.of("4", "5", "1")).verbosity == "quiet"
    assert (await kept.of("3", "2", "9")).verbosity == "normal"
    assert (await kept.of("8", "7", "9")).verbosity == "normal"


async def test_a_choice_that_is_taken_back_lets_the_wider_one_count_again() -> None:
    kept = Preferences(fresh_store())
    await kept.put("guild", "1", "verbosity", "quiet")
    await kept.put("channel", "2", "verbosity", "detailed")
    await kept.put("channel", "2", "verbosity", "")
    assert (await kept.origins(channel="2", guild="1"))["verbosity"] == ("quiet", "guild")


async def test_choices_survive_a_restart(tmp_path: Path) -> None:
    store = SQLiteStore.open(tmp_path / "x.sqlite")
    await Preferences(store).put("channel", "2", "verbosity", "Detailed ")
    await store.close()
    again = SQLiteStore.open(tmp_path / "x.sqlite")
    assert (await Preferences(again).of(channel="2")).verbosity == "detailed"
    await again.close()


@pytest.mark.parametrize(("name", "value"), [("verbosity", "loud"), ("colour", "red"), ("colour", "")])
async def test_what_does_not_exist_is_refused_with_what_does(name: str, value: str) -> None:
    kept = Preferences(fresh_store())
    with pytest.raises(UnknownChoice, match=r"verbosity|quiet, normal, detailed"):
        await kept.put("guild", "1", name, value)
    assert await kept.of(guild="1") == Preference()


@pytest.mark.parametrize("value", ["<@&123456789012345678>", "123456789012345678"])
async def test_the_approvers_are_a_role_by_its_mention_or_id(value: str) -> None:
    store = fresh_store()
    await Preferences(store).put("guild", "1", "approvers", value)
    assert (await Preferences(store).of(guild="1")).approvers == "123456789012345678"


def test_every_choice_offers_another_value_than_the_one_that_holds() -> None:
    for choice in CHOICES.values():
        for value in (*choice.values, "123456789012345678" if choice.names_role else choice.default):
            assert [other for other in choice.offered if other != value], f"{choice.name} is {value}, and nothing else"


@pytest.mark.parametrize(
    "value", ["<@123456789012345678>", "<@&123456789012345678", "123456789012345678>", "reviewers", "@everyone", "12"]
)
async def test_what_is_no_role_cannot_approve(value: str) -> None:
    with pytest.raises(UnknownChoice, match="It can be: nobody, @role"):
        checked("approvers", value)


async def test_the_network_is_a_preset_or_hosts_or_both() -> None:
    store = fresh_store()
    kept = Preferences(store)
    assert (await kept.of("3", "2", "1")).network == "none"
    await kept.put("channel", "2", "network", "Packages, *.Example.org  git.example.org")
    assert (await Preferences(store).of("3", "2", "1")).network == "packages *.example.org git.example.org"
    await kept.put("thread", "3", "network", "none")
    assert (await kept.of("3", "2", "1")).network == "none"
    assert CHOICES["network"].meaning("packages git.example.org") == (
        "commands reach the usual package indexes, `git.example.org`, and nothing else"
    )


@pytest.mark.parametrize(("value", "kept"), [("ON", "on"), (" Drift, safety ", "drift safety"), ("drift", "drift")])
def test_watchers_are_off_on_or_named(value: str, kept: str) -> None:
    assert checked("watchers", value) == kept
    with pytest.raises(UnknownChoice, match="It can be: off, on, NAMES"):
        checked("watchers", "dr/ift")
    assert CHOICES["watchers"].meaning("drift safety") == "`drift` and `safety` look on, from the next task on"
    assert CHOICES["watchers"].meaning("drift") == "`drift` looks on, from the next task on"


async def test_hosts_can_be_added_to_what_a_wider_place_allows() -> None:
    store = fresh_store()
    kept = Preferences(store)
    await kept.put("channel", "2", "network", "+ example.org")
    assert (await kept.of("3", "2", "1")).network == "example.org"
    await kept.put("guild", "1", "network", "packages")
    assert (await kept.of("3", "2", "1")).network == "packages example.org"
    await kept.put("thread", "3", "network", "+packages git.example.org")
    assert (await Preferences(store).of("3", "2", "1")).network == "packages example.org git.example.org"
    await kept.put("channel", "2", "network", "none")
    assert (await kept.of("3", "2", "1")).network == "packages git.example.org"
    assert CHOICES["network"].meaning("+git.example.org") == "commands reach `git.example.org` as well"


async def test_the_web_is_opened_for_reading_and_for_no_command() -> None:
    store = fresh_store()
    kept = Preferences(store)
    await kept.put("guild", "1", "network", "packages")
    await kept.put("channel", "2", "network", "+@Web")
    assert (await kept.of("3", "2", "1")).network == "packages @web"
    meaning = CHOICES["network"].meaning
    assert meaning("@web") == "I may search and read the whole web; commands reach no host"
    assert meaning("+@web") == "I may search and read the whole web as well"
    assert meaning("packages @web") == (
        "I may search and read the whole web; commands reach the usual package indexes, and nothing else"
    )
    assert meaning("web") == "commands reach `web`, and nothing else", "a host that is called so"
    assert placed("docker", "web") == "docker, network: web"
    assert placed("docker", "@web") == "docker, no network"
    assert placed("docker", "packages @web example.org") == "docker, network: packages example.org"


async def test_hosts_that_are_kept_are_added_where_they_are_narrowest() -> None:
    """What the server chooses goes on counting, and a thread with a list of its own keeps them to itself."""
    store = fresh_store()
    kept = Preferences(store)
    networks = ThreadNetworks(kept, store)
    for thread in ("3", "4"):
        await store.save_session(SessionRow(thread=thread, channel="2", guild="1"))
    await kept.put("guild", "1", "network", "packages")
    assert await networks.keep("3", ("example.org",)) == "Later tasks in this channel may too."
    assert await kept.at("channel", "2", "network") == "+example.org"
    await networks.keep("3", ("git.example.org",))
    await kept.put("guild", "1", "network", "none")
    assert await networks.chosen("4") == "example.org git.example.org"
    await kept.put("thread", "4", "network", "none")
    assert await networks.keep("4", ("example.net",)) == "Later tasks in this thread may too."
    assert await networks.chosen("4") == "example.net"
    assert not (await networks.hosts("3")).allows("example.net")
    many = tuple(f"h{number}.example.org" for number in range(51))
    assert "51 hosts" in await networks.keep("4", many[:50])


@pytest.mark.parametrize(
    "value",
    ["+none", "example.org +example.net", "https://example.org", "10.0.0.1", "*.org"],
)
async def test_what_is_no_host_cannot_be_reached(value: str) -> None:
    with pytest.raises(UnknownChoice, match=r"network cannot be .*: .*It can be: none, packages, @web, hosts"):
        checked("network", value)


async def test_a_thread_reaches_what_the_nearest_choice_says_at_once() -> None:
    store = fresh_store()
    kept = Preferences(store)
    networks = ThreadNetworks(kept, store)
    await store.save_session(SessionRow(thread="3", channel="2", guild="1"))
    assert not (await networks.hosts("3")).allows("example.org")
    await kept.put("channel", "2", "network", "example.org")
    assert (await networks.hosts("3")).allows("example.org")
    assert placed("docker", await networks.chosen("3")) == "docker, network: example.org"
    await kept.put("thread", "3", "network", "none")
    assert not (await networks.hosts("3")).allows("example.org")
    assert placed("docker", await networks.chosen("3")) == "docker, no network"
    assert placed("host, .aiignore is not firm", "none") == "host, .aiignore is not firm"
    assert not (await networks.hosts("no such thread")).allows("example.org")


@pytest.mark.parametrize("stored", ["no json", "[1]", '{"verbosity": "loud", "later": "x"}', '{"verbosity": 7}'])
async def test_what_a_newer_version_or_a_fault_left_is_as_if_nobody_had_chosen(stored: str) -> None:
    store = fresh_store()
    await store.set_fact("preference.guild.1", stored)
    assert await Preferences(store).of(guild="1") == Preference()


@pytest.mark.parametrize(
    ("value", "kept"), [("AUTO", "auto"), (" acme/Small:7b ", "acme/Small:7b"), ("tier3", "tier3")]
)
async def test_a_model_is_kept_as_it_is_written(value: str, kept: str) -> None:
    store = fresh_store()
    await Preferences(store).put("thread", "3", "model", value)
    assert (await Preferences(store).of("3")).model == kept


@pytest.mark.parametrize("value", ["two words", "x" * 201, "`x`"])
async def test_what_is_no_name_of_a_model_is_none(value: str) -> None:
    with pytest.raises(UnknownChoice, match="It can be: auto, NAME"):
        checked("model", value)


def test_each_field_can_be_set_and_its_default_is_one_of_its_values() -> None:
    for field in fields(Preference):
        assert checked(field.name, CHOICES[field.name].default) == getattr(Preference(), field.name)


async def test_what_another_process_chooses_counts_in_a_moment_and_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command asks several times at once what its place may reach, and each question is a request to AWS."""
    now, asked = [100.0], list[Sequence[str]]()

    class Asked(SQLiteStore):
        async def facts(self, keys: Sequence[str]) -> dict[str, str]:
            asked.append(keys)
            return await super().facts(keys)

    monkeypatch.setattr(preferences, "monotonic", lambda: now[0])
    store = fresh_store(Asked)
    here, there = Preferences(store), Preferences(store)
    here.shared = there.shared = True
    for _ in range(3):
        assert (await here.of("3", "2", "1")).verbosity == "normal"
    assert len(asked) == 1
    await there.put("thread", "3", "verbosity", "quiet")
    now[0] += preferences.OLD_SECONDS + 0.1
    assert (await here.of("3", "2", "1")).verbosity == "quiet"
    await there.put("thread", "3", "ping", "never")
    await here.put("thread", "3", "verbosity", "detailed")
    now[0] += preferences.OLD_SECONDS + 0.1
    assert ((await there.of("3")).verbosity, (await there.of("3")).ping) == ("detailed", "never")
