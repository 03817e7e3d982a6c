"""What a task costs on AWS: counted by the local one as DynamoDB counts, and bounded."""

from __future__ import annotations

from agentic.stores.aws.place import Place
from bench.aws_task import MOST_PUTS, MOST_REQUESTS, MOST_UNITS, TURNS, priced


async def test_a_task_of_twenty_turns_costs_less_than_a_tenth_of_a_cent(aws_place: Place) -> None:
    price = await priced(aws_place, TURNS)
    print(f"{price.write:.0f} write units, {price.requests.total()} requests, {price.puts} puts: {price.usd:.6f} USD")
    print(dict(price.requests))
    assert 2 * TURNS < price.requests.total() <= MOST_REQUESTS, "two commits a turn are asked for at least"
    assert 2 * TURNS < price.write <= MOST_UNITS
    assert price.puts <= MOST_PUTS
    assert 0 < price.usd < 0.001
