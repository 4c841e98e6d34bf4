"""Who is asked: what a recording needs of a cluster, whether it lives in this process or behind a socket."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from zombieproof.broker.cluster.journal import Decided
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.formats.topics import TopicPartition


class Impossible(ValueError):
    """A step asks for something that this cluster cannot do: a node that never had a role, a return of nobody."""


@dataclass(frozen=True, slots=True)
class Role:
    """A role that one node of a cluster has: `kind` is coordinator, group, leader or follower.

    `is_old`: whoever had it before it moved the last time.
    """

    kind: str
    name: str = ""
    partition: TopicPartition | None = None
    is_old: bool = False


def role_of(symbol: str, transactional_id: str = "x0") -> Role:
    """The role that a node symbol names; "coordinator" is that of `transactional_id`."""
    is_old = symbol.startswith("old-")
    kind, _, name = symbol.removeprefix("old-").partition(":")
    if kind == "coordinator":
        return Role(kind, transactional_id, None, is_old)
    found = re.fullmatch(r"(.+)-(\d+)", name)
    return Role(kind, name, (found[1], int(found[2])) if found and kind != "group" else None, is_old)


@dataclass(frozen=True, slots=True)
class Closed:
    """The connection ended instead of an answer."""


@dataclass(frozen=True, slots=True)
class Silence:
    """There was no answer."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends a step: a user who is known, or whoever is at the end of a connection that a sequence names.

    Neither: nobody asks who it is.
    """

    principal: str | None = None
    connection: str | None = None


NOBODY = Sender()


@dataclass(frozen=True, slots=True)
class Credentials:
    """A step of authentication: `mechanism` of a SaslHandshake, `token` of a SaslAuthenticate or SaslToken."""

    api: str
    version: int
    mechanism: str = ""
    token: bytes = b""


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The answer to it: what of these it has depends on the API."""

    error: int
    mechanisms: tuple[str, ...] = ()
    token: bytes = b""
    lifetime_ms: int = 0


class Subject(Protocol):
    """A cluster that has just been made for one sequence. Every method may raise `Impossible`."""

    def ask(self, request: Request, role: Role | None, sender: Sender = NOBODY) -> Answer | Closed | Silence:
        """Send a request to the node that has `role`, or that has to answer it, and wait for the answer."""
        ...

    def authenticate(self, credentials: Credentials, connection: str) -> Authenticated | Closed:
        """Send a request of authentication over a connection, which is opened if there is none of that name."""
        ...

    def begin(self, request: Request, role: Role | None, name: str) -> None:
        """Send a request, and do not wait for its answer."""
        ...

    def answered(self, name: str) -> Answer | Closed | Silence:
        """What has come of the request that was sent under `name`."""
        ...

    def go_on(self, attempt: int) -> bool:
        """Let the cluster go on before a request is sent again; False: that cannot change the answer any more.

        Args:
            attempt: how often it was sent, from 1.
        """
        ...

    def pass_time(self, milliseconds: int, *, until_ended: str | None = None) -> None:
        """Let time pass, with all that brokers do by a timer; at most until they ended the transaction of an id."""
        ...

    def restart(self, clean: bool) -> None:
        """Stop or kill every node, and start it again on its data."""
        ...

    def move(self, role: Role) -> None:
        """Another node in sync takes the role; the old one lives on."""
        ...

    def stop(self, role: Role) -> None:
        """Stop the node that has the role in order."""
        ...

    def kill(self, role: Role) -> None:
        """Kill the node that has the role."""
        ...

    def give_back(self) -> None:
        """Start the node that was stopped or killed on its data."""
        ...

    def coordinator_epochs(self) -> Sequence[int]:
        """The epochs of the coordinator of x0 so far, the first at the start of the sequence."""
        ...

    def close(self) -> None:
        """The sequence is over."""
        ...

    def decisions(self) -> Sequence[Decided]:
        """What was decided since the last request was sent; empty where that cannot be seen."""
        ...
