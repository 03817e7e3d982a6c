"""Which server may use which repository."""

from __future__ import annotations

import pytest

from agentic.forges.repository_list import NotAllowed, RepositoryList, pattern_from
from agentic.ports.forge import Remote

SHOP = Remote("git.example.org", "ada", "shop")


def allowed(server: str, remote: Remote, *written: str, servers: int = 2) -> bool:
    try:
        RepositoryList(written, "git.example.org", lambda: servers).require(server, remote)
    except NotAllowed:
        return False
    return True


@pytest.mark.parametrize(
    ("written", "yes"),
    [
        ("11111:ada/shop", True), ("11111:ADA/*", True), ("ada/shop", True), ("ada/*", True), ("*/*", True),
        ("git.example.org/ada/shop", True), ("22222:ada/shop", False), ("ada/shopping", False), ("bob/*", False),
        ("other.example.org/ada/*", False),
    ],
)  # fmt: skip
def test_a_pattern_allows_what_it_names_and_nothing_else(written: str, yes: bool) -> None:
    assert allowed("11111", SHOP, written) is yes
    assert allowed("11111", SHOP, "x/y", written, servers=1) is yes


def test_another_host_is_named_with_it() -> None:
    elsewhere = Remote("127.0.0.1:3000", "ada", "shop")
    assert not allowed("11111", elsewhere, "ada/*")
    assert allowed("11111", elsewhere, "11111:127.0.0.1:3000/ada/*")


def test_without_a_list_one_server_may_use_all_and_several_nothing() -> None:
    assert allowed("11111", SHOP, servers=1)
    assert not allowed("11111", SHOP)


def test_a_direct_message_uses_what_every_server_may() -> None:
    assert not allowed("", SHOP, "11111:ada/shop")
    assert allowed("", SHOP, "ada/shop")


@pytest.mark.parametrize("wrong", ["ada", "x:ada/shop", "ada/shop/more/less", "", "11111:", "https://a/b"])
def test_what_names_nothing_is_said(wrong: str) -> None:
    with pytest.raises(ValueError, match="names no repositories"):
        pattern_from(wrong)
