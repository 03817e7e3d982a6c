"""What every store refuses to write, whatever it stores into."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from agentic.core.events.execution_events import BlobRef, Envelope, OutboxItem, Started
from agentic.ports.errors import AppendTooLarge, LogInvalid, StoreTooNew
from agentic.ports.runtime import Lease

MIN_READER = "min_reader"
"""The fact that says from which reader on (``upcasting.READER``) a version may take leases."""


def check_reader(needed: str | None, reader: int) -> None:
    """Raise ``StoreTooNew`` if what is stored needs a later reader."""
    if int(needed or 1) > reader:
        raise StoreTooNew(
            f"a newer Threadwright has written here what this one would misread (it needs reader {needed}, this is"
            f" {reader}): stop this process and update it; nothing was taken up"
        )


MOST_ITEMS = 96
"""Events, outbox items, acknowledgements and contents of one append; with its lease and its head that is a transaction of
100 items, which is what DynamoDB takes."""
MOST_BYTES = 3_500_000
"""Of its events and outbox items as JSON; DynamoDB takes 4 MB."""


def check_items(items: int) -> None:
    """Raise ``AppendTooLarge`` for more items than one append may carry."""
    if items > MOST_ITEMS:
        raise AppendTooLarge(f"{items} items were to be written at once, and {MOST_ITEMS} may: write them in parts")


def check_bytes(execution: str, size: int) -> None:
    """Raise ``AppendTooLarge`` for events and outbox items that are more than one append may carry."""
    if size > MOST_BYTES:
        raise AppendTooLarge(
            f"{size:,} bytes of {execution} were to be written at once, and {MOST_BYTES:,} may: write them in parts"
        )


def check_append(execution: str, expected_seq: int, lease: Lease, events: Sequence[Envelope]) -> None:
    """Raise ``LogInvalid`` for events that cannot follow on a log that ends at ``expected_seq``."""
    for seq, envelope in enumerate(events, expected_seq + 1):
        if envelope.execution != execution or envelope.seq != seq:
            raise LogInvalid(f"event {envelope.execution}/{envelope.seq} was given as {execution}/{seq}")
        if envelope.fence != lease.fence:
            raise LogInvalid(f"event {execution}/{seq} carries fence {envelope.fence}, its lease has {lease.fence}")
        if isinstance(envelope.event, Started) is not (seq == 1):
            raise LogInvalid(f"event {execution}/{seq} is {envelope.event.kind}: a log begins with 'started', once")
        if isinstance(envelope.event, Started) and envelope.event.thread != lease.thread:
            raise LogInvalid(f"execution {execution} begins in {envelope.event.thread}, not in {lease.thread}")


def check_blob(ref: BlobRef, content: bytes) -> None:
    """Raise ``LogInvalid`` if ``ref`` does not name ``content``."""
    if ref != blob_ref(content, ref.media):
        raise LogInvalid(f"blob {ref.sha} is not the hash of its {len(content)} bytes")


def blob_ref(content: bytes, media: str = "text/plain") -> BlobRef:
    """The name of content: its SHA-256 in hexadecimal digits, and its size."""
    return BlobRef(sha=hashlib.sha256(content).hexdigest(), size=len(content), media=media)


LOST = (
    "⚠️ Something that I had to say here was damaged where it is kept before I could say it, and is lost. Ask me again; "
    "whoever runs the bot: `threadwright doctor` shows more."
)


def lost_item(key: str, thread: str) -> OutboxItem:
    """What is said in the place of an outbox item that cannot be read, so that what follows it goes on."""
    return OutboxItem(key=key, thread=thread, execution="", sort="notice", text=LOST, notify=True)
