"""Which model or tier a task can start with, how a choice is read, and what it makes of the policy."""

from __future__ import annotations

import pytest

from agentic.core.events.execution_events import Policy, Tier
from agentic.models.providers.prices import ModelFacts, Prices
from bot.config.models import checked_start, start_with, startable, usual_start
from bot.config.preferences import UnknownChoice
from bot.config.settings import Settings
from bot.sessions.start import policy_from
from tests.integration.bot.commanding import POLICY

TIERS = POLICY.tiers


def test_tiers_with_tools_and_their_models_can_be_started_with() -> None:
    assert startable(TIERS) == {
        "tier2": 2, "tier3": 3, "acme/small": 2, "acme/other": 2, "acme/large": 3, "acme/unpriced": 3,
    }  # fmt: skip
    assert usual_start(TIERS) == 2
    assert startable(()) == {}
    assert usual_start(()) == 2


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("auto", "auto"), (" AUTO ", "auto"), ("3", "tier3"), ("Tier 3", "tier3"), ("tier2", "tier2"),
        ("acme/large", "acme/large"), ("other", "acme/other"),
    ],
)  # fmt: skip
def test_a_choice_is_read_as_people_write_it(typed: str, kept: str) -> None:
    assert checked_start(POLICY, typed) == kept


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("gpt-9", "no model or tier `gpt-9`.*`auto`, `tier2`.*Ask whoever runs"),
        ("4", "no model or tier `4`"),
        ("tier 1", "Tier 1 only sorts messages"),
        ("acme/tiny", "no model or tier `acme/tiny`"),
        ("unpriced", "price of acme/unpriced is not known.*THREADWRIGHT_PRICES=acme/unpriced=IN/OUT"),
        ("x `y` " * 900, "no model or tier `x"),
        ("", "no model or tier"),
    ],
)
def test_what_cannot_be_started_with_is_refused_with_what_to_do(typed: str, says: str) -> None:
    with pytest.raises(UnknownChoice, match=says) as refused:
        checked_start(POLICY, typed)
    assert len(str(refused.value)) < 500


def test_a_name_that_two_providers_share_is_asked_back() -> None:
    policy = Policy(tiers=(Tier(number=2, models=("a/same", "b/same")),), prices={"a/same": (1, 1), "b/same": (1, 1)})
    with pytest.raises(UnknownChoice, match=r"several models here.*`a/same`, `b/same`"):
        checked_start(policy, "same")


def test_a_chosen_model_is_the_first_of_its_tier_and_the_policy_begins_there() -> None:
    assert start_with(TIERS, "auto") is None
    prices = Prices({name: ModelFacts(i / 1e6, o / 1e6) for name, (i, o) in POLICY.prices.items()})
    for chosen, tier, models in (
        ("acme/other", 2, ("acme/other", "acme/small")),
        ("tier3", 3, ("acme/large", "acme/unpriced")),
    ):
        policy = policy_from(Settings(), TIERS, attended=True, prices=prices, chosen=chosen)
        assert (policy.starting_tier, policy.start_chosen) == (tier, chosen)
        assert next(each.models for each in policy.tiers if each.number == tier) == models
        assert [each.number for each in policy.tiers] == [1, 2, 3]


@pytest.mark.parametrize("chosen", ["acme/gone", "tier4", "tier1"])
def test_a_choice_that_is_not_configured_any_more_counts_as_none(chosen: str) -> None:
    policy = policy_from(Settings(), TIERS, attended=True, chosen=chosen)
    assert policy == policy_from(Settings(), TIERS, attended=True)
    assert policy.start_chosen == ""
