"""Who sent a request: what a connection knows of its other end.

Source: ``KafkaPrincipal.java``.
"""

from typing import NamedTuple

USER = "User"
LOOPBACK = "127.0.0.1"


class Principal(NamedTuple):
    """A user, and the address that he asks from."""

    name: str
    host: str = LOOPBACK
    kind: str = USER

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


ANONYMOUS = Principal("ANONYMOUS")
"""Whoever did not say who he is."""
