"""Hosts are judged by one spelling of their name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.egress.addresses import refusal
from agentic.egress.host_list import Authority, HostList, NoHost, authority, host_name, patterns, private_places, read
from agentic.egress.package_hosts import PACKAGE_HOSTS


def test_presets_and_hosts_are_read_in_any_spelling() -> None:
    assert patterns("Example.ORG., packages  *.Data.example") == ("example.org", "packages", "*.data.example")
    assert patterns("none example.org") == ("example.org",)
    assert patterns("") == patterns("none") == ("none",)


@pytest.mark.parametrize(
    "wrong",
    ["*", "*.org", "a*.example.org", "https://example.org", "example.org/x", "10.0.0.1", "münchen.example", "a..b"],
)
def test_what_is_no_host_is_refused(wrong: str) -> None:
    with pytest.raises(NoHost):
        patterns(wrong)


def test_a_setting_has_a_bound() -> None:
    with pytest.raises(NoHost):
        patterns(" ".join(f"h{n}.example" for n in range(51)))


def test_a_policy_allows_what_it_names_and_nothing_else() -> None:
    policy = read(patterns("example.org *.data.example packages"))
    assert all(map(policy.allows, ("example.org", "a.data.example", "a.b.data.example", *PACKAGE_HOSTS)))
    assert not any(
        map(policy.allows, ("www.example.org", "data.example", "xdata.example", "org", "example.org.evil.example"))
    )
    assert not read(("none",)).allows("example.org")
    assert (HostList() | policy) == policy


def test_the_preset_names_hosts_plainly() -> None:
    assert [host_name(host) for host in PACKAGE_HOSTS] == list(PACKAGE_HOSTS)


@pytest.mark.parametrize("number", ["1", "127.0.0.1", "0x7f.1", "2130706433", "017700000001", "example.0", "0x"])
def test_a_number_is_no_name(number: str) -> None:
    with pytest.raises(NoHost):
        host_name(number)


def test_an_authority_has_a_host_and_a_port() -> None:
    assert str(authority("Example.org:443")) == "example.org"
    assert str(authority("example.org:8443")) == "example.org:8443"
    assert authority("example.org", 80).port == 80
    for wrong in (
        "example.org",
        "example.org:",
        "example.org:0",
        "example.org:65536",
        "example.org:٣",
        "example.org:443:1",
    ):
        with pytest.raises(NoHost):
            authority(wrong)


def test_private_places_name_their_port_or_mean_the_usual_ones() -> None:
    places = private_places("index.corp.example, localhost:8443")
    assert {(each.host, each.port) for each in places} == {
        ("index.corp.example", 80), ("index.corp.example", 443), ("localhost", 8443),
    }  # fmt: skip
    assert private_places("") == frozenset()


@given(st.text(max_size=40))
def test_whatever_is_written_is_one_plain_name_or_none(written: str) -> None:
    try:
        name = host_name(written)
    except NoHost:
        return
    assert host_name(name) == name
    assert name.isascii()


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "8.8.8.8", "2606:2800:220:1::1", "::ffff:93.184.216.34", "64:ff9b::808:808"]
)
def test_public_addresses_may_be_called(address: str) -> None:
    assert refusal(address) == ""


@pytest.mark.parametrize("address", ["10.1.2.3", "127.0.0.1", "::1", "fd12::1", "100.64.1.1", "::ffff:192.168.1.1"])
def test_the_own_network_only_where_it_is_listed(address: str) -> None:
    assert "private network" in refusal(address)
    assert refusal(address, own_network=True) == ""


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "fe80::1", "0.0.0.0", "::", "224.0.0.1", "fd00:ec2::254", "x", "1.2"]
)
def test_some_addresses_are_nobodys(address: str) -> None:
    assert refusal(address, own_network=True)


def test_the_web_is_read_by_tools_and_reached_by_no_command() -> None:
    assert patterns("@WEB none packages") == ("@web", "packages")
    web = read(("@web",))
    assert (web.web, web.reaches, web.beyond_packages, web.allows("example.org")) == (True, False, (), False)
    assert (web | read(("example.org",))).web
    assert not read(("packages",)).web
    host = read(patterns("web"))
    assert (host.web, host.exact) == (False, {"web"}), "a host that is called so is one"
    assert Authority("web", 8080) in private_places("web:8080")
    for taken in ("@web", "*.@web"):
        with pytest.raises(NoHost):
            host_name(taken)
