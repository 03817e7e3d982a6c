"""MiniStack does what the store needs, but for what is listed with a reason; when it learns that, the list is shortened."""

from __future__ import annotations

from tests.aws.conformance.__main__ import SERVICES, results
from tests.aws.conformance.account import opened
from tests.aws.conformance.known import KNOWN


def test_ministack_fails_only_what_is_known(aws_endpoint: str, aws_credentials: None) -> None:
    with opened(aws_endpoint, "us-east-1") as account:
        wrong = {each.name: each.wrong for each in results(account) if each.wrong}
    assert {name: why for name, why in wrong.items() if name not in KNOWN} == {}
    assert set(KNOWN) == set(wrong), "this holds now"


def test_each_check_says_what_it_demands() -> None:
    checks = [check for each in SERVICES.values() for check in each]
    assert len({check.__name__ for check in checks}) == len(checks)
    assert all(check.__doc__ for check in checks)
