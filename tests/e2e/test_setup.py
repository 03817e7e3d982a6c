"""`threadwright setup` as a process: piped, by flags, and at a terminal; the local guild is its Discord."""

from __future__ import annotations

import asyncio
import json
import re
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bot.cli.checks import discord_token
from bot.local_discord import LocalGuild, Permission
from tests.e2e.processes import environment, started
from tests.e2e.terminals import SECONDS, model_server, terminal

GOOD = "sk-good-key-1234567890"
LISTED = ("claude-haiku-4-5-20251001", "claude-sonnet-4-6", "claude-opus-4-8", "house-model")


@pytest.fixture
async def guild() -> AsyncIterator[LocalGuild]:
    async with await LocalGuild.start() as guild:
        guild.grant_intents()
        yield guild


@pytest.fixture
async def provider() -> AsyncIterator[str]:
    """A model server that takes one key, by Anthropic's and OpenAI's interfaces, and is an Ollama too."""
    async with model_server(LISTED, GOOD, ("qwen3:8b", "gemma3:4b")) as address:
        yield address


@dataclass
class Ended:
    """What a process said and left."""

    code: int
    out: str
    err: str

    @property
    def all(self) -> str:
        return self.out + self.err


def told(home: Path, guild: LocalGuild, **more: str) -> dict[str, str]:
    return environment(home, {}, THREADWRIGHT_DISCORD_API=guild.rest_base, **more)


async def setup(home: Path, env: dict[str, str], *flags: str, lines: str = "") -> Ended:
    """Run it in a folder, with lines on a pipe."""
    async with started("setup", *flags, env=env, cwd=home, typed=lines.encode()) as running:
        code = await running.ended(SECONDS)
    return Ended(code, "".join(running.said), "".join(running.troubles))


def take_away(guild: LocalGuild, right: Permission) -> None:
    for role in tuple(guild.state.roles.values()):
        guild.state.put_role(replace(role, permissions=role.permissions & ~int(right)))


async def test_piped_answers_are_checked_and_written_and_no_secret_is_shown(
    tmp_path: Path, guild: LocalGuild, provider: str
) -> None:
    (tmp_path / ".env").write_text("# mine\nTHREADWRIGHT_LOG_LEVEL=info\n")
    lines = f"{guild.bot_token}\nanthropic\n{GOOD}\nnone\n2.5\ny\n\nbubblewrap\n8 16 30\n45\n"
    ended = await setup(tmp_path, told(tmp_path, guild, ANTHROPIC_BASE_URL=provider), lines=lines)
    assert ended.code == 0, ended.all
    text = (tmp_path / ".env").read_text()
    assert text.startswith("# mine\nTHREADWRIGHT_LOG_LEVEL=info\n")
    for line in (
        f"DISCORD_TOKEN={guild.bot_token}", f"ANTHROPIC_API_KEY={GOOD}", "THREADWRIGHT_MAX_USD=2.5",
        "THREADWRIGHT_MAX_TURNS_SIMPLE=8", "THREADWRIGHT_MAX_TURNS_COMPLEX=30", "THREADWRIGHT_MAX_MINUTES=45",
        "THREADWRIGHT_SANDBOX=bubblewrap",
    ):  # fmt: skip
        assert line in text.splitlines()
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600
    assert guild.bot_token not in ended.all
    assert GOOD not in ended.all
    assert "it can read messages" in ended.out
    assert "has every permission" in ended.out
    rights = sum(each.bit for each in discord_token.NEEDED.values())
    invite = f"client_id={guild.bot_user_id}&permissions={rights}&scope=bot+applications.commands"
    assert invite in ended.out


async def test_run_again_keeps_what_is_set_and_takes_enter_for_it(tmp_path: Path, guild: LocalGuild) -> None:
    before = f"DISCORD_TOKEN={guild.bot_token}\nTHREADWRIGHT_MAX_USD=1.5\n"
    (tmp_path / ".env").write_text(before)
    ended = await setup(tmp_path, told(tmp_path, guild), lines="\n\n\n\n")
    assert ended.code == 0, ended.all
    assert "[set]" in ended.err
    assert guild.bot_token not in ended.all
    assert (tmp_path / ".env").read_text().startswith(before)


@pytest.mark.parametrize(
    ("option", "wrong"),
    [
        ("--discord-token-file=wrong", b"two words"),
        ("--key=openai=wrong", b"line\nA=2"),
        ("--key=openai=wrong", b"\xff\xfe\x00"),
    ],
)
async def test_a_file_that_holds_no_secret_of_one_word_is_told_in_a_line(
    tmp_path: Path, option: str, wrong: bytes
) -> None:
    (tmp_path / ".env").write_text("A=1\n")
    (tmp_path / "wrong").write_bytes(wrong)
    local = () if "token" in option else ("--local",)
    ended = await setup(tmp_path, environment(tmp_path, {}), "--yes", "--sandbox=host", option, *local)
    assert ended.code == 1, ended.all
    assert "Traceback" not in ended.err
    assert "Nothing was written" in ended.err
    assert (tmp_path / ".env").read_text() == "A=1\n"


@pytest.mark.parametrize("wrong", ["MTIzNDU2Nzg5.wrong.token", "two words"])
async def test_a_token_that_is_none_is_told_and_nothing_is_written(
    tmp_path: Path, guild: LocalGuild, wrong: str
) -> None:
    (tmp_path / ".env").write_text("A=1\n")
    ended = await setup(tmp_path, told(tmp_path, guild), lines=f"{wrong}\n")
    assert ended.code in (1, 64)
    assert re.search("refuses the token|holds no blanks", ended.err)
    assert "Nothing was written" in ended.err
    assert wrong not in ended.all
    assert (tmp_path / ".env").read_text() == "A=1\n"


async def test_a_missing_intent_is_told_with_where_to_grant_it(tmp_path: Path, guild: LocalGuild) -> None:
    guild.grant_intents(message_content=False)
    (tmp_path / "token").write_text(guild.bot_token + "\n")
    ended = await setup(tmp_path, told(tmp_path, guild), "--yes", "--discord-token-file", "token")
    assert ended.code == 1
    assert "✘ it can't read messages" in ended.out
    assert "Message Content Intent" in ended.out
    assert "DISCORD_TOKEN=" in (tmp_path / ".env").read_text()  # the token is right; the switch is elsewhere


async def test_missing_permissions_are_named_server_by_server(tmp_path: Path, guild: LocalGuild) -> None:
    take_away(guild, Permission.ATTACH_FILES | Permission.SEND_MESSAGES_IN_THREADS)
    (tmp_path / "token").write_text(guild.bot_token)
    ended = await setup(tmp_path, told(tmp_path, guild), "--yes", "--discord-token-file", "token")
    assert ended.code == 0, ended.all
    assert "it lacks: Send Messages in Threads, Attach Files" in ended.out


async def test_a_bot_in_no_server_is_told_the_invite_link(tmp_path: Path, guild: LocalGuild) -> None:
    guild.remove_bot()
    (tmp_path / "token").write_text(guild.bot_token)
    ended = await setup(tmp_path, told(tmp_path, guild), "--yes", "--discord-token-file", "token")
    assert "it is in no server yet" in ended.out
    assert "Invite it: https://discord.com/oauth2/authorize?client_id=" in ended.out


async def test_without_a_token_it_is_a_local_guild_and_the_old_token_goes(tmp_path: Path, guild: LocalGuild) -> None:
    (tmp_path / ".env").write_text("DISCORD_TOKEN=old.token.x\nKEEP=1\n")
    ended = await setup(tmp_path, told(tmp_path, guild), "--local", "--yes", "--usd", "3")
    assert ended.code == 0, ended.all
    lines = (tmp_path / ".env").read_text().splitlines()
    assert lines[:2] == ["DISCORD_TOKEN=", "KEEP=1"]
    assert "THREADWRIGHT_MAX_USD=3" in lines


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--usd", "many"), "--usd: Write a number"),
        (("--turns", "1 2"), "--turns: Write 3 whole numbers"),
        (("--key", "acme=x"), "a provider is one of"),
        (("--sandbox", "cloud"), "invalid choice"),
        (("--key", "openai=gone"), "gone cannot be used"),
    ],
)
async def test_a_wrong_flag_is_named_with_what_may_stand_there(
    tmp_path: Path, guild: LocalGuild, flags: tuple[str, ...], words: str
) -> None:
    ended = await setup(tmp_path, told(tmp_path, guild), "--local", "--yes", *flags)
    assert ended.code in (1, 64)
    assert words in ended.err
    assert not (tmp_path / ".env").exists()


async def test_where_nobody_answers_it_says_which_flag_does(tmp_path: Path, guild: LocalGuild) -> None:
    ended = await setup(tmp_path, told(tmp_path, guild))
    assert ended.code == 64
    assert "Nobody answered" in ended.err
    assert "--discord-token-file or --local" in ended.err
    assert not list(tmp_path.iterdir())


async def test_a_wrong_key_is_refused_by_its_provider(tmp_path: Path, guild: LocalGuild, provider: str) -> None:
    (tmp_path / "key").write_text("sk-wrong-key")
    env = told(tmp_path, guild, ANTHROPIC_BASE_URL=provider)
    ended = await setup(tmp_path, env, "--local", "--yes", "--key", "anthropic=key")
    assert ended.code == 1
    assert "Anthropic refuses the key" in ended.err
    assert "sk-wrong" not in ended.all
    assert not (tmp_path / ".env").exists()


async def test_settings_that_no_start_would_take_are_named(tmp_path: Path, guild: LocalGuild) -> None:
    (tmp_path / ".env").write_text("THREADWRIGHT_MAX_SANDBOXES=many\n")
    ended = await setup(tmp_path, told(tmp_path, guild), "--local", "--yes")
    assert ended.code == 1
    assert "THREADWRIGHT_MAX_SANDBOXES" in ended.err


async def test_at_a_terminal_secrets_are_not_echoed_and_a_wrong_answer_is_asked_again(
    tmp_path: Path, guild: LocalGuild
) -> None:
    async with terminal(tmp_path, told(tmp_path, guild)) as person:
        await person.answer("Token of your bot", "not.a.token")
        await person.sees("Discord refuses this token")
        await person.answer("Token of your bot", guild.bot_token)
        await person.answer("Which provider?", "none")
        await person.answer("US dollars one task may spend", "-1")
        await person.answer("Write a number, more than 0")
        await person.answer("Change more", "y")
        await person.answer("Change the models of a tier?")
        await person.answer("Where commands run", "moon")
        await person.answer("Write one of: auto, docker", "bubblewrap")
        await person.answer("Turns of a simple")
        await person.answer("Minutes one task may take")
        await person.sees("Start it: threadwright run")
        async with asyncio.timeout(SECONDS):
            assert await person.process.wait() == 0
        assert guild.bot_token not in person.shown
        assert "not.a.token" not in person.shown
    assert f"DISCORD_TOKEN={guild.bot_token}" in (tmp_path / ".env").read_text()


async def test_ctrl_c_leaves_the_old_file_untouched_and_the_terminal_as_it_was(
    tmp_path: Path, guild: LocalGuild
) -> None:
    import termios

    (tmp_path / ".env").write_text("A=1\n")
    async with terminal(tmp_path, told(tmp_path, guild)) as person:
        await person.sees("Token of your bot")
        await person.interrupts("Nothing was written")
        async with asyncio.timeout(SECONDS):
            assert await person.process.wait() == 130
        assert termios.tcgetattr(person.master)[3] & termios.ECHO
    assert (tmp_path / ".env").read_text() == "A=1\n"
    assert [path.name for path in tmp_path.iterdir()] == [".env"]


async def test_where_the_token_comes_from_and_what_the_bot_may_do_is_said_before_it_is_asked(
    tmp_path: Path, guild: LocalGuild
) -> None:
    async with terminal(tmp_path, told(tmp_path, guild)) as person:
        await person.answer("Token of your bot")
        before = person.shown
        steps = [
            discord_token.PORTAL, "New Application", "Open “Bot”", "Message Content Intent", "Save Changes", "Reset Token",
            "Copy",
        ]  # fmt: skip
        places = [before.find(step) for step in steps]
        assert -1 not in places, before
        assert places == sorted(places), "in the order in which they are pressed"
        assert len(discord_token.NEEDED) == 8
        for name, permission in discord_token.NEEDED.items():
            assert re.search(rf"{name} +{permission.why}", before)
        await person.sees("A local server")


async def test_at_a_terminal_ollama_lists_its_models_and_proposes_one(
    tmp_path: Path, guild: LocalGuild, provider: str
) -> None:
    async with terminal(tmp_path, told(tmp_path, guild, OLLAMA_API_BASE=provider)) as person:
        await person.answer("Token of your bot")
        await person.sees("found 2 models: qwen3:8b, gemma3:4b")
        await person.answer("Which provider?", "ollama")
        await person.answer("Address of Ollama")
        await person.sees("Its models: qwen3:8b, gemma3:4b")
        await person.answer("Which one should do the work? [qwen3:8b]", "gemma4:4b")
        await person.answer("Did you mean ollama_chat/gemma3:4b?", "gemma3:4b")
        await person.answer("Which provider?")
        await person.sees("ollama_chat/gemma3:4b")
        await person.answer("US dollars")
        await person.answer("Change more")
        await person.sees("Start it: threadwright run")
        async with asyncio.timeout(SECONDS):
            assert await person.process.wait() == 0
    assert "THREADWRIGHT_TIER_2=ollama_chat/gemma3:4b" in (tmp_path / ".env").read_text().splitlines()


async def test_of_a_server_with_many_models_some_that_talk_are_shown_and_the_first_is_proposed(
    tmp_path: Path, guild: LocalGuild
) -> None:
    names = ("text-embedding-3", "reranker", *(f"house-{number}" for number in range(300)))

    async with model_server(names) as address:
        answers = ("", "own", "openai", f"{address}/v1", "", "", "0/0", "none", "", "", "", "")
        ended = await setup(tmp_path, told(tmp_path, guild), lines="".join(f"{answer}\n" for answer in answers))
    assert ended.code == 0, ended.all
    assert "Its models: house-0, house-1, house-2, house-3, house-4 …" in ended.out
    assert "THREADWRIGHT_TIER_2=openai/house-0" in (tmp_path / ".env").read_text().splitlines()


async def test_piped_answers_name_a_server_of_ones_own_and_change_a_tier(
    tmp_path: Path, guild: LocalGuild, provider: str
) -> None:
    answers = (
        "", "own", "openai", f"{provider}/v1", GOOD, "house-model", "0.5/1", "none", "",
        "y", "4", "openai/claude-opus-4-8", "", "", "", "",
    )  # fmt: skip
    ended = await setup(tmp_path, told(tmp_path, guild), lines="".join(f"{answer}\n" for answer in answers))
    assert ended.code == 0, ended.all
    assert "answers and lists 4 models" in ended.out
    assert GOOD not in ended.all
    lines = (tmp_path / ".env").read_text().splitlines()
    for line in (
        f"OPENAI_BASE_URL={provider}/v1", f"OPENAI_API_KEY={GOOD}", "THREADWRIGHT_TIER_2=openai/house-model",
        "THREADWRIGHT_TIER_4=openai/claude-opus-4-8",
        "THREADWRIGHT_PRICES=openai/house-model=0.5/1",
    ):  # fmt: skip
        assert line in lines


async def test_flags_set_addresses_keys_tiers_and_prices_without_a_terminal(
    tmp_path: Path, guild: LocalGuild, provider: str
) -> None:
    (tmp_path / "key").write_text(GOOD)
    flags = (
        "--local", "--yes", f"--base-url=anthropic={provider}", "--key=anthropic=key", f"--ollama={provider}",
        "--tier=1=ollama_chat/qwen3:8b", "--tier=2=anthropic/claude-haiku-4-5",
        "--tier=3=anthropic/house-model, anthropic/claude-sonnet-4-6", "--price=anthropic/house-model=1/2",
    )  # fmt: skip
    ended = await setup(tmp_path, told(tmp_path, guild), *flags)
    assert ended.code == 0, ended.all
    assert "tier 4  last and most expensive" in ended.out
    lines = (tmp_path / ".env").read_text().splitlines()
    for line in (
        f"ANTHROPIC_BASE_URL={provider}", f"OLLAMA_API_BASE={provider}", "THREADWRIGHT_TIER_1=ollama_chat/qwen3:8b",
        "THREADWRIGHT_TIER_2=anthropic/claude-haiku-4-5",
        "THREADWRIGHT_TIER_3=anthropic/house-model,anthropic/claude-sonnet-4-6",
        "THREADWRIGHT_PRICES=anthropic/house-model=1/2",
    ):  # fmt: skip
        assert line in lines
    assert "Changed: " in ended.out
    assert "threadwright doctor" in ended.out


async def test_one_tier_by_flag_leaves_the_others_to_the_keys(tmp_path: Path, guild: LocalGuild, provider: str) -> None:
    (tmp_path / "key").write_text(GOOD)
    flags = ("--local", "--yes", f"--base-url=anthropic={provider}", "--key=anthropic=key")
    ended = await setup(tmp_path, told(tmp_path, guild), *flags, "--tier=2=anthropic/claude-sonnet-4-6")
    assert ended.code == 0, ended.all
    lines = (tmp_path / ".env").read_text().splitlines()
    assert "THREADWRIGHT_TIER_1=anthropic/claude-haiku-4-5" in lines
    assert "THREADWRIGHT_TIER_2=anthropic/claude-sonnet-4-6" in lines
    assert "claude-opus-5 is not among the models" in ended.out


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("--tier=2=anthropic/claude-hiaku-4-5", "Did you mean anthropic/claude-haiku-4-5"),
        ("--tier=2=anthropic/house-model", "--price anthropic/house-model=IN/OUT"),
        ("--tier=2=anthropic/house-model", "THREADWRIGHT_PRICES=anthropic/house-model=IN/OUT"),
        ("--tier=2=mistral/mistral-large-latest", "There is no key for mistral/mistral-large-latest"),
        ("--tier=5=x", "N is 1, 2, 3 or 4"),
        ("--price=house-model", "is no price"),
        ("--base-url=acme=http://x", "openai, anthropic"),
        ("--base-url=openai=nowhere", "does not say whether it is http or https"),
        ("--ollama=http://127.0.0.1:9", "No Ollama answers at http://127.0.0.1:9"),
    ],
)
async def test_a_wrong_model_or_address_is_told_with_what_to_write(
    tmp_path: Path, guild: LocalGuild, provider: str, flag: str, words: str
) -> None:
    env = told(tmp_path, guild, ANTHROPIC_BASE_URL=provider, ANTHROPIC_API_KEY=GOOD)
    ended = await setup(tmp_path, env, "--local", "--yes", flag)
    assert ended.code in (1, 64)
    assert words in ended.err
    assert not (tmp_path / ".env").exists()


async def test_a_key_of_the_environment_is_not_sent_to_an_address_of_the_file(
    tmp_path: Path, guild: LocalGuild, provider: str
) -> None:
    (tmp_path / ".env").write_text(f"ANTHROPIC_BASE_URL={provider}\n")
    ended = await setup(tmp_path, told(tmp_path, guild, ANTHROPIC_API_KEY=GOOD), "--local", "--yes")
    assert ended.code == 1
    assert "wants a key" in ended.out
    assert "answers and lists" not in ended.out


@pytest.mark.parametrize(
    ("key", "tier", "code", "states", "words"),
    [
        (GOOD, "anthropic/claude-haiku-4-5", 0, ("ok", "ok"), "answers and lists 4 models"),
        (GOOD, "anthropic/claude-haiku-4-6", 0, ("ok", "limited"), "claude-haiku-4-6 is not among the models"),
        ("sk-wrong", "anthropic/claude-haiku-4-5", 1, ("missing", "missing"), "refused the key"),
        ("", "ollama_chat/qwen3:8b", 0, ("ok", "ok"), "answers and lists 2 models"),
        ("", "ollama_chat/none", 0, ("ok", "limited"), "ollama pull none"),
    ],
)
async def test_doctor_tries_a_key_and_an_address_before_it_says_that_they_are_fine(
    tmp_path: Path, provider: str, key: str, tier: str, code: int, states: tuple[str, str], words: str
) -> None:
    known = {"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": provider} if key else {"OLLAMA_API_BASE": provider}
    price = {"THREADWRIGHT_PRICES": "anthropic/claude-haiku-4-6=1/5"}
    env = environment(tmp_path, known, THREADWRIGHT_SANDBOX="bubblewrap", THREADWRIGHT_TIER_2=tier, **price)
    async with started("doctor", "--json", env=env, cwd=tmp_path) as running:
        assert await running.ended() == code, running.output
        report = json.loads("".join(running.said))
    rows = {row["name"]: row for row in report["components"]}
    assert (rows["provider"]["state"], rows["tier 2"]["state"]) == states
    assert words in json.dumps(report)


async def test_doctor_says_unknown_where_a_server_cannot_be_asked(tmp_path: Path) -> None:
    known = {"OPENAI_API_KEY": GOOD, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    env = environment(tmp_path, known, THREADWRIGHT_SANDBOX="bubblewrap")
    async with started("doctor", env=env, cwd=tmp_path) as running:
        assert await running.ended() == 0, running.output
        text = "".join(running.said)
    assert re.search(r"^\? +provider +OpenAI: nothing answers at http://127.0.0.1:9/v1", text, re.MULTILINE)
    assert re.search(r"^\? +tier 2 .*not checked", text, re.MULTILINE)
    assert "✔  tier" not in text


async def test_doctor_makes_the_same_check(tmp_path: Path, guild: LocalGuild) -> None:
    guild.grant_intents(message_content=False)
    take_away(guild, Permission.ADD_REACTIONS)
    env = told(tmp_path, guild, DISCORD_TOKEN=guild.bot_token, THREADWRIGHT_SANDBOX="bubblewrap")
    async with started("doctor", "--json", env=env, cwd=tmp_path) as running:
        assert await running.ended() == 1
        report = json.loads("".join(running.said))
    rows = {row["adapter"]: row for row in report["components"] if row["name"] == "Discord"}
    assert rows["token"]["state"] == "ok"
    assert rows["intent"]["state"] == "missing"
    assert "Add Reactions" in rows["server"]["why"]
    assert rows["invite link"]["todo"].startswith("https://discord.com/oauth2/authorize?")
    assert guild.bot_token not in running.output


async def test_what_setup_wrote_starts_a_bot_that_is_online(tmp_path: Path, guild: LocalGuild) -> None:
    (tmp_path / "token").write_text(guild.bot_token)
    env = told(tmp_path, guild)
    ended = await setup(tmp_path, env, "--yes", "--discord-token-file", "token", "--sandbox", "bubblewrap")
    assert ended.code == 0, ended.all
    async with started("run", env=env, cwd=tmp_path) as running:
        await running.until_said("is online. Mention it")
        await guild.wait_for(lambda here: here.online)
        assert await running.end() == 0
