"""What AWS answered, as an error of the store that says what to do, or as something to try again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from botocore import exceptions
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)

from agentic.ports.errors import StoreError, StoreUnavailable
from agentic.stores.aws.items import Item, from_wire
from agentic.stores.aws.place import Place

_AGAIN = frozenset(
    {
        "InternalError", "InternalFailure", "InternalServerError", "LimitExceededException", "PriorRequestNotComplete",
        "ProvisionedThroughputExceeded", "ProvisionedThroughputExceededException", "RequestLimitExceeded",
        "RequestThrottled", "RequestThrottledException", "RequestTimeout", "RequestTimeoutException",
        "ServiceUnavailable", "SlowDown", "Throttling", "ThrottledException", "ThrottlingError", "ThrottlingException",
        "TooManyRequestsException", "TransactionConflict", "TransactionConflictException",
        "TransactionInProgressException",
    }
)  # fmt: skip
_CLOCK = frozenset({"RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture"})
_KEYS = frozenset(
    {
        "IncompleteSignature", "IncompleteSignatureException", "InvalidAccessKeyId", "InvalidClientTokenId",
        "InvalidSignatureException", "MissingAuthenticationToken", "MissingAuthenticationTokenException",
        "SignatureDoesNotMatch", "UnrecognizedClientException",
    }
)  # fmt: skip
_EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException"})
_RIGHT = frozenset({"AccessDenied", "AccessDeniedException", "AllAccessDisabled", "UnauthorizedOperation", "403"})
_ELSEWHERE = frozenset(
    {"PermanentRedirect", "AuthorizationHeaderMalformed", "301", "IllegalLocationConstraintException"}
)

_SET_CLOCK = "this machine's clock is wrong: set it (`timedatectl set-ntp true`, say)"


@dataclass(frozen=True, slots=True)
class Reason:
    """What became of one write of a request: '' where its condition held; with what stood there where it did not."""

    code: str = ""
    item: Item | None = None

    @property
    def refused(self) -> bool:
        """Its condition did not hold."""
        return self.code == "ConditionalCheckFailed"


class Refused(Exception):
    """Conditions did not hold, so nothing was written: an answer and no failure; whoever set them knows what it means."""

    def __init__(self, reasons: Sequence[Reason]) -> None:
        super().__init__(", ".join(reason.code or "held" for reason in reasons))
        self.reasons = tuple(reasons)


def code_of(error: ClientError) -> str:
    """AWS's word for it."""
    return str(error.response.get("Error", {}).get("Code", ""))


def refusal(error: ClientError) -> Refused | None:
    """The conditions that did not hold; None for any other error."""
    if code_of(error) == "ConditionalCheckFailedException":
        return Refused([Reason("ConditionalCheckFailed", _stood(cast(Any, error.response)))])
    reasons = reasons_of(error)
    return Refused(reasons) if any(reason.refused for reason in reasons) else None


def reasons_of(error: ClientError) -> list[Reason]:
    """Why a transaction was cancelled, write by write; empty for what is no cancelled transaction."""
    reasons = cast(list[dict[str, Any]], cast(Any, error.response).get("CancellationReasons", []))
    return [Reason("" if (code := each.get("Code", "None")) == "None" else code, _stood(each)) for each in reasons]


def _stood(reason: dict[str, Any]) -> Item | None:
    item = reason.get("Item")
    return from_wire(item) if item else None


def worth_another_try(error: ClientError | BotoCoreError) -> bool:
    """Whether the same request may be answered the next time: it met another, there were too many, or AWS stumbled."""
    if not isinstance(error, ClientError):
        return isinstance(error, exceptions.ConnectionError | HTTPClientError)
    reasons = {reason.code for reason in reasons_of(error)} - {""}
    if reasons:
        return reasons <= _AGAIN
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    return code_of(error) in _AGAIN or status >= 500


def plainly(error: ClientError | BotoCoreError, place: Place) -> StoreError:
    """The error as whoever runs the bot can act on it."""
    if not isinstance(error, ClientError):
        return StoreUnavailable(_without_answer(error, place))
    code, said = code_of(error), str(error.response.get("Error", {}).get("Message", ""))
    words = _words(code, said, place)
    return StoreError(f"AWS refused a request ({code}): {said}") if words is None else StoreUnavailable(words)


def _without_answer(error: BotoCoreError, place: Place) -> str:
    match error:
        case NoCredentialsError() | PartialCredentialsError() | TokenRetrievalError() | UnauthorizedSSOTokenError():
            return (
                f"no AWS credentials that can be used ({error}): set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a"
                " profile in AWS_PROFILE, or give this machine a role"
            )
        case NoRegionError():
            return "no AWS region is set: set AWS_REGION to the one that the table and the bucket are in"
        case ProfileNotFound():
            return f"{error}: set AWS_PROFILE to one of ~/.aws/config, or remove it"
        case _:
            why = str(error).partition(": ")[0]  # without the request's address, which differs for each part
            check = f"that {place.endpoint} runs, or remove" if place.endpoint else "the network, AWS_REGION and"
            return f"AWS does not answer in {place.where} ({why}): check {check} AWS_ENDPOINT_URL"


def _words(code: str, said: str, place: Place) -> str | None:
    clock = code in _CLOCK or "Signature expired" in said or "Signature not yet current" in said
    known: list[tuple[bool, str]] = [
        (clock, f"AWS refuses what was signed at another time than now ({said}): {_SET_CLOCK}"),
        (code in _KEYS, f"AWS does not accept the credentials ({code}): check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and"
         " AWS_REGION, and that the clock is right"),
        (code in _EXPIRED, "the AWS credentials have expired: sign in again, or give this machine a role"),
        (code in _RIGHT and "dynamodb:Scan" in said, "the AWS credentials may not read the whole table, which only moving"
         f" everything needs: allow dynamodb:Scan on table {place.table} to whoever moves it"),
        (code in _RIGHT, f"the AWS credentials may not do this ({said or code}): give their role the rights that the template"
         f" in deploy/ lists for table {place.table} and bucket {place.bucket}"),
        (code == "ResourceNotFoundException", no_table(place)),
        (code in {"NoSuchBucket", "404"}, no_bucket(place)),
        (code in _ELSEWHERE, f"bucket {place.bucket} is in another region than {place.where}: set AWS_REGION to its region"),
        (code in _AGAIN or code == "TransactionCanceledException", f"AWS does not keep up ({code}: {said}): nothing was"
         " written; it is tried again later"),
    ]  # fmt: skip
    return next((words for holds, words in known if holds), None)


def no_table(place: Place) -> str:
    """What to do where there is no table."""
    return (
        f"there is no table {place.table} in {place.where}: deploy the template in deploy/ there, or set"
        " DYNAMODB_EXECUTIONS_TABLE and AWS_REGION to where it is"
    )


def no_bucket(place: Place) -> str:
    """What to do where there is no bucket."""
    return (
        f"there is no bucket {place.bucket} in {place.where}: deploy the template in deploy/ there, or set"
        " S3_ARTIFACT_BUCKET to its name"
    )


def no_queue(name: str, variable: str, place: Place) -> str:
    """What to do where there is no queue."""
    return f"there is no queue {name} in {place.where}: deploy the template in deploy/ there, or set {variable} to its address"


def wrong_clock(seconds: float) -> str:
    """What to do where AWS has another time than we have."""
    return f"AWS's clock is {abs(seconds):.0f} seconds {'ahead of' if seconds > 0 else 'behind'} ours: {_SET_CLOCK}"
