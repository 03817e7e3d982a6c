"""The doctor's rows: no advice to install what is in use, no ✔ for what cannot be asked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentic.code_index import syntax_reader
from agentic.models.providers.server_check import Finding
from agentic.models.tier_config import tiers_from
from agentic.ports.errors import SandboxRefused
from agentic.sandbox.backends import selection
from agentic.sandbox.backends.bubblewrap import Bubblewrap
from agentic.sandbox.backends.bwrap_programs import Bwrap
from agentic.sandbox.backends.host import Host
from agentic.sandbox.pool import Choice
from bot.cli.arguments import PROVIDERS
from bot.cli.checks.model_access import KEYED, Answer
from bot.cli.costs import CostsArguments, costs
from bot.cli.doctor import (
    LEGEND,
    Component,
    code_search,
    console,
    lessons,
    model_components,
    provider_components,
    sandbox,
    sandbox_component,
    show,
)
from bot.config.home import CODE_INDEX
from bot.config.settings import Settings
from reflexion.retrieval import embedding

NO_DOCKER = (
    "docker: no Docker engine answers at /var/run/docker.sock: No such file or directory. Start Docker, install "
    "bubblewrap, or allow the host with THREADWRIGHT_SANDBOX=host."
)


class Walled(Host):
    """A rung under another name, as the one that was chosen."""

    name = said = "bubblewrap"


def test_a_sandbox_in_use_comes_without_advice(tmp_path: Path) -> None:
    row = sandbox_component(Choice(Walled(tmp_path), f"a command really ran ({NO_DOCKER})", (NO_DOCKER,)))
    assert row.state == "ok"
    held = "memory is checked twice a second; commands reach only hosts that an owner allows"
    assert row.why == f"works (Docker not found; not needed); {held}"
    assert row.todo == ""


@pytest.mark.parametrize("there", [True, False])
async def test_a_sandbox_is_tried_in_the_home_where_there_is_one(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine in a container sees the home alone of what this process sees."""
    tried: list[Path] = []

    async def choose(_setting: str, state: Path, **_: object) -> Choice:
        tried.append(state)
        return Choice(None, "none")

    monkeypatch.setattr(selection, "choose", choose)
    home = tmp_path / "home"
    if there:
        home.mkdir()
    await sandbox(Settings(home=home))
    assert home in tried[0].parents if there else not home.exists()
    assert not tried[0].exists(), "nothing of it is left"


def test_the_table_fits_80_columns_without_blanks_at_the_ends_and_explains_its_signs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fine = Component("python", "3.11", "ok", "supported, " + "and it has much to say about that " * 4)
    show([fine])
    assert "could not be checked" not in capsys.readouterr().out
    show([fine, Component("models", "tour", "limited", "no model", "run `threadwright setup`")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == LEGEND
    assert all(len(line) <= 80 and line == line.rstrip() for line in lines)


def test_help_names_the_providers_that_setup_takes_a_key_of() -> None:
    assert ", ".join(sorted(KEYED)) == PROVIDERS


async def test_docker_alone_is_told_of_auto_which_brings_bubblewrap(tmp_path: Path) -> None:
    choice = await selection.choose("docker", tmp_path / "state", docker_url=f"unix://{tmp_path}/none.sock")
    row = sandbox_component(choice, "docker")
    assert "no Docker engine answers" in row.why
    assert row.todo.startswith("start Docker, or set THREADWRIGHT_SANDBOX=auto")


@pytest.mark.parametrize(
    ("setting", "also"),
    [("auto", "; or start Docker;"), ("bubblewrap", "; or start Docker and set THREADWRIGHT_SANDBOX=auto;")],
)
def test_what_mends_the_sandbox_is_said_first_and_docker_after_it(setting: str, also: str) -> None:
    refused = SandboxRefused("user namespaces are switched off", "run: sudo sysctl -w user.max_user_namespaces=15000")
    row = sandbox_component(Choice(None, "no command runs", refused=refused), setting)
    assert row.todo.startswith(f"{refused.todo}{also}")


def test_which_bubblewrap_it_is_is_shown() -> None:
    program = Bwrap(Path("/usr/bin/bwrap"), "system", "0.11.0")
    assert (
        sandbox_component(Choice(Bubblewrap(Path(), program), "it ran")).adapter == "bubblewrap (of the system, 0.11.0)"
    )


@pytest.mark.parametrize(
    ("given", "state"),
    [
        ({"console": "127.0.0.1:8094"}, "ok"),
        ({"console": "0.0.0.0:8094"}, "limited"),
        ({"console_url": "https://console.example.org"}, "limited"),
        ({"console": "0.0.0.0:8094", "console_token": "a-token-that-is-long-enough-for-anybody"}, "ok"),
        ({"console": "0.0.0.0:8094", "DISCORD_CLIENT_ID": "1", "DISCORD_CLIENT_SECRET": "s"}, "limited"),
        (
            {"console": "0.0.0.0:8094", "DISCORD_CLIENT_ID": "1", "DISCORD_CLIENT_SECRET": "s", "DISCORD_TOKEN": "t"},
            "ok",
        ),
    ],
)
def test_a_console_that_others_would_reach_and_nobody_could_sign_in_to_is_told_with_what_to_set(
    given: dict[str, str], state: str, tmp_path: Path
) -> None:
    row = console(Settings.model_validate({"home": tmp_path, **given}))
    assert (row.state, "THREADWRIGHT_CONSOLE_TOKEN" in row.todo) == (state, state == "limited")


def test_a_tier_whose_model_has_no_key_is_not_marked_as_fine() -> None:
    choice = tiers_from([None, "openai/gpt-4o-mini", "anthropic/claude-haiku-4-5", None], {"ANTHROPIC_API_KEY": "k"})
    answers: dict[str, Answer] = {"anthropic": ("claude-haiku-4-5",)}
    states = {row.name: row.state for row in model_components(choice, answers) if row.name.startswith("tier")}
    assert states == {"tier 2": "missing", "tier 3": "ok"}


UNREACHED = Finding("ANTHROPIC_API_KEY", "Anthropic could not be reached", "Look at the network", "unknown")
REFUSED = Finding("ANTHROPIC_API_KEY", "Anthropic refused the key (401)", "Copy the key again", "refused")


@pytest.mark.parametrize(
    ("answer", "provider", "tier"),
    [
        (("claude-haiku-4-5-20251001",), "ok", "ok"),
        (("claude-other",), "ok", "limited"),
        (UNREACHED, "unknown", "unknown"),
        (REFUSED, "missing", "missing"),
    ],
)
def test_a_key_is_fine_only_where_its_provider_said_so(answer: Answer, provider: str, tier: str) -> None:
    choice = tiers_from([None, "anthropic/claude-haiku-4-5", None, None], {"ANTHROPIC_API_KEY": "k"})
    (row,) = provider_components(choice, {"anthropic": answer})
    (shown,) = model_components(choice, {"anthropic": answer})
    assert (row.state, shown.state) == (provider, tier)
    if tier == "limited":
        assert "claude-haiku-4-5 is not among the models" in shown.why
        assert "THREADWRIGHT_TIER_2" in shown.todo


def test_a_refused_key_beside_one_that_works_is_no_reason_not_to_start() -> None:
    choice = tiers_from(
        [None, "anthropic/claude-haiku-4-5, openai/gpt-5.4", None, None],
        {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"},
    )
    answers: dict[str, Answer] = {"anthropic": REFUSED, "openai": ("gpt-5.4",)}
    rows = (*provider_components(choice, answers), *model_components(choice, answers))
    assert [row.state for row in rows] == ["limited", "ok", "limited"]


@pytest.mark.parametrize("mode", ["auto", "off"])
@pytest.mark.parametrize("there", ["installed", "broken", "missing"])
async def test_lessons_by_meaning_are_told_with_what_to_do(
    mode: str, there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if there == "missing":
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
    elif embedding.embedder("auto") is None:
        pytest.skip("the model of meaning is not installed: make embeddings")
    if there == "broken":
        monkeypatch.setattr(embedding, "_VOCABULARY", tmp_path / "nowhere.txt")
    row = await lessons(Settings(_env_file=None, home=tmp_path, embeddings=mode))  # type: ignore[call-arg, arg-type]
    used = mode == "auto" and there == "installed"
    assert row.state == ("limited" if (mode, there) == ("auto", "broken") else "ok")
    assert ("meaning" in row.adapter) == used
    assert ("make embeddings" in row.todo) == (there == "missing" or row.state == "limited")
    assert ("THREADWRIGHT_EMBEDDINGS" in row.todo) == (mode == "off" or row.state == "limited")
    assert ("works" in row.why) == used
    assert ("not installed" in row.why) == (there == "missing")


def test_the_code_search_is_told_with_its_indexes_or_why_it_is_off_or_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Settings(_env_file=None, home=tmp_path)  # type: ignore[call-arg]
    assert code_search(here, "found by words").why == "no workspace was searched yet"
    (tmp_path / CODE_INDEX).mkdir()
    (tmp_path / CODE_INDEX / "1.sqlite").write_bytes(b"x" * 200_000)
    row = code_search(here, "found by words and by meaning")
    assert (row.adapter, row.state, row.why) == ("found by words and by meaning", "ok", "1 workspace indexed, 0.2 MB")
    off = code_search(Settings(_env_file=None, home=tmp_path, code_search="off"), "found by words")  # type: ignore[call-arg]
    assert (off.adapter, off.state) == ("off", "ok")
    assert "THREADWRIGHT_CODE_SEARCH" in off.todo
    for program in ("/bin/false", "/nowhere/python"):
        monkeypatch.setattr(syntax_reader.sys, "executable", program)
        assert code_search(here, "found by words").state == "limited"


async def test_costs_of_an_empty_home_are_no_error_and_of_a_search_without_a_match_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(_env_file=None, home=tmp_path)  # type: ignore[call-arg]
    assert await costs(settings, CostsArguments()) == 0
    assert capsys.readouterr().out == "No finished tasks yet.\n"
    assert await costs(settings, CostsArguments(role="dba")) == 1
