"""Parse broker addresses (HOST:PORT), and recognise loopback addresses."""

import ipaddress
import re

from zombieproof.wire.api import Address

MOST_PORT = 65_535


class NoAddress(ValueError):
    """Raised for text that is not a list of addresses."""


def addresses_of(bootstrap: str) -> tuple[Address, ...]:
    """Parse addresses such as ``127.0.0.1:9092,[::1]:9093``.

    Raises:
        NoAddress: a part is not an address.
    """
    return tuple(_address(part.strip()) for part in bootstrap.split(","))


def _address(text: str) -> Address:
    found = re.fullmatch(r"\[(?P<six>[^\]]+)\]:(?P<at>\d+)|(?P<host>[^:\[\]\s/]+):(?P<port>\d+)", text)
    if found is None:
        raise NoAddress(f"{text!r} is not HOST:PORT; give for example 127.0.0.1:9092 or [::1]:9092")
    port = int(found["at"] or found["port"])
    if not 1 <= port <= MOST_PORT:
        raise NoAddress(f"{text!r}: {port} is not a valid port; give 1 to {MOST_PORT}")
    return Address(found["six"] or found["host"], port)


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is loopback."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def spoken(address: Address) -> str:
    """Format an address as HOST:PORT."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"{host}:{address.port}"
