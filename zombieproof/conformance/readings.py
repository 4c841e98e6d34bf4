"""Readings over several leaders or coordinators: each is asked for its part, and the answers are put together."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.conformance.subject import Closed, Silence
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import (
    DescribeProducers,
    DescribeProducersAnswer,
    Fetch,
    FetchAnswer,
    ListOffsets,
    ListOffsetsAnswer,
)
from zombieproof.messages.transactions import DescribeTransactions, DescribeTransactionsAnswer

T = TypeVar("T")

Reading = Fetch | ListOffsets | DescribeProducers | DescribeTransactions
Told = Answer | Closed | Silence
Ask = Callable[[Request, int | None], Told]


def read_from(
    request: Reading,
    ask: Ask,
    leader_of: Callable[[TopicPartition], int | None],
    coordinator_of: Callable[[str], int | None],
) -> Told:
    """Ask each leader (or coordinator) for its part, and put the answers together."""
    if isinstance(request, DescribeTransactions):
        by_node = _grouped(request.transactional_ids, coordinator_of)
        parts = [ask(replace(request, transactional_ids=ids), node) for node, ids in by_node.items()]
        rows = [row for part in parts if isinstance(part, DescribeTransactionsAnswer) for row in part.transactions]
        return _whole(parts) or DescribeTransactionsAnswer(tuple(rows))
    return _read_partitions(request, ask, leader_of)


def _read_partitions(
    request: Fetch | ListOffsets | DescribeProducers, ask: Ask, leader_of: Callable[[TopicPartition], int | None]
) -> Told:
    parts: list[Told] = []
    for node, wanted in _grouped(request.partitions, leader_of).items():
        if isinstance(request, DescribeProducers):
            parts.append(ask(replace(request, partitions=wanted), node))
        else:
            parts.append(ask(replace(request, partitions={tp: request.partitions[tp] for tp in wanted}), node))
    unlike = _whole(parts)
    if unlike is not None:
        return unlike
    if isinstance(request, Fetch):
        fetched = [part.partitions for part in parts if isinstance(part, FetchAnswer)]
        return FetchAnswer({tp: row for part in fetched for tp, row in part.items()})
    if isinstance(request, ListOffsets):
        listed = [part.partitions for part in parts if isinstance(part, ListOffsetsAnswer)]
        return ListOffsetsAnswer({tp: row for part in listed for tp, row in part.items()})
    described = [part.partitions for part in parts if isinstance(part, DescribeProducersAnswer)]
    return DescribeProducersAnswer({tp: row for part in described for tp, row in part.items()})


def _grouped(wanted: Iterable[T], node_of: Callable[[T], int | None]) -> dict[int | None, tuple[T, ...]]:
    """What is wanted, by the node that has it; one empty group where nothing is wanted."""
    found: dict[int | None, tuple[T, ...]] = {}
    for each in wanted:
        node = node_of(each)
        found[node] = (*found.get(node, ()), each)
    return found or {None: ()}


def _whole(parts: Iterable[Told]) -> Closed | Silence | None:
    """The part that is no answer, if there is one."""
    return next((part for part in parts if isinstance(part, Closed | Silence)), None)
