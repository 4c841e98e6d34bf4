"""Clients that may change places: two instances with the same programs, of one transactional id or of one each.

A transactional id that only one client has changes places with it. Nothing else of this model is alike: programs name
partitions one after the other, the first coordinator is node 0, and producer ids are numbered as they are handed out.
"""

from typing import Final

from zombieproof.checker.engine.sorts import Place, Sort, Special, renamed
from zombieproof.checker.transactions.capacities import CLIENTS, TXNS
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Ghost, LogRecord, Message, Node, State, UnderWay
from zombieproof.checker.transactions.vocabulary import Kind, Phase
from zombieproof.model.vocabulary import NONE

_OF_CLIENTS: Final[dict[Place, int]] = {(State, "clients"): 1, (Ghost, "labels"): TXNS}
_OF_IDS: Final[dict[Place, int]] = {
    (Node, "cache"): 1,
    (Node, "driving"): 1,
    (State, "durable"): 1,
    (Ghost, "owner"): 1,
}
_LABELS: Final[dict[Place, tuple[int, int]]] = {(LogRecord, "label"): (1, TXNS), (Ghost, "owner"): (1, TXNS)}
_TOLD_APART: Final = frozenset({"a_zombie_is_fenced", "an_unrivalled_producer_is_never_fenced"})


def sorts_of(setup: Setup) -> tuple[Sort, ...]:
    """The clients, where programs and ids do not tell them apart."""
    bounds = setup.bounds
    if bounds.clients != CLIENTS or bounds.grouped == 1 or bounds.appends_travel == 1:
        return ()  # the first member of a group owns its input; appends under way stand in the order of their ids
    if bounds.transactions[0] != bounds.transactions[1]:
        return ()
    if any(setup.programs[t].ops != setup.programs[TXNS + t].ops for t in range(TXNS)):
        return ()
    ids = tuple(bounds.transactional_id[:CLIENTS])
    if ids == (0, 1):
        told_apart_by = _TOLD_APART | {"an_id_is_forgotten"}
        special: Special = {Message: exchange_with_ids, UnderWay: exchange_under_way}
        return (Sort("clients", CLIENTS, _OF_CLIENTS | _OF_IDS, _LABELS, {}, special, told_apart_by),)
    if ids in ((0, 0), (NONE, NONE)):
        return (Sort("clients", CLIENTS, _OF_CLIENTS, _LABELS, {}, {Message: exchange}, _TOLD_APART),)
    return ()


def exchange(message: Message, i: int, j: int) -> None:
    """Two clients of one transactional id change places in a message: of a marker `client` is an id."""
    if message.kind not in (Kind.EMPTY, Kind.MARKER):
        message.client = renamed(message.client, i, j, 0, 1)
    message.label = renamed(message.label, i, j, 1, TXNS)


def exchange_with_ids(message: Message, i: int, j: int) -> None:
    """Two clients change places in a message, and so do their transactional ids."""
    if message.kind != Kind.EMPTY:
        message.client = renamed(message.client, i, j, 0, 1)
    message.label = renamed(message.label, i, j, 1, TXNS)


def exchange_under_way(append: UnderWay, i: int, j: int) -> None:
    """Two clients change places, with their ids, in an append that is under way."""
    if append.phase != Phase.FREE:
        append.subject = renamed(append.subject, i, j, 0, 1)
    append.label = renamed(append.label, i, j, 1, TXNS)
