"""What the queues have to do."""

from __future__ import annotations

import json
import threading
import time

from tests.aws.conformance.account import Account, refused
from tests.waiting import eventually_true

KB = 1024


def a_message_is_received_until_it_is_deleted(aws: Account) -> None:
    """Hidden while one works on it, back when it is let go, gone when it is deleted."""
    queue = aws.queue()
    aws.sqs.send_message(QueueUrl=queue, MessageBody="look")
    (message,) = aws.receive(queue, 5)
    assert message["Body"] == "look"
    assert aws.receive(queue) == []
    aws.sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
    (again,) = aws.receive(queue, 5, AttributeNames=["ApproximateReceiveCount"])
    assert again["MessageId"] == message["MessageId"]
    assert again["Attributes"]["ApproximateReceiveCount"] == "2"
    aws.sqs.delete_message(QueueUrl=queue, ReceiptHandle=again["ReceiptHandle"])
    assert aws.receive(queue) == []


def a_standard_queue_takes_a_group(aws: Account) -> None:
    """MessageGroupId makes it fair: it is taken, comes back, and locks nothing."""
    queue = aws.queue()
    for number in range(3):
        aws.sqs.send_message(QueueUrl=queue, MessageBody=str(number), MessageGroupId="guild")
    got: dict[str, str] = {}

    def received() -> bool:
        for each in aws.receive(queue, 1, AttributeNames=["MessageGroupId"]):
            got[each["Body"]] = each.get("Attributes", {}).get("MessageGroupId", "")
        return len(got) == 3

    eventually_true(received)  # none of them was deleted, so a locked group would give one
    assert got == {"0": "guild", "1": "guild", "2": "guild"}


def a_heartbeat_keeps_a_message_hidden(aws: Account) -> None:
    """Its visibility is extended beyond the first time-out; without that it comes back."""
    queue = aws.queue(VisibilityTimeout="1")
    for body in ("held", "let go"):
        aws.sqs.send_message(QueueUrl=queue, MessageBody=body)
    messages: dict[str, str] = {}

    def both() -> bool:
        messages.update({each["Body"]: each["ReceiptHandle"] for each in aws.receive(queue, 1)})
        return len(messages) == 2

    eventually_true(both)
    aws.sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=messages["held"], VisibilityTimeout=60)
    back: list[str] = []
    until = time.monotonic() + 10
    while "let go" not in back and time.monotonic() < until:
        back += [each["Body"] for each in aws.receive(queue, 2, VisibilityTimeout=60)]
    assert back == ["let go"]


def what_nobody_can_work_on_goes_to_the_dead_letters(aws: Account) -> None:
    """After as many receives as its policy says, and not before."""
    dead = aws.queue()
    policy = json.dumps({"deadLetterTargetArn": aws.arn(dead), "maxReceiveCount": 2})
    queue = aws.queue(RedrivePolicy=policy, VisibilityTimeout="0")
    aws.sqs.send_message(QueueUrl=queue, MessageBody="poison")
    seen = 0

    def gone() -> bool:
        nonlocal seen
        seen += len(aws.receive(queue))
        return bool(aws.receive(dead, VisibilityTimeout=0))

    eventually_true(gone)
    assert seen == 2


def dead_letters_are_sent_back(aws: Account) -> None:
    """StartMessageMoveTask: what the runbook does once a mistake is mended."""
    dead = aws.queue()
    policy = json.dumps({"deadLetterTargetArn": aws.arn(dead), "maxReceiveCount": 1})
    queue = aws.queue(RedrivePolicy=policy)
    aws.sqs.send_message(QueueUrl=dead, MessageBody="back")
    aws.sqs.start_message_move_task(SourceArn=aws.arn(dead), DestinationArn=aws.arn(queue))
    (message,) = aws.receive(queue, 5)
    assert message["Body"] == "back"


def waiting_ends_when_a_message_comes(aws: Account) -> None:
    """A receive that waits up to 20 s is answered as soon as there is something."""
    queue = aws.queue()
    timer = threading.Timer(0.5, lambda: aws.sqs.send_message(QueueUrl=queue, MessageBody="look"))
    timer.start()
    begun = time.monotonic()
    (message,) = aws.receive(queue, 20)
    timer.join()
    assert message["Body"] == "look"
    assert time.monotonic() - begun < 10


def ten_are_sent_at_once(aws: Account) -> None:
    """With an answer for each; eleven are refused."""
    queue = aws.queue()
    entries = [{"Id": str(number), "MessageBody": str(number), "MessageGroupId": "g"} for number in range(11)]
    refused(
        "AWS.SimpleQueueService.TooManyEntriesInBatchRequest|TooManyEntriesInBatchRequest",
        lambda: aws.sqs.send_message_batch(QueueUrl=queue, Entries=entries),
    )
    told = aws.sqs.send_message_batch(QueueUrl=queue, Entries=entries[:10])
    assert sorted(each["Id"] for each in told["Successful"]) == [str(number) for number in range(10)]


def bodies_and_attributes_come_as_they_were_sent(aws: Account) -> None:
    """200 KB, letters of other languages, and attributes beside the body."""
    queue, body = aws.queue(), "ä 日本 🙂 \n" * 10_000
    attributes = {"kind": {"DataType": "String", "StringValue": "turn_completed"}}
    aws.sqs.send_message(QueueUrl=queue, MessageBody=body, MessageAttributes=attributes)
    (message,) = aws.receive(queue, 5, MessageAttributeNames=["All"])
    assert message["Body"] == body
    assert message["MessageAttributes"]["kind"]["StringValue"] == "turn_completed"


def a_body_that_is_too_large_is_refused(aws: Account) -> None:
    """1 MB is the most."""
    queue = aws.queue()
    refused(
        "InvalidParameterValue|AWS.SimpleQueueService.MessageTooLong|InvalidMessageContents",
        lambda: aws.sqs.send_message(QueueUrl=queue, MessageBody="x" * (1_100 * KB)),
    )


def how_many_wait_is_told(aws: Account) -> None:
    """Alarms and the number of workers go by it."""
    queue = aws.queue()
    for number in range(3):
        aws.sqs.send_message(QueueUrl=queue, MessageBody=str(number))
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    eventually_true(
        lambda: aws.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"][names[0]] == "3"
    )


def a_queue_of_the_wrong_kind_can_be_told(aws: Account) -> None:
    """FifoQueue says so; a standard queue does not have it."""
    fifo, standard = aws.queue(f"{aws.fresh()}.fifo", FifoQueue="true"), aws.queue()
    told = [
        aws.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"].get("FifoQueue")
        for url in (fifo, standard)
    ]
    assert told in (["true", None], ["true", "false"])


def a_queue_that_is_missing_is_said(aws: Account) -> None:
    """With the error that our words for it wait for."""
    refused(
        "AWS.SimpleQueueService.NonExistentQueue|QueueDoesNotExist",
        lambda: aws.sqs.get_queue_attributes(QueueUrl=f"{aws.queue()}-not", AttributeNames=["All"]),
    )


CHECKS = (
    a_message_is_received_until_it_is_deleted, a_standard_queue_takes_a_group, a_heartbeat_keeps_a_message_hidden,
    what_nobody_can_work_on_goes_to_the_dead_letters, dead_letters_are_sent_back, waiting_ends_when_a_message_comes,
    ten_are_sent_at_once, bodies_and_attributes_come_as_they_were_sent, a_body_that_is_too_large_is_refused,
    how_many_wait_is_told, a_queue_of_the_wrong_kind_can_be_told, a_queue_that_is_missing_is_said,
)  # fmt: skip
