"""What a task costs on AWS: counted by the local one as DynamoDB counts, and bounded."""

from __future__ import annotations

from collections import Counter

from agentic.aws.aws_place import AwsPlace
from agentic.stores.aws.layout import SHARDS
from agentic.stores.aws.store import AwsStore
from bench.aws_task import MOST_PUTS, MOST_REQUESTS, MOST_UNITS, TURNS, Price, priced
from tests.aws.accounts import new_place
from tests.integration.stores.samples import begin, take


async def test_a_task_of_twenty_turns_costs_less_than_a_tenth_of_a_cent(aws_place: AwsPlace) -> None:
    price = await priced(aws_place, TURNS)
    print(f"{price.write:.0f} write units, {price.requests.total()} requests, {price.puts} puts: {price.usd:.6f} USD")
    print(dict(price.requests))
    assert 2 * TURNS < price.requests.total() <= MOST_REQUESTS, "two commits a turn are asked for at least"
    assert 2 * TURNS < price.write <= MOST_UNITS
    assert price.puts <= MOST_PUTS
    assert 0 < price.usd < 0.001
    told = await priced(new_place(aws_place.endpoint), TURNS, telling=True)
    assert price.write < told.write <= MOST_UNITS, "also where a queue is told of each step"


async def test_a_look_at_what_is_open_takes_as_few_requests_as_it_can(aws_place: AwsPlace) -> None:
    price = Price()
    store = AwsStore.open(aws_place, observer=price)
    lease = await begin(store)
    await begin(store, "x2", lease)
    price.requests.clear()
    assert [row.execution for row in await store.open_executions(lease.thread)] == ["x1", "x2"]
    assert price.requests == {"dynamodb.query": 1, "dynamodb.batch_get_item": 1}
    price.requests.clear()
    assert [thread for thread, _ in await store.open_threads(9)] == [lease.thread] * 2
    assert price.requests == {"dynamodb.query": SHARDS}, "the index alone, for it is asked every few seconds"
    price.requests.clear()
    for number in range(3):
        await begin(store, f"y{number}", await take(store, f"y{number}"))
    price.read, price.requests = 0.0, Counter()
    assert len(await store.open_threads(2)) == 2
    assert price.requests == {"dynamodb.query": SHARDS}, "a page of each shard, however much is open"
    await store.close()
