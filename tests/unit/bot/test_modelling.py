"""Which models judge, by settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic.core.events.execution_events import Tier
from agentic.models.providers.prices import Prices
from bot.config.models import judges_from, models_from
from bot.config.settings import Settings, SettingsMistaken, read_settings
from reflexion.judge.judge import JudgeCandidate

KEYS = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
TIERS = tuple(Tier(number=number, models=(f"m{number}", f"n{number}")) for number in (1, 2, 3, 4))


def settings(**values: str | tuple[str, ...]) -> Settings:
    return Settings(_env_file=None, tier_2=("anthropic/claude-haiku-4-5",), **values)  # type: ignore[call-arg, arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue] - as the environment gives them


def test_judges_are_looked_for_where_most_turns_are_and_the_dearest_tier_comes_last() -> None:
    names = [candidate.model for candidate in judges_from(settings(), TIERS)]
    assert names == ["m2", "n2", "m3", "n3", "m1", "n1", "m4", "n4"]
    assert judges_from(settings(judge_model="own/judge"), TIERS) == (JudgeCandidate("own/judge", named=True),)
    assert judges_from(settings(), ()) == ()
    assert judges_from(settings(judge_model="own/judge"), TIERS, lasting=False) == ()


def test_a_named_judge_that_cannot_be_asked_is_told_at_the_start_and_only_where_it_would_be() -> None:
    for model, said in (("openai/nobody-knows", "price"), ("groq/llama-3.1-8b-instant", "no key")):
        with pytest.raises(SettingsMistaken, match=said) as caught:
            models_from(settings(judge_model=model), KEYS, Prices())
        assert [mistake.name for mistake in caught.value.mistakes] == ["THREADWRIGHT_JUDGE_MODEL"]
        models_from(settings(judge_model=model, judge="off"), KEYS, Prices())
    models_from(settings(judge_model="openai/gpt-5.4-mini"), KEYS, Prices())


def test_a_judge_is_one_model_and_a_mode_one_of_three(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("THREADWRIGHT_JUDGE_MODEL", "openai/a,openai/b")
    monkeypatch.setenv("THREADWRIGHT_JUDGE", "sometimes")
    with pytest.raises(SettingsMistaken) as caught:
        read_settings()
    told = {mistake.name: str(mistake) for mistake in caught.value.mistakes}
    assert "it is the name of one model" in told["THREADWRIGHT_JUDGE_MODEL"]
    assert "Write one of: auto, always, off" in told["THREADWRIGHT_JUDGE"]
