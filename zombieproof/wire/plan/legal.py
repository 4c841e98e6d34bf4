"""What a plan cannot say, though its form is right: each with the reason, and what to do.

Source: `model.api_versions`, `errors`, `messages.registry`.
"""

from collections.abc import Iterator
from functools import cache

from zombieproof.messages.groups import FindCoordinator
from zombieproof.messages.registry import APIS
from zombieproof.messages.schema import Entity, fields_of, record_in
from zombieproof.model.api_versions import understood_versions
from zombieproof.model.releases import RELEASES
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.plan.errors import ERRORS
from zombieproof.wire.plan.kinds import (
    Blackhole,
    Command,
    CrashBroker,
    DelayOn,
    Effect,
    ExpireTransaction,
    InjectError,
    Moment,
    MoveCoordinator,
    MoveLeader,
    Reorder,
)
from zombieproof.wire.plan.parts import Fault, Plan
from zombieproof.wire.plan.selection import API_NAMES, ASKED_BY_BROKERS, Requests, Sender

BETWEEN_BROKERS = ("delay_on", "disconnect_on", "blackhole", "duplicate")
"""What can become of a request of a broker to a broker, beside what is done to the cluster."""


class Illegal(ValueError):
    """What a plan says cannot be; `at` is the place in the plan."""

    def __init__(self, at: tuple[str | int, ...], says: str) -> None:
        super().__init__(says)
        self.at = at


def check_plan(plan: Plan) -> None:
    """Check everything that its form does not say.

    Raises:
        Illegal: something cannot be.
        ValueError: the release is none, or has no such transaction version.
    """
    plan.rules()
    for number, fault in enumerate(plan.faults):
        at: tuple[str | int, ...] = ("faults", number)
        if fault.name and fault.name in [each.name for each in plan.faults[:number]]:
            raise Illegal((*at, "name"), f"{fault.name!r} is the name of two faults; give each its own")
        for place, requests in _all_requests(fault):
            _check_requests((*at, *place), requests, plan.release or RELEASES[-1])
        _check_kind((*at, fault.kind), fault)
        _check_brokers((*at, fault.kind), fault, plan.brokers)
        _check_turns((*at, "when"), fault)
        for earlier in plan.faults[:number]:
            _check_together(at, fault, earlier)


def _all_requests(fault: Fault) -> Iterator[tuple[tuple[str, ...], Requests]]:
    yield ("request",), fault.request
    does = fault.does
    if isinstance(does, Reorder) and does.behind is not None:
        yield ("reorder", "behind"), does.behind
    until = getattr(does, "until", None)
    for name in ("request", "answer"):
        found = getattr(until, name, None)
        if found is not None:
            yield (fault.kind, "until", name), found


# ---------------------------------------------------------------- requests


@cache
def entities_of(key: ApiKey) -> frozenset[Entity]:
    """What a request of an API can name."""
    api = next(each for each in APIS if each.key == key)
    found = set(_entities(api.request))
    return frozenset(found | {Entity.TRANSACTIONAL_ID, Entity.GROUP} if api.request is FindCoordinator else found)


def _entities(kind: type) -> Iterator[Entity]:
    for field in fields_of(kind):
        yield field.entity
        record = record_in(field.kind)
        if record is not None:
            yield from _entities(record)


_NAMED = {
    "transactional_id": Entity.TRANSACTIONAL_ID,
    "while_state": Entity.TRANSACTIONAL_ID,
    "group": Entity.GROUP,
    "topic": Entity.PARTITION,
    "partition": Entity.PARTITION,
}


def _check_requests(at: tuple[str | int, ...], requests: Requests, release: str) -> None:
    if requests.topic is not None and requests.partition is not None:
        raise Illegal((*at, "topic"), "stands beside partition, which names its topic; leave one out")
    key = requests.key
    if key is None:
        for name in ("version", "committed"):
            if getattr(requests, name) is not None:
                raise Illegal((*at, name), f"means nothing without an API; say which, such as {'EndTxn'}")
        return
    for name, entity in _NAMED.items():
        if getattr(requests, name) is not None and entity not in entities_of(key):
            legal = ", ".join(each for each, of in API_NAMES.items() if entity in entities_of(of))
            raise Illegal((*at, name), f"no {requests.api} names one; those that do: {legal}")
    if requests.committed is not None and key != ApiKey.END_TXN:
        raise Illegal((*at, "committed"), f"no {requests.api} says it; only EndTxn does")
    _check_sender(at, requests, key)
    understood = understood_versions(release, key)
    versions = next(each.versions for each in APIS if each.key == key)
    if understood is None:
        raise Illegal((*at, "api"), f"a broker of {release} has no {requests.api}; say another release")
    first, last = max(understood[0], versions[0]), min(understood[-1], versions[-1])
    if requests.version is not None and not first <= requests.version <= last:
        raise Illegal(
            (*at, "version"),
            f"{requests.api} {requests.version} reaches no broker of {release} here; legal are {first} to {last}",
        )


def _check_sender(at: tuple[str | int, ...], requests: Requests, key: ApiKey) -> None:
    by_brokers = {each.name for each in APIS if each.brokers_since is not None}
    if requests.asker is Sender.BROKER and requests.api not in by_brokers:
        raise Illegal((*at, "sender"), f"no broker asks {requests.api}; brokers ask {', '.join(sorted(by_brokers))}")
    if requests.asker is Sender.BROKER and requests.client_id is not None:
        raise Illegal((*at, "client_id"), "a broker has none; leave it out, or say sender: client")
    if requests.asker is Sender.CLIENT and key in ASKED_BY_BROKERS - {ApiKey.WRITE_TXN_MARKERS}:
        raise Illegal((*at, "sender"), f"no client asks {requests.api}; leave it out")


# ---------------------------------------------------------------- kinds


def _check_kind(at: tuple[str | int, ...], fault: Fault) -> None:
    does, key = fault.does, fault.request.key
    if fault.request.asker is Sender.BROKER:
        _check_between_brokers(at, fault)
    if isinstance(does, InjectError):
        _check_error(at, fault, does)
    if isinstance(does, DelayOn) and does.disconnects and does.holds == "answer":
        raise Illegal((*at, "disconnects"), "nobody is there to hear the answer that waits; say disconnect_on: after")
    can_name = frozenset(Entity) if key is None else entities_of(key)
    if (
        isinstance(does, ExpireTransaction)
        and does.transactional_id is None
        and Entity.TRANSACTIONAL_ID not in can_name
    ):
        raise Illegal(at, f"{fault.request.api} names no transactional id; say which transaction expires")
    if isinstance(does, MoveCoordinator):
        if does.transactional_id is not None and does.group is not None:
            raise Illegal(at, "names an id and a group, which have coordinators of their own; leave one out")
        if (does.transactional_id, does.group) == (None, None) and not can_name & {
            Entity.TRANSACTIONAL_ID,
            Entity.GROUP,
        }:
            raise Illegal(at, f"{fault.request.api} names no id and no group; say whose coordinator moves")
    if isinstance(does, MoveLeader) and does.partition is None and Entity.PARTITION not in can_name:
        raise Illegal(at, f"{fault.request.api} names no partition; say which gets another leader")


def _check_between_brokers(at: tuple[str | int, ...], fault: Fault) -> None:
    does = fault.does
    if not isinstance(does, Command) and fault.kind not in BETWEEN_BROKERS:
        raise Illegal(
            at,
            f"cannot be of what a broker asks a broker: what becomes of it is theirs to say; legal are "
            f"{', '.join(BETWEEN_BROKERS)} and what is done to the cluster",
        )
    if isinstance(does, DelayOn) and does.holds == "answer":
        raise Illegal(at, "holds the answer of a broker to a broker; only what it is asked can wait: holds: request")
    if isinstance(does, DelayOn) and does.disconnects:
        raise Illegal((*at, "disconnects"), "of what a broker asks a broker; say disconnect_on, or leave it out")
    if isinstance(does, Blackhole) and does.effect is Effect.AFTER:
        raise Illegal(at, "of what a broker asks a broker only the request can vanish: blackhole: before")


def _check_error(at: tuple[str | int, ...], fault: Fault, does: InjectError) -> None:
    request, error = fault.request, Error[does.error]
    if request.key is None:
        raise Illegal(at, "needs to know what it answers: say the api of the request")
    legal = ERRORS.get(request.key)
    if legal is None:
        raise Illegal(at, f"no answer of {request.api} is made here; legal for {', '.join(_answered())}")
    if error not in legal:
        names = ", ".join(each.name for each in legal)
        raise Illegal((*at, "error"), f"no broker answers {request.api} with {error.name}; legal: {names}")
    if request.version is not None and request.version < legal[error]:
        raise Illegal(
            (*at, "error"),
            f"{request.api} {request.version} cannot be answered {error.name}, which came with version "
            f"{legal[error]}; choose another error, or that version",
        )


def _answered() -> list[str]:
    return [name for name, key in API_NAMES.items() if key in ERRORS]


def _check_brokers(at: tuple[str | int, ...], fault: Fault, brokers: int) -> None:
    does = fault.does
    if isinstance(does, MoveCoordinator | MoveLeader):
        if brokers < 2:
            raise Illegal(at, "needs another broker that could lead; say brokers: 2 or more")
        if does.to is not None and does.to > brokers:
            raise Illegal((*at, "to"), f"there is no broker {does.to}; legal are 1 to {brokers}")
    if isinstance(does, CrashBroker) and does.node is not None:
        if does.moment is not Moment.BEFORE_APPEND:
            raise Illegal((*at, "node"), "another broker has no part in the request; say moment: before append")
        if does.node > brokers:
            raise Illegal((*at, "node"), f"there is no broker {does.node}; legal are 1 to {brokers}")
    node = fault.request.node
    if node is not None and node > brokers:
        raise Illegal((*at[:-1], "request", "node"), f"there is no broker {node}; legal are 1 to {brokers}")


# ---------------------------------------------------------------- turns


def _check_turns(at: tuple[str | int, ...], fault: Fault) -> None:
    if fault.request.nth is not None and fault.when != "once":
        raise Illegal(at, "stands beside nth, which is one request; leave it out, or leave nth out")


def _check_together(at: tuple[str | int, ...], fault: Fault, earlier: Fault) -> None:
    """Two faults that decide what becomes of the same request cannot both have their way."""
    if isinstance(fault.does, Command) or isinstance(earlier.does, Command) or fault.request != earlier.request:
        return
    (first, count), (other_first, other_count) = fault.turns, earlier.turns
    is_behind = other_count is not None and first >= other_first + other_count
    is_before = count is not None and other_first >= first + count
    if not is_behind and not is_before:
        raise Illegal(
            at,
            f"{fault.kind} and {earlier.kind} are for the same request at the same turn, and only one can be what "
            "becomes of it; give them other requests, or another when",
        )
