"""Which models the tiers hold, and what is said about them."""

from __future__ import annotations

import pytest

from agentic.models.providers.catalogue import BY_NAME
from agentic.models.providers.prices import Prices, prices_from
from agentic.models.tier_config import DEFAULTS, tiers_from

NOTHING = (None, None, None, None)


@pytest.fixture(scope="module")
def prices() -> Prices:
    return Prices()


@pytest.mark.parametrize("provider", DEFAULTS)
def test_every_default_stands_in_the_price_map_and_the_tiers_with_tools_can_call_them(prices: Prices, provider: str):
    for number, models in enumerate(DEFAULTS[provider], 1):
        for model in models:
            facts = prices.load().get(model) or prices.load().get(model.partition("/")[2])
            assert facts is not None, f"{model} is not in the price map"
            assert number == 1 or facts.native_calls, f"{model} cannot call tools"


@pytest.mark.parametrize("provider", [name for name in DEFAULTS if BY_NAME[name].keys])
def test_a_tier_never_costs_less_than_the_one_below(prices: Prices, provider: str):
    costs = [prices.price(models[0], 3_000, 1_000) for models in DEFAULTS[provider]]
    assert costs == sorted(costs)


def test_without_any_key_the_tour_runs():
    choice = tiers_from(NOTHING, {})
    assert choice.source == "tour"
    assert choice.models == ("scripted/tour",)
    assert "scripted" in choice.told


@pytest.mark.parametrize("provider", [name for name in DEFAULTS if BY_NAME[name].keys])
def test_a_key_alone_gives_all_four_tiers_of_its_provider(provider: str):
    choice = tiers_from(NOTHING, {BY_NAME[provider].keys[0]: "k"})
    assert choice.source == "defaults"
    assert [tier.number for tier in choice.tiers] == [1, 2, 3, 4]
    assert all(model.startswith(f"{provider}/") for model in choice.models)
    assert BY_NAME[provider].title in choice.told
    assert choice.problems == ()


def test_with_two_keys_the_second_provider_stands_behind_the_first_in_each_tier():
    choice = tiers_from(NOTHING, {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"})
    for tier in choice.tiers:
        providers = [model.partition("/")[0] for model in tier.models]
        assert providers == sorted(providers)
        assert set(providers) == {"anthropic", "openai"}


def test_settings_win_and_leave_the_other_tiers_empty():
    choice = tiers_from(
        (None, "gpt-4o, gpt-4o-mini ,gpt-4o", ("claude-opus-4-5",), ""),
        {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"},
    )
    assert choice.source == "settings"
    assert [(tier.number, tier.models) for tier in choice.tiers] == [
        (2, ("gpt-4o", "gpt-4o-mini")),
        (3, ("claude-opus-4-5",)),
    ]
    assert choice.problems == ()


def problem(value: str, env: dict[str, str], prices: Prices | None = None) -> str:
    (found,) = tiers_from((None, value), env, prices).problems
    return str(found)


def test_a_name_without_its_key_is_named_with_the_variable_to_set():
    told = problem("groq/openai/gpt-oss-20b", {})
    assert told == (
        "THREADWRIGHT_TIER_2: there is no key for groq/openai/gpt-oss-20b. "
        "Set GROQ_API_KEY or GROQ_API_BASE, or name another model"
    )


def test_a_misspelt_name_gets_the_nearest_one():
    assert "Did you mean claude-sonnet-4-5" in problem("claude-sonnet-4-55", {"ANTHROPIC_API_KEY": "k"})


def test_a_model_without_a_price_is_named_with_what_to_write():
    env = {"HOSTED_VLLM_API_BASE": "http://127.0.0.1:8000/v1"}
    told = problem("hosted_vllm/our-own-7b", env)
    assert [one.fatal for one in tiers_from((None, "hosted_vllm/our-own-7b"), env).problems] == [True]
    assert "THREADWRIGHT_PRICES=hosted_vllm/our-own-7b=IN/OUT" in told
    assert (
        tiers_from((None, "hosted_vllm/our-own-7b"), env, Prices(prices_from("hosted_vllm/our-own-7b=1/2"))).problems
        == ()
    )


def test_a_first_tier_alone_leaves_tasks_without_a_model():
    assert [p.fatal for p in tiers_from(("gpt-4o",), {"OPENAI_API_KEY": "k"}).problems] == [True]


def test_an_address_without_a_key_asks_for_the_names_of_its_models():
    choice = tiers_from(NOTHING, {"OPENAI_BASE_URL": "http://127.0.0.1:8000/v1"})
    assert choice.source == "tour"
    assert "openai/NAME" in str(choice.problems[0])


def test_an_address_of_a_provider_in_use_that_can_be_none_is_fatal_and_one_of_another_is_not():
    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "localhost:8000/v1", "MISTRAL_API_BASE": "nowhere"}
    for choice in (tiers_from(NOTHING, env), tiers_from((None, "openai/gpt-4o", None, None), env)):
        (wrong,) = [problem for problem in choice.problems if problem.fatal]
        assert wrong.setting == "OPENAI_BASE_URL"
        assert "Write http://localhost:8000/v1" in str(wrong)
