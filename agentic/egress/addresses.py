"""Which addresses may be connected to: public ones, and those of the own network only where a name of it is listed."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address

_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_NEVER = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
            "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3", "100.100.100.200/32", "168.63.129.16/32",
            "::/128",
            "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fd00:ec2::/32", "fe80::/10",
            "fec0::/10", "ff00::/8",
        ),
    )
)  # fmt: skip
"""Metadata services of clouds, link-local, multicast, tunnels, documentation, reserved: nobody's network is there."""
_OWN = tuple(
    map(ip_network, ("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7"))
)  # fmt: skip


def refusal(written: str, *, own_network: bool = False) -> str:
    """Why an address may not be connected to; '' where it may.  ``own_network``: one of a private network may be."""
    try:
        address = ip_address(written)
    except ValueError:  # also one with a zone: link-local
        return f"its address {written!r} cannot be read"
    return next((why for each in _meant(address) if (why := _refusal(each, written, own_network))), "")


def _refusal(address: Address, written: str, own_network: bool) -> str:
    if _in(address, _NEVER):
        return f"its address {written} is no public one"
    if _in(address, _OWN):
        return "" if own_network else f"its address {written} is in a private network"
    return "" if address.is_global else f"its address {written} is no public one"


def _meant(address: Address) -> tuple[Address, ...]:
    """The address, and the IPv4 ones that are reached through it where it is a translated or tunnelled one."""
    if isinstance(address, IPv4Address):
        return (address,)
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if any(address in network for network in _NAT64):
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    if 1 < int(address) < 1 << 32:
        return (IPv6Address(0),)  # an old form of IPv4 that nothing public has
    return (address,)


def _in(address: Address, networks: tuple[IPv4Network | IPv6Network, ...]) -> bool:
    return any(address in network for network in networks)  # one of another version is in none
