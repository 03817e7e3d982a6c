"""What requests to the local AWS tell of owners: who wanted a thread that another one had, and who wrote too late."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

REFUSED = "ConditionalCheckFailed"


@dataclass
class WireWatch:
    """Counts; told by the proxy of each request that reached AWS."""

    taken: int = 0
    """Times that a thread's lease was taken."""
    conflicts: int = 0
    """Times that somebody wanted a thread's lease while another one had it."""
    fenced: int = 0
    """Appends that were refused because the thread was no longer the writer's."""

    told: list[str] = field(default_factory=list[str])
    """Each conflict in words."""
    _counted: set[str] = field(default_factory=set[str])
    """Attempts that met somebody; a request may come more than once."""

    def heard(self, operation: str, body: bytes, status: int, answer: bytes) -> None:
        """Look at one request and its answer."""
        if operation == "dynamodb.UpdateItem" and b":attempt" in body:
            self._acquired(json.loads(body), status, answer)
        elif operation == "dynamodb.TransactWriteItems" and status == 400 and REFUSED.encode() in answer:
            first = json.loads(body)["TransactItems"][0].get("ConditionCheck", {})
            reasons: list[dict[str, Any]] = json.loads(answer).get("CancellationReasons") or [{}]
            self.fenced += _is_lease(first) and reasons[0].get("Code") == REFUSED

    def _acquired(self, asked: dict[str, Any], status: int, answer: bytes) -> None:
        values = asked["ExpressionAttributeValues"]
        if not _is_lease(asked):
            return
        if status == 200:
            self.taken += 1
            if ":held" in values and values[":attempt"]["S"] in self._counted:  # who had it is dead on the same machine
                self._counted.remove(values[":attempt"]["S"])
                self.conflicts -= 1
                self.told.pop()
        elif REFUSED.encode() in answer:
            stood = json.loads(answer).get("Item", {})
            attempt = values[":attempt"]["S"]
            if stood.get("attempt", {}).get("S") != attempt and attempt not in self._counted:
                self._counted.add(attempt)
                self.conflicts += 1
                wanted, had = values[":owner"]["S"], stood.get("owner", {}).get("S")
                self.told.append(f"{wanted} wanted {asked['Key']['pk']['S']}, which {had} had")


def _is_lease(asked: dict[str, Any]) -> bool:
    """Whether it is about the lease of a thread, not of a shard, a delivery or what is learned."""
    key = asked.get("Key", {})
    return key.get("sk", {}).get("S") == "LEASE" and key.get("pk", {}).get("S", "").isdecimal()
