"""What the table has to do."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.aws.conformance.account import Account, item, refused
from tests.waiting import eventually_true

ABSENT = "attribute_not_exists(pk)"
MANY = 8
"""Writers at once."""


def put_if_absent_lets_one_win(aws: Account) -> None:
    """Of several puts under attribute_not_exists exactly one is taken, and the others see what stands there."""
    pk = aws.fresh()

    def attempt(number: int) -> bool:
        try:
            aws.dynamodb.put_item(TableName=aws.table, Item=item(pk, n=number), ConditionExpression=ABSENT)
        except aws.dynamodb.exceptions.ConditionalCheckFailedException:
            return False
        return True

    with ThreadPoolExecutor(MANY) as writers:
        won = list(writers.map(attempt, range(MANY)))
    assert won.count(True) == 1
    assert aws.get(pk) == item(pk, n=won.index(True))


def a_failed_condition_brings_what_stood_there(aws: Account) -> None:
    """ReturnValuesOnConditionCheckFailure=ALL_OLD: the holder of a lease is told with the refusal."""
    pk = aws.fresh()
    aws.put(pk, owner="first", fence=1)
    told = refused("ConditionalCheckFailedException", lambda: aws.dynamodb.put_item(
        TableName=aws.table, Item=item(pk, owner="second"), ConditionExpression=ABSENT,
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    ))  # fmt: skip
    assert told.get("Item") == item(pk, owner="first", fence=1)


def counting_loses_nothing(aws: Account) -> None:
    """Concurrent updates of one number each see the one before: a fence grows with every owner."""
    pk = aws.fresh()

    def raised(_: int) -> int:
        values = {":one": {"N": "1"}, ":zero": {"N": "0"}}
        answer = aws.update(
            pk, "-", "SET fence = if_not_exists(fence, :zero) + :one", ExpressionAttributeValues=values,
            ReturnValues="ALL_NEW",
        )  # fmt: skip
        return int(answer["Attributes"]["fence"]["N"])

    with ThreadPoolExecutor(MANY) as writers:
        assert sorted(writers.map(raised, range(40))) == list(range(1, 41))


def an_update_under_a_condition_changes_all_or_nothing(aws: Account) -> None:
    """SET, ADD and REMOVE in one; where the condition fails, none of it."""
    pk = aws.fresh()
    aws.put(pk, owner="a", fence=3, waits="x")
    change = "SET #owner = :owner ADD fence :one REMOVE waits"
    more: dict[str, Any] = {"ExpressionAttributeNames": {"#owner": "owner"}, "ConditionExpression": "fence = :fence"}
    values = {":owner": {"S": "b"}, ":one": {"N": "1"}, ":fence": {"N": "2"}}
    refused(
        "ConditionalCheckFailedException", lambda: aws.update(pk, "-", change, ExpressionAttributeValues=values, **more)
    )
    assert aws.get(pk) == item(pk, owner="a", fence=3, waits="x")
    aws.update(pk, "-", change, ExpressionAttributeValues={**values, ":fence": {"N": "3"}}, **more)
    assert aws.get(pk) == item(pk, owner="b", fence=4)


def a_delete_under_a_condition(aws: Account) -> None:
    """A lease is given back only by whom it belongs to."""
    pk = aws.fresh()
    aws.put(pk, fence=3)
    more = {"TableName": aws.table, "Key": item(pk), "ConditionExpression": "fence = :fence"}
    refused("ConditionalCheckFailedException", lambda: aws.dynamodb.delete_item(
        **more, ExpressionAttributeValues={":fence": {"N": "2"}}
    ))  # fmt: skip
    aws.dynamodb.delete_item(**more, ExpressionAttributeValues={":fence": {"N": "3"}})
    assert aws.get(pk) is None


def reserved_words_are_refused(aws: Account) -> None:
    """Where an emulator takes `owner` or `ttl` bare, code that AWS refuses would pass."""
    for word in ("owner", "ttl", "status"):
        refused("ValidationException", lambda word=word: aws.update(
            aws.fresh(), "-", f"SET {word} = :x", ExpressionAttributeValues={":x": {"S": "x"}}
        ))  # fmt: skip


def a_transaction_of_100_items(aws: Account) -> None:
    """100 items over several partitions are written together; 101 are refused."""
    pk = aws.fresh()
    writes = [aws.writes(f"{pk}-{number % 3}", f"{number:03d}", n=number) for number in range(101)]
    refused("ValidationException", lambda: aws.transact(*writes))
    assert aws.query(f"{pk}-0")["Count"] == 0
    aws.transact(*writes[:100])
    assert [aws.query(f"{pk}-{part}")["Count"] for part in range(3)] == [34, 33, 33]


def a_cancelled_transaction_writes_nothing_and_says_why_item_by_item(aws: Account) -> None:
    """CancellationReasons in the order of the writes, with what stood there."""
    pk = aws.fresh()
    aws.put(pk, "taken", n=7)
    aws.put(pk, "as it should be", n=7)
    check = {"ConditionCheck": {
        "TableName": aws.table, "Key": item(pk, "as it should be"), "ConditionExpression": "n = :n",
        "ExpressionAttributeValues": {":n": {"N": "7"}},
    }}  # fmt: skip
    told = refused("TransactionCanceledException", lambda: aws.transact(
        aws.writes(pk, "new", n=1), check, aws.writes(pk, "taken", ABSENT, n=2)
    ))  # fmt: skip
    assert [each["Code"] for each in told["CancellationReasons"]] == ["None", "None", "ConditionalCheckFailed"]
    assert told["CancellationReasons"][2].get("Item") == item(pk, "taken", n=7)
    assert aws.get(pk, "new") is None
    assert aws.get(pk, "taken") == item(pk, "taken", n=7)


def a_token_makes_a_transaction_happen_once(aws: Account) -> None:
    """The same request under the same ClientRequestToken is answered well and does nothing; another one is refused."""
    pk, token = aws.fresh(), str(uuid.uuid4())

    def counted(by: int) -> dict[str, Any]:
        return {"Update": {
            "TableName": aws.table, "Key": item(pk), "UpdateExpression": "ADD n :by",
            "ExpressionAttributeValues": {":by": {"N": str(by)}},
        }}  # fmt: skip

    for _ in range(3):
        aws.transact(counted(1), token=token)
    assert aws.get(pk) == item(pk, n=1)
    refused("IdempotentParameterMismatchException", lambda: aws.transact(counted(2), token=token))
    aws.transact(counted(1), token=str(uuid.uuid4()))
    assert aws.get(pk) == item(pk, n=2)


def a_refused_transaction_is_judged_anew_under_its_token(aws: Account) -> None:
    """What was cancelled left no trace of its token: sent again, its condition is looked at again."""
    pk, token = aws.fresh(), str(uuid.uuid4())
    aws.put(pk)
    refused("TransactionCanceledException", lambda: aws.transact(aws.writes(pk, condition=ABSENT), token=token))
    aws.dynamodb.delete_item(TableName=aws.table, Key=item(pk))
    aws.transact(aws.writes(pk, condition=ABSENT), token=token)
    assert aws.get(pk) is not None


def one_item_twice_in_a_transaction_is_refused(aws: Account) -> None:
    """A mistake of ours has to show in tests."""
    pk = aws.fresh()
    refused("ValidationException", lambda: aws.transact(aws.writes(pk, n=1), aws.writes(pk, n=2)))


def concurrent_transactions_over_one_head_append_once_each(aws: Account) -> None:
    """Each reads the head, adds an item and advances the head under a condition: nothing acknowledged is lost."""
    pk = aws.fresh()
    aws.put(pk, "HEAD", head=0)

    def append(writer: int) -> int:
        done = 0
        while done < 5:
            head = int((aws.get(pk, "HEAD") or {})["head"]["N"])
            advance = {"Update": {
                "TableName": aws.table, "Key": item(pk, "HEAD"), "UpdateExpression": "SET head = :next",
                "ConditionExpression": "head = :head",
                "ExpressionAttributeValues": {":head": {"N": str(head)}, ":next": {"N": str(head + 1)}},
            }}  # fmt: skip
            try:
                aws.transact(aws.writes(pk, f"EV#{head + 1:05d}", ABSENT, n=writer), advance)
            except aws.dynamodb.exceptions.TransactionCanceledException:
                continue
            done += 1
        return done

    with ThreadPoolExecutor(4) as writers:
        assert sum(writers.map(append, range(4))) == 20
    found = aws.query(pk, "begins_with(sk, :begins)", values={":begins": {"S": "EV#"}})["Items"]
    assert [each["sk"]["S"] for each in found] == [f"EV#{number:05d}" for number in range(1, 21)]


def limits_of_size_are_those_of_aws(aws: Account) -> None:
    """An item of 390 KB is taken, one over 400 KB is not, and a transaction over 4 MB is not."""
    pk = aws.fresh()
    aws.put(pk, "small", body=b"x" * 390_000)
    refused("ValidationException", lambda: aws.put(pk, "large", body=b"x" * 410_000))
    many = [aws.writes(pk, str(number), body=b"x" * 390_000) for number in range(11)]
    refused("ValidationException", lambda: aws.transact(*many))
    assert aws.query(pk)["Count"] == 1


def a_query_reads_ranges_in_order(aws: Account) -> None:
    """begins_with, greater than, between, backwards, and a limit that says where to go on."""
    pk = aws.fresh()
    for number in range(12):
        aws.put(pk, f"EV#{number:03d}")
    aws.put(pk, "LEASE")

    def read(condition: str, *values: str, **more: Any) -> list[str]:
        typed = {f":{number}": {"S": value} for number, value in enumerate(values)}
        return [each["sk"]["S"] for each in aws.query(pk, condition, values=typed, **more)["Items"]]

    assert read("begins_with(sk, :0)", "EV#") == [f"EV#{number:03d}" for number in range(12)]
    assert read("sk > :0", "EV#009") == ["EV#010", "EV#011", "LEASE"]
    assert read("sk BETWEEN :0 AND :1", "EV#009\0", "EV#~") == ["EV#010", "EV#011"]
    assert read("begins_with(sk, :0)", "EV#", ScanIndexForward=False, Limit=2) == ["EV#011", "EV#010"]
    first = aws.query(pk, Limit=5)
    rest = aws.query(pk, ExclusiveStartKey=first["LastEvaluatedKey"])
    assert [first["Count"], rest["Count"]] == [5, 8]


def a_page_ends_at_one_megabyte(aws: Account) -> None:
    """Whoever reads only one page would lose the rest; all pages together are everything, once."""
    pk = aws.fresh()
    for number in range(8):
        aws.put(pk, str(number), body=b"x" * 200_000)
    pages, read = 0, list[str]()
    start: dict[str, Any] = {}
    while True:
        page = aws.query(pk, **start)
        pages, read = pages + 1, [*read, *(each["sk"]["S"] for each in page["Items"])]
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    assert read == [str(number) for number in range(8)]
    assert pages >= 2, "all came in one page"


def a_consistent_read_sees_every_write(aws: Account) -> None:
    """get, query and batch_get right after a write, 40 times."""
    pk = aws.fresh()
    for number in range(1, 41):
        aws.put(pk, n=number)
        assert aws.get(pk) == item(pk, n=number)
        assert aws.query(pk)["Items"] == [item(pk, n=number)]
    batch = {aws.table: {"Keys": [item(pk)], "ConsistentRead": True}}
    assert aws.dynamodb.batch_get_item(RequestItems=batch)["Responses"][aws.table] == [item(pk, n=40)]


def batches_of_100_reads_and_25_writes(aws: Account) -> None:
    """One more of either is refused."""
    pk = aws.fresh()
    puts = [{"PutRequest": {"Item": item(pk, f"{number:03d}")}} for number in range(26)]
    refused("ValidationException", lambda: aws.dynamodb.batch_write_item(RequestItems={aws.table: puts}))
    assert not aws.dynamodb.batch_write_item(RequestItems={aws.table: puts[:25]}).get("UnprocessedItems")
    keys = [item(pk, f"{number:03d}") for number in range(101)]
    refused("ValidationException", lambda: aws.dynamodb.batch_get_item(RequestItems={aws.table: {"Keys": keys}}))
    found = aws.dynamodb.batch_get_item(RequestItems={aws.table: {"Keys": keys[:100], "ConsistentRead": True}})
    assert len(found["Responses"][aws.table]) == 25


def an_index_holds_only_what_has_its_attributes(aws: Account) -> None:
    """Sparse and in order: an item is in it while it waits, with its keys alone, and leaves when the attributes go."""
    pk = aws.fresh()
    for number in (3, 1, 2):
        aws.put(pk, str(number), waits=f"{pk}#0", waits_at=f"{number:05d}", body="x")
    aws.put(pk, "done", body="x")

    def waiting() -> list[str]:
        found = aws.dynamodb.query(
            TableName=aws.table, IndexName="gsi1", KeyConditionExpression="waits = :waits AND waits_at > :at",
            ExpressionAttributeValues={":waits": {"S": f"{pk}#0"}, ":at": {"S": "0"}},
        )["Items"]  # fmt: skip
        assert all("body" not in each for each in found)
        return [each["sk"]["S"] for each in found]

    eventually_true(lambda: waiting() == ["1", "2", "3"])
    aws.update(pk, "2", "REMOVE waits, waits_at")
    eventually_true(lambda: waiting() == ["1", "3"])
    aws.dynamodb.delete_item(TableName=aws.table, Key=item(pk, "1"))
    eventually_true(lambda: waiting() == ["3"])


def an_index_is_read_by_partition_and_page(aws: Account) -> None:
    """The second index, backwards, in pages; a consistent read of an index is refused."""
    pk = aws.fresh()
    for number in range(5):
        aws.put(pk, str(number), listed=f"{pk}#list", listed_at=f"{number:05d}")
    arguments: dict[str, Any] = {
        "TableName": aws.table, "IndexName": "gsi2", "KeyConditionExpression": "listed = :list",
        "ExpressionAttributeValues": {":list": {"S": f"{pk}#list"}}, "ScanIndexForward": False,
    }  # fmt: skip
    eventually_true(lambda: aws.dynamodb.query(**arguments)["Count"] == 5)
    first = aws.dynamodb.query(**arguments, Limit=2)
    rest = aws.dynamodb.query(**arguments, ExclusiveStartKey=first["LastEvaluatedKey"])
    assert [each["sk"]["S"] for each in first["Items"] + rest["Items"]] == ["4", "3", "2", "1", "0"]
    refused("ValidationException", lambda: aws.dynamodb.query(**arguments, ConsistentRead=True))


def a_filter_is_applied_after_the_limit(aws: Account) -> None:
    """A page may come back empty with more to read."""
    pk = aws.fresh()
    for number in range(4):
        aws.put(pk, str(number), n=number)
    page = aws.query(pk, FilterExpression="n > :n", values={":n": {"N": "2"}}, Limit=2)
    assert (page["Count"], page["ScannedCount"]) == (0, 2)
    assert "LastEvaluatedKey" in page


def values_come_back_as_they_were_put(aws: Account) -> None:
    """Bytes of all kinds, empty texts, nested lists and maps, numbers of 38 digits."""
    pk = aws.fresh()
    whole = {
        **item(pk, body=bytes(range(256)), empty=""), "none": {"NULL": True}, "yes": {"BOOL": True},
        "nested": {"L": [{"M": {"a ß 🙂": {"N": "-1"}, "deep": {"L": [{"S": ""}, {"B": b""}]}}}]},
    }  # fmt: skip
    aws.dynamodb.put_item(TableName=aws.table, Item=whole)
    assert aws.get(pk) == whole


def numbers_keep_38_digits(aws: Account) -> None:
    """A number is exact to 38 digits."""
    pk, number = aws.fresh(), "1234567890123456789012345678901234.5678"
    aws.dynamodb.put_item(TableName=aws.table, Item={**item(pk), "n": {"N": number}})
    assert (aws.get(pk) or {})["n"] == {"N": number}
    aws.update(pk, "-", "ADD n :one", ExpressionAttributeValues={":one": {"N": "0.0001"}})
    assert (aws.get(pk) or {})["n"] == {"N": "1234567890123456789012345678901234.5679"}


def an_empty_key_is_refused(aws: Account) -> None:
    """Of the table and of an index: an id that got lost must not become a row."""
    refused("ValidationException", lambda: aws.put("", "x"))
    refused("ValidationException", lambda: aws.put(aws.fresh(), ""))
    refused("ValidationException", lambda: aws.put(aws.fresh(), waits="", waits_at="1"))


def overlapping_paths_are_refused(aws: Account) -> None:
    """One update cannot change an attribute twice."""
    refused("ValidationException", lambda: aws.update(
        aws.fresh(), "-", "SET a = :x, a.b = :x", ExpressionAttributeValues={":x": {"S": "x"}}
    ))  # fmt: skip


def capacity_is_counted_by_the_kilobyte(aws: Account) -> None:
    """What a task costs is counted with it: a write unit for each kilobyte, two in a transaction."""
    pk = aws.fresh()
    assert aws.put(pk, body="x" * 3_500)["ConsumedCapacity"]["CapacityUnits"] == 4
    told = aws.transact(aws.writes(pk, "a", body="x" * 1_500), aws.writes(pk, "b"))["ConsumedCapacity"]
    assert sum(each["CapacityUnits"] for each in told) == 6


def time_to_live_is_switched_on(aws: Account) -> None:
    """The setting is kept; when something is deleted nobody promises."""
    wanted = {"Enabled": True, "AttributeName": "ttl"}
    aws.dynamodb.update_time_to_live(TableName=aws.table, TimeToLiveSpecification=wanted)
    told = aws.dynamodb.describe_time_to_live(TableName=aws.table)["TimeToLiveDescription"]
    assert told["TimeToLiveStatus"] in {"ENABLED", "ENABLING"}
    assert told["AttributeName"] == "ttl"


def a_table_that_is_missing_is_said(aws: Account) -> None:
    """With the error that our words for it wait for."""
    refused("ResourceNotFoundException", lambda: aws.dynamodb.describe_table(TableName=f"{aws.table}-not"))
    refused("ResourceNotFoundException", lambda: aws.dynamodb.get_item(TableName=f"{aws.table}-not", Key=item("a")))


def answers_carry_the_time(aws: Account) -> None:
    """A clock that is wrong is noticed by it."""
    told = aws.dynamodb.describe_table(TableName=aws.table)["ResponseMetadata"]["HTTPHeaders"]
    assert "GMT" in told.get("date", "")


CHECKS = (
    put_if_absent_lets_one_win, a_failed_condition_brings_what_stood_there, counting_loses_nothing,
    an_update_under_a_condition_changes_all_or_nothing, a_delete_under_a_condition, reserved_words_are_refused,
    a_transaction_of_100_items, a_cancelled_transaction_writes_nothing_and_says_why_item_by_item,
    a_token_makes_a_transaction_happen_once, a_refused_transaction_is_judged_anew_under_its_token,
    one_item_twice_in_a_transaction_is_refused, concurrent_transactions_over_one_head_append_once_each,
    limits_of_size_are_those_of_aws, a_query_reads_ranges_in_order, a_page_ends_at_one_megabyte,
    a_consistent_read_sees_every_write, batches_of_100_reads_and_25_writes, an_index_holds_only_what_has_its_attributes,
    an_index_is_read_by_partition_and_page, a_filter_is_applied_after_the_limit, values_come_back_as_they_were_put,
    numbers_keep_38_digits, an_empty_key_is_refused, overlapping_paths_are_refused, capacity_is_counted_by_the_kilobyte,
    time_to_live_is_switched_on, a_table_that_is_missing_is_said, answers_carry_the_time,
)  # fmt: skip
