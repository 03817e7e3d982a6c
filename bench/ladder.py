"""What moving up a tier is worth: the ladder against fixed tiers and an oracle, over simulated tasks (docs/ladder.md).

``python -m bench.ladder`` prints the whole table, ``python -m bench ladder`` the figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentic.core.events.execution_events import Policy, Tier
from agentic.models.providers.prices import ModelFacts, Prices
from agentic.models.tier_config import DEFAULTS
from bench.figures import Figure, size
from bench.ladder_run import Came, Run
from bench.ladder_world import task

TASKS = size("TASKS", 600, 30)
FIXED = (2, 3, 4)


@dataclass(frozen=True, slots=True)
class Totals:
    """A policy over all tasks."""

    name: str
    runs: tuple[Came, ...]

    @property
    def success(self) -> float:
        """Share of tasks solved."""
        return sum(run.solved for run in self.runs) / len(self.runs)

    @property
    def usd(self) -> float:
        """Dollars for all of them."""
        return sum(run.usd for run in self.runs)

    @property
    def per_solved(self) -> float:
        """Dollars for each task that was solved, the others' cost included."""
        return self.usd / max(sum(run.solved for run in self.runs), 1)

    @property
    def turns(self) -> float:
        """Turns of a task."""
        return sum(run.turns for run in self.runs) / len(self.runs)


def figures() -> Iterator[Figure]:
    """The ladder as it is shipped, with the prices of the first provider's default tiers."""
    rows = compared("anthropic", {"ladder": {}}, TASKS)
    ours, premium, best, oracle = rows["ladder"], rows["tier 4"], best_fixed(rows), rows["oracle"]
    ratio, kept = ours.per_solved / premium.per_solved, ours.success / premium.success
    told = f"{len(ours.runs)} tasks; solved {ours.success:.3f} at ${ours.per_solved:.4f}"
    yield Figure("ladder cost of a solved task of always-premium", ratio, "x", "<=", 0.5, told)
    told = f"premium solved {premium.success:.3f} at ${premium.per_solved:.4f}"
    yield Figure("ladder success of always-premium", kept, "x", ">=", 0.97, told)
    yield Figure(
        "ladder regret against the best fixed", ours.per_solved / best.per_solved - 1, "x", "<=", 0.0, best.name
    )
    yield Figure("ladder regret against the oracle", ours.per_solved / oracle.per_solved - 1, "x")


def compared(provider: str, ladders: dict[str, dict[str, object]], tasks: int) -> dict[str, Totals]:
    """Fixed tiers, an oracle and ladders by what of the policy differs, over the same tasks with the same luck."""
    tiers = tuple(Tier(number=number, models=DEFAULTS[provider][number - 1][:1]) for number in FIXED)
    map_ = Prices()
    facts = {model: map_.facts(model) for tier in tiers for model in tier.models}
    prices = {model: known for model, known in facts.items() if known is not None}
    rows = {f"tier {tier.number}": _over(f"tier {tier.number}", (tier,), {}, prices, tasks) for tier in tiers}
    rows["oracle"] = Totals(
        "oracle", tuple(_best(runs) for runs in zip(*(row.runs for row in rows.values()), strict=True))
    )
    for name, differs in ladders.items():
        rows[name] = _over(name, tiers, differs, prices, tasks)
    return rows


def best_fixed(rows: dict[str, Totals]) -> Totals:
    """The cheapest fixed tier for each solved task of those that keep 0.97 of premium's success."""
    floor = 0.97 * rows["tier 4"].success
    return min((rows[f"tier {n}"] for n in FIXED if rows[f"tier {n}"].success >= floor), key=lambda row: row.per_solved)


def _over(
    name: str, tiers: tuple[Tier, ...], differs: dict[str, object], prices: dict[str, ModelFacts], tasks: int
) -> Totals:
    policy = Policy.model_validate({"attended": True, "tiers": tiers, "max_usd": 100.0, **differs})
    return Totals(name, tuple(Run(task(number), policy, prices).to_the_end() for number in range(tasks)))


def _best(runs: Sequence[Came]) -> Came:
    solved = [run for run in runs if run.solved]
    return min(solved or runs, key=lambda run: run.usd)


LADDERS: dict[str, dict[str, object]] = {
    "takeover": {"advise_first": False},
    "ends where it gives up": {"failure_escalates": False},
    "advice first": {"advise_first": True},
    "complex a tier higher": {"complex_starts_higher": True},
    "comes down": {"come_down": True},
}


def main() -> None:
    """The whole table, for two providers' prices."""
    for provider in ("anthropic", "openai"):
        rows = compared(provider, LADDERS, TASKS)
        premium = rows["tier 4"]
        print(f"{provider}: {TASKS} tasks")
        for row in rows.values():
            print(
                f"{row.name:<24} solved {row.success:.3f} ({row.success / premium.success:.3f} of premium)  "
                f"${row.per_solved:.4f} a solved task ({row.per_solved / premium.per_solved:.3f})  {row.turns:.1f} turns  "
                f"{sum(len(run.tiers) for run in row.runs) / len(row.runs):.2f} changes"
            )


if __name__ == "__main__":
    main()
