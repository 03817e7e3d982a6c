"""What AWS answered, as an error that says what to do, or as something to try again."""

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

from agentic.aws.aws_place import AwsPlace, Resource
from agentic.aws.items import Item, from_wire
from agentic.ports.errors import StoreError, StoreUnavailable

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
RIGHT = frozenset(
    {"AccessDenied", "AccessDeniedException", "AllAccessDisabled", "KMS.AccessDeniedException", "KmsAccessDenied",
     "UnauthorizedOperation", "403"}
)  # fmt: skip
"""A right is missing."""
_GONE = frozenset(
    {"404", "AWS.SimpleQueueService.NonExistentQueue", "NoSuchBucket", "QueueDoesNotExist", "ResourceNotFoundException"}
)
_ELSEWHERE = frozenset(
    {"PermanentRedirect", "AuthorizationHeaderMalformed", "301", "IllegalLocationConstraintException"}
)

_MOST_SAID = 300
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


class ConditionFailed(Exception):
    """Conditions did not hold, so nothing was written: an answer and no failure; whoever set them knows what it means."""

    def __init__(self, reasons: Sequence[Reason]) -> None:
        super().__init__(", ".join(reason.code or "held" for reason in reasons))
        self.reasons = tuple(reasons)


def code_of(error: Exception) -> str:
    """AWS's word for what came of a request, also for the error of ours that it became; '' where it did not answer."""
    told = error if isinstance(error, ClientError) else error.__cause__
    return str(told.response.get("Error", {}).get("Code", "")) if isinstance(told, ClientError) else ""


def refusal(error: ClientError) -> ConditionFailed | None:
    """The conditions that did not hold; None for any other error."""
    if code_of(error) == "ConditionalCheckFailedException":
        return ConditionFailed([Reason("ConditionalCheckFailed", _stood(cast(Any, error.response)))])
    reasons = reasons_of(error)
    return ConditionFailed(reasons) if any(reason.refused for reason in reasons) else None


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


def plainly(error: Exception, place: AwsPlace, about: Resource | None = None) -> StoreError:
    """The error of a request as whoever runs the bot can act on it; ``about``: what it was about."""
    if not isinstance(error, ClientError):
        return StoreUnavailable(_without_answer(error, place))
    return in_words(code_of(error), str(error.response.get("Error", {}).get("Message", "")), place, about)


def in_words(code: str, said: str, place: AwsPlace, about: Resource | None = None) -> StoreError:
    """The same of AWS's word for it and what it says."""
    setting = about.setting if about is not None else ""
    clock = code in _CLOCK or "Signature expired" in said or "Signature not yet current" in said
    known: list[tuple[bool, str]] = [
        (clock, f"AWS refuses what was signed at another time than now ({said}): {_SET_CLOCK}"),
        (code in _KEYS, f"AWS does not accept the credentials ({code}): check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and"
         " AWS_REGION, and that the clock is right"),
        (code in _EXPIRED, "the AWS credentials have expired: sign in again, or give this machine a role"),
        (code in RIGHT and "dynamodb:Scan" in said, "the AWS credentials may not read the whole table, which only moving"
         f" everything needs: allow dynamodb:Scan on {about} to whoever moves it"),
        (code in RIGHT, f"the AWS credentials may not do this ({said or code}): give their role the rights that the template"
         f" in deploy/ lists for {about}"),
        (code in _GONE, f"there is no {about} in {place.where}: deploy the template in deploy/ there, or set {setting} and"
         " AWS_REGION to where it is"),
        (code in _ELSEWHERE, f"{about} is in another region than {place.where}: set AWS_REGION to its region"),
        (code in _AGAIN or code == "TransactionCanceledException", f"AWS does not keep up ({code}: {said}): nothing was"
         " written; it is tried again later"),
    ]  # fmt: skip
    words = next((words for holds, words in known if holds), None)
    return (
        StoreError(f"AWS refused a request ({code}): {said[:_MOST_SAID]}") if words is None else StoreUnavailable(words)
    )


def _without_answer(error: Exception, place: AwsPlace) -> str:
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
        case exceptions.InvalidRegionError():
            return f"no AWS region is called {place.region}: set AWS_REGION to one such as eu-central-1"
        case ValueError():
            return f"AWS cannot be asked ({error}): correct AWS_ENDPOINT_URL, or remove it"
        case _:
            why = str(error).partition(": ")[0]  # without the request's address, which differs for each part
            named = f"that {place.endpoint} runs, which AWS_ENDPOINT_URL or a queue's address names"
            check = named if place.endpoint else "the network, AWS_REGION and AWS_ENDPOINT_URL"
            return f"AWS does not answer in {place.where} ({why}): check {check}"


def wrong_clock(seconds: float) -> str:
    """What to do where AWS has another time than we have."""
    return f"AWS's clock is {abs(seconds):.0f} seconds {'ahead of' if seconds > 0 else 'behind'} ours: {_SET_CLOCK}"
