"""Brokers of ours behind a socket that are wrong in one way: a rule is off, or they hear or say something else."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from zombieproof.broker.authorization.principals import Principal
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Done, Embedded
from zombieproof.broker.store.config import Durability
from zombieproof.messages.groups import (
    OffsetCommit,
    OffsetFetch,
    OffsetFetchAnswer,
    PlainOffsetToCommit,
    TxnOffsetCommit,
)
from zombieproof.messages.partitions import (
    DescribeProducersAnswer,
    Fetch,
    FetchAnswer,
    ListOffsets,
    ListOffsetsAnswer,
    ProduceAnswer,
)
from zombieproof.messages.transactions import (
    DescribeTransactionsAnswer,
    EndTxnAnswer,
    InitProducerIdAnswer,
    ListTransactionsAnswer,
)
from zombieproof.model.rules import Rules, preset_for
from zombieproof.model.vocabulary import NONE, Error, Isolation
from zombieproof.wire.background import Background
from zombieproof.wire.server import Server

SETTINGS = Settings(
    transaction_state_log_num_partitions=3,
    offsets_topic_num_partitions=3,
    group_initial_rebalance_delay_ms=0,
    transaction_abort_timed_out_transaction_cleanup_interval_ms=200,
)

Hears = Callable[[Request], Request]
Says = Callable[[Answer], Answer]


@dataclass(frozen=True)
class Wrong:
    """How a broker is wrong: rules that are off, requests that it takes for others, answers that it alters."""

    without: tuple[str, ...] = ()
    hears: Hears = lambda request: request
    says: Says = lambda answer: answer


RIGHT = Wrong()


class Misled(Embedded):
    """A cluster that hears and says what it is told to."""

    wrong: Wrong = RIGHT

    def submit(
        self, request: Request, node: int | None, done: Done, client_id: str = "", principal: Principal | None = None
    ) -> None:
        def say(answer: Answer | None) -> None:
            done(None if answer is None else self.wrong.says(answer))

        super().submit(self.wrong.hears(request), node, say, client_id, principal)


@contextmanager
def served(
    wrong: Wrong = RIGHT, transaction_version: int = 2, release: str = "4.3", settings: Settings = SETTINGS
) -> Iterator[str]:
    """A broker that listens while the block runs; its address."""
    with told_of(wrong, transaction_version, release, settings) as (bootstrap, _, _):
        yield bootstrap


@contextmanager
def told_of(
    wrong: Wrong = RIGHT, transaction_version: int = 2, release: str = "4.3", settings: Settings = SETTINGS
) -> Iterator[tuple[str, Embedded, Background]]:
    """The same, with the cluster itself (look at it only when nobody asks) and what listens for it."""
    rules: Rules = preset_for(release, transaction_version)
    for name in wrong.without:
        setattr(rules, name, 0)
    cluster = Misled(
        None,
        nodes=1,
        topics={"theirs": 1},
        settings=settings,
        rules=rules,
        durability=Durability.MEMORY,
        release=release,
    )
    cluster.wrong = wrong
    with cluster:
        background = Background(Server(cluster))
        try:
            (address,) = background.addresses.values()
            yield f"{address.host}:{address.port}", cluster, background
        finally:
            background.close()


# ---------------------------------------------------------------- ways to be wrong


def _without_errors(answer: Any) -> Any:
    """An answer that says yes, whatever was decided."""
    if isinstance(answer, dict):
        return {key: 0 if isinstance(value, int) else _without_errors(value) for key, value in answer.items()}
    if isinstance(answer, tuple):
        return tuple(_without_errors(each) for each in answer)
    if not is_dataclass(answer) or isinstance(answer, type):
        return answer
    changed: dict[str, Any] = {}
    for each in fields(answer):
        value = getattr(answer, each.name)
        if each.name in ("error", "errors") and isinstance(value, int):
            changed[each.name] = 0
        elif each.name in ("errors", "partitions", "transactions", "markers", "rows") and isinstance(
            value, dict | tuple
        ):
            changed[each.name] = _without_errors(value)
    return replace(answer, **changed)


def _says_yes(answer: Answer) -> Answer:
    kept = FetchAnswer | ListOffsetsAnswer | ListTransactionsAnswer
    waits = isinstance(answer, InitProducerIdAnswer) and answer.error == Error.CONCURRENT_TRANSACTIONS
    return answer if isinstance(answer, kept) or waits else _without_errors(answer)


def _hears_no_isolation(request: Request) -> Request:
    if isinstance(request, Fetch | ListOffsets):
        return replace(request, isolation=Isolation.READ_UNCOMMITTED)
    return request


def _lists_nothing_aborted(answer: Answer) -> Answer:
    if not isinstance(answer, FetchAnswer):
        return answer
    return FetchAnswer({tp: replace(row, aborted=row.aborted and ()) for tp, row in answer.partitions.items()})


def _has_no_marker_but_of_partition_0(answer: Answer) -> Answer:
    if not isinstance(answer, FetchAnswer):
        return answer
    return FetchAnswer(
        {
            tp: row if tp[1] == 0 else replace(row, batches=tuple(b for b in row.batches if b.marker is None))
            for tp, row in answer.partitions.items()
        }
    )


def _commits_offsets_at_once(request: Request) -> Request:
    if not isinstance(request, TxnOffsetCommit):
        return request
    rows = tuple(PlainOffsetToCommit(row.partition, row.offset, row.metadata) for row in request.offsets)
    return OffsetCommit(8, request.group, rows)


def _hears_no_require_stable(request: Request) -> Request:
    return replace(request, require_stable=False) if isinstance(request, OffsetFetch) else request


def _calls_everything_stable(answer: Answer) -> Answer:
    return _without_errors(answer) if isinstance(answer, OffsetFetchAnswer) else answer


def _commits_what_is_aborted(answer: Answer) -> Answer:
    """Offset 3, which is the plain one, is told as 5, that of the transaction, once it is stable."""
    if not isinstance(answer, OffsetFetchAnswer):
        return answer
    rows = {tp: replace(row, offset=5) if row.offset in (3, 1) else row for tp, row in answer.partitions.items()}
    return replace(answer, partitions=rows)


def _always_epoch_0(answer: Answer) -> Answer:
    if isinstance(answer, InitProducerIdAnswer) and answer.error == Error.NONE:
        return replace(answer, producer_epoch=0)
    return answer


def _one_producer_id(answer: Answer) -> Answer:
    if isinstance(answer, InitProducerIdAnswer | EndTxnAnswer) and answer.producer_id != NONE:
        return replace(answer, producer_id=7)
    return answer


def _bumps_nothing_at_the_end(answer: Answer) -> Answer:
    return replace(answer, producer_epoch=0) if isinstance(answer, EndTxnAnswer) and answer.error == 0 else answer


def _refuses_repeated_ends() -> Says:
    told: list[EndTxnAnswer] = []

    def says(answer: Answer) -> Answer:
        if isinstance(answer, EndTxnAnswer):
            told.append(answer)
            return answer if len(told) == 1 else EndTxnAnswer(int(Error.INVALID_TXN_STATE))
        return answer

    return says


def _ends_for_everybody(answer: Answer) -> Answer:
    """Every transaction is described as complete."""
    if not isinstance(answer, DescribeTransactionsAnswer):
        return answer
    return DescribeTransactionsAnswer(tuple(replace(row, state="CompleteCommit") for row in answer.transactions))


def _lists_everything(answer: Answer) -> Answer:
    if not isinstance(answer, ListTransactionsAnswer):
        return answer
    return replace(answer, transactions=tuple(replace(row, state="Empty") for row in answer.transactions))


def _forgets_where_transactions_begin(answer: Answer) -> Answer:
    if not isinstance(answer, DescribeProducersAnswer):
        return answer
    return DescribeProducersAnswer(
        {
            tp: replace(row, producers=tuple(replace(each, txn_start_offset=NONE) for each in row.producers))
            for tp, row in answer.partitions.items()
        }
    )


def _markers_of_epoch_0(answer: Answer) -> Answer:
    if not isinstance(answer, FetchAnswer):
        return answer
    return FetchAnswer(
        {
            tp: replace(
                row,
                batches=tuple(
                    replace(each, producer_epoch=0 if each.producer_epoch else 1) if each.marker is not None else each
                    for each in row.batches
                ),
            )
            for tp, row in answer.partitions.items()
        }
    )


def _duplicates_are_out_of_order() -> Says:
    told: list[int] = []

    def says(answer: Answer) -> Answer:
        if not isinstance(answer, ProduceAnswer):
            return answer
        rows = dict(answer.partitions)
        for tp, row in answer.partitions.items():
            if row.error == 0 and row.base_offset in told:
                rows[tp] = replace(row, error=int(Error.OUT_OF_ORDER_SEQUENCE_NUMBER), base_offset=NONE)
            told.append(row.base_offset)
        return ProduceAnswer(rows)

    return says


def _refuses_all_produce(answer: Answer) -> Answer:
    if not isinstance(answer, ProduceAnswer):
        return answer
    error = int(Error.OUT_OF_ORDER_SEQUENCE_NUMBER)
    return ProduceAnswer({tp: replace(row, error=error, base_offset=NONE) for tp, row in answer.partitions.items()})


def _says_concurrent_never(answer: Answer) -> Answer:
    is_asked_again = isinstance(answer, InitProducerIdAnswer) and answer.error == Error.CONCURRENT_TRANSACTIONS
    return InitProducerIdAnswer(0, 1, 1) if is_asked_again else answer


WAYS: Mapping[str, Callable[[], Wrong]] = {
    "says yes": lambda: Wrong(says=_says_yes),
    "hears no isolation": lambda: Wrong(hears=_hears_no_isolation),
    "lists nothing aborted": lambda: Wrong(says=_lists_nothing_aborted),
    "has no marker but of partition 0": lambda: Wrong(says=_has_no_marker_but_of_partition_0),
    "commits offsets at once": lambda: Wrong(hears=_commits_offsets_at_once),
    "hears no require_stable": lambda: Wrong(hears=_hears_no_require_stable),
    "calls everything stable": lambda: Wrong(says=_calls_everything_stable),
    "commits what is aborted": lambda: Wrong(says=_commits_what_is_aborted),
    "always epoch 0": lambda: Wrong(says=_always_epoch_0),
    "one producer id": lambda: Wrong(says=_one_producer_id),
    "bumps nothing at the end": lambda: Wrong(says=_bumps_nothing_at_the_end),
    "refuses repeated ends": lambda: Wrong(says=_refuses_repeated_ends()),
    "describes all as complete": lambda: Wrong(says=_ends_for_everybody),
    "lists all as empty": lambda: Wrong(says=_lists_everything),
    "forgets where transactions begin": lambda: Wrong(says=_forgets_where_transactions_begin),
    "markers of another epoch": lambda: Wrong(says=_markers_of_epoch_0),
    "duplicates are out of order": lambda: Wrong(says=_duplicates_are_out_of_order()),
    "refuses all data": lambda: Wrong(says=_refuses_all_produce),
    "never concurrent": lambda: Wrong(says=_says_concurrent_never),
}
"""Named ways to be wrong; `without NAME` is a broker whose rule of that name is off."""


def way(name: str) -> Wrong:
    """The way of that name."""
    rules = name.removeprefix("without ")
    return Wrong(without=tuple(rules.split(" and "))) if rules != name else WAYS[name]()
