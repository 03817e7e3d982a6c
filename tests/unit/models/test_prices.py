"""Prices without LiteLLM."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from agentic.core.events.execution_events import Usage
from agentic.models.providers.prices import ModelFacts, Prices, facts_of_rows, prices_from, read_map
from agentic.ports.errors import ModelUnpriced
from deploy.price_list import MAP, PRICES, PROVIDERS, installed, made

PINS = Path(__file__).parents[3] / "requirements/extras.txt"
NEWEST = re.findall(r"^litellm==(\S+)", PINS.read_text(encoding="utf-8"), re.MULTILINE)[0]


@pytest.fixture(scope="module")
def prices() -> Prices:
    return Prices()


def test_a_price_is_known_without_importing_litellm():
    code = (
        "import sys; from agentic.models.providers.prices import Prices; p = Prices().price('openai/gpt-4o', 1000, 1000);"
        "assert 'litellm' not in sys.modules, 'imported'; print(p)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == "0.0125", done.stderr


def test_the_shipped_prices_are_those_of_the_newest_litellm():
    if version("litellm") != NEWEST:
        pytest.skip(f"its copies are of LiteLLM {NEWEST}")
    its_own = installed()
    shipped, known = read_map(), facts_of_rows((its_own / MAP).read_bytes())
    assert {name: shipped.get(name) for name in known} == known, "make prices"
    assert made(its_own, PRICES.read_text(encoding="utf-8")) == (
        PRICES.read_text(encoding="utf-8"), PROVIDERS.read_text(encoding="utf-8"),
    ), "make prices"  # fmt: skip
    assert shipped["openrouter/anthropic/claude-sonnet-4.6"].priced, "which its map left out since"


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("gpt-4o", 12.5),
        ("openai/gpt-4o", 12.5),
        ("claude-sonnet-4-5", 18.0),
        ("anthropic/claude-sonnet-4-5", 18.0),
        ("gemini/gemini-2.5-flash", 2.8),
        ("ollama_chat/whatever-i-made", 0.0),
        ("scripted/tour", 0.0),
    ],
)
def test_a_model_has_its_price_with_and_without_its_provider_s_name(prices: Prices, model: str, dollars: float):
    assert prices.price(model, 1_000_000, 1_000_000) == pytest.approx(dollars)


def test_a_model_nobody_knows_has_no_price_until_settings_give_one():
    assert Prices().price("hosted_vllm/mine", 1, 1) is None
    with pytest.raises(ModelUnpriced, match="THREADWRIGHT_PRICES=hosted_vllm/mine=IN/OUT"):
        Prices().usd("hosted_vllm/mine", Usage(input=5))
    given = Prices(prices_from("hosted_vllm/mine=0.5/1.5@32000, other=1/2/0.1/1.25"))
    assert given.price("hosted_vllm/mine", 1_000_000, 1_000_000) == pytest.approx(2.0)
    assert given.context_window("hosted_vllm/mine") == 32_000
    assert given.usd("other", Usage(cache_read=1_000_000, cache_write=1_000_000)) == pytest.approx(1.35)


@pytest.mark.parametrize(
    "text",
    [
        "mine",
        "mine=",
        "mine=a/b",
        "mine=1",
        "mine=-1/2",
        "=1/2",
        "mine=1/2@many",
        "mine=nan/1",
        "mine=1/inf",
        "a b=1/2",
    ],
)
def test_a_price_that_cannot_be_read_is_named_with_what_to_write(text: str):
    with pytest.raises(ValueError, match=r"Write it like hosted_vllm/my-model=0\.5/1\.5"):
        prices_from(text)


def test_a_model_that_the_map_knows_without_a_price_has_none(prices: Prices):
    """The map lists some models whose price goes by tiers or by the second: that is not nothing."""
    assert prices.facts("dashscope/qwen-plus-latest") is not None
    assert prices.price("dashscope/qwen-plus-latest", 1, 1) is None
    assert not prices.priced("dashscope/qwen-plus-latest")
    assert "dashscope/qwen-plus-latest" not in set(prices.names())
    given = Prices(prices_from("dashscope/qwen-plus-latest=0.4/1.2"))
    assert given.priced("dashscope/qwen-plus-latest")
    assert given.context_window("dashscope/qwen-plus-latest") == prices.context_window("dashscope/qwen-plus-latest")
    assert prices.priced("ollama/whatever-i-have")


@pytest.mark.parametrize(
    ("served", "dollars"),
    [
        ("gpt-4o", 2.5),  # a router of models answered with a dearer one
        ("gpt-4o-mini-2024-07-18", 0.15),
        ("", 0.15),
        ("somebody-elses-model", 0.15),
        ("openai/gpt-4o-mini", 0.15),
    ],
)
def test_the_model_that_served_a_request_is_paid_where_its_price_is_known(prices: Prices, served: str, dollars: float):
    assert prices.usd("openai/gpt-4o-mini", Usage(input=1_000_000), served) == pytest.approx(dollars)


def test_a_price_that_the_settings_give_stands_whoever_serves():
    given = Prices(prices_from("openai/gpt-4o-mini=7/7"))
    assert given.usd("openai/gpt-4o-mini", Usage(input=1_000_000), "gpt-4o") == pytest.approx(7.0)
    assert given.usd("ollama/mine", Usage(input=1_000_000), "gpt-4o") == 0.0


def test_settings_win_over_the_map():
    assert Prices({"gpt-4o": ModelFacts(0.0, 0.0)}).price("gpt-4o", 10, 10) == 0.0


def test_what_came_from_the_cache_is_billed_at_its_own_price(prices: Prices):
    usage = Usage(input=1_000_000, output=1_000_000, cache_read=1_000_000, cache_write=1_000_000)
    assert prices.usd("anthropic/claude-sonnet-4-5", usage) == pytest.approx(3 + 15 + 0.3 + 3.75)


def test_the_window_is_known(prices: Prices):
    assert prices.context_window("anthropic/claude-sonnet-4-5") == 200_000
    assert prices.context_window("nobody/knows") is None


def test_what_a_second_of_sound_costs_is_known_by_seconds_by_tokens_and_as_the_settings_say(prices: Prices):
    assert prices.second("openai/whisper-1") == 0.0001
    assert prices.second("azure/gpt-4o-mini-transcribe") == pytest.approx(10 * 3e-6 + 8 * 5e-6)
    assert prices.second("openai/gpt-4o") is prices.second("hosted_vllm/ears") is None
    assert Prices(prices_from("hosted_vllm/ears=0/0")).second("hosted_vllm/ears") == 0.0
    assert not prices.priced("openai/whisper-1"), "it is paid by the second, and is asked for no words"
