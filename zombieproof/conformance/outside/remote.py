"""The subject outside: a cluster that others may use too, asked for one sequence under names that nobody else has.

Nothing can be told to it: its time is everybody's, and it moves, stops and restarts nobody. Everything that a sequence
has made is taken away when it is over, but for transactional ids, which no request deletes.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from zombieproof.broker.cluster.journal import Decided
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.conformance.outside.cleaning import UNDER_WAY, Cleaning, Left, Member, WrongAnswer
from zombieproof.conformance.outside.introduction import Unreachable
from zombieproof.conformance.outside.peer import (
    BACKOFF_S,
    GROUP,
    TRANSACTION,
    Peer,
    wait_until,
)
from zombieproof.conformance.outside.renaming import READER, Renaming
from zombieproof.conformance.readings import read_from
from zombieproof.conformance.subject import (
    NOBODY,
    Authenticated,
    Closed,
    Credentials,
    Impossible,
    Role,
    Sender,
    Silence,
)
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.messages.groups import (
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatAnswer,
    JoinGroup,
    JoinGroupAnswer,
)
from zombieproof.messages.partitions import (
    LATEST,
    DescribeProducers,
    DescribeProducersAnswer,
    Fetch,
    ListOffsets,
    ListOffsetsAnswer,
    WriteTxnMarkers,
)
from zombieproof.messages.registry import Receiver, api_of, values_of
from zombieproof.messages.schema import Entity
from zombieproof.messages.transactions import (
    DescribeTransactions,
    DescribeTransactionsAnswer,
    EndTxn,
    EndTxnAnswer,
    InitProducerId,
    InitProducerIdAnswer,
    ListTransactions,
    ListTransactionsAnswer,
)
from zombieproof.model.vocabulary import NONE, ApiKey, Error, Isolation
from zombieproof.wire.faults import Malformed

AGAIN_FOR_S: Final = 2.5
"""So long a recorder sent the same request again."""
SWEEPS_S: Final = 15.0
"""Brokers look every ten seconds, if nothing else is set, for transactions that are open for too long."""
ENDS: Final = (EndTxn, InitProducerId, WriteTxnMarkers)
"""Requests after which markers are written."""

Told = Answer | Closed | Silence


class Remote:
    """A cluster for one sequence, whose topics are made first.

    Args:
        peer: the cluster.
        prefix: what the names of this sequence begin with.
        topics: those of the sequence, with their partitions.

    Raises:
        NotPossible: its topics cannot be made.
        Unreachable: nobody answers.
    """

    def __init__(self, peer: Peer, prefix: str, topics: Mapping[str, int]) -> None:
        self._peer, self._names = peer, Renaming(prefix)
        self._granted: set[int] = set()
        self._members: list[Member] = []
        self._begun_s = 0.0
        self._partitions = dict(topics)
        self.settles = True
        """Whether to wait, after what ends a transaction, until its markers are written."""

    def begin_sequence(self) -> None:
        """Make its topics, and learn where ids and groups live."""
        peer = self._peer
        outside = {self._names.topic(name): count for name, count in self._partitions.items()}
        if outside:
            peer.create(outside)
            self._wait_for_leaders({(name, number) for name, count in outside.items() for number in range(count)})
        for key, kind in ((f"{self._names.prefix}{READER}", TRANSACTION), (f"{self._names.prefix}g0", GROUP)):
            peer.coordinator_of(key, kind)
        peer.describe([CONSUMER_OFFSETS, TRANSACTION_STATE])
        self._names.offsets_partitions = self._count(CONSUMER_OFFSETS)
        self._names.transaction_partitions = self._count(TRANSACTION_STATE)

    def _wait_for_leaders(self, partitions: set[TopicPartition]) -> None:
        """Metadata may tell of a leader that does not know yet that it is one.

        Raises:
            NotPossible: it does not for too long.
        """
        version = max(self._peer.spoken.newest(ApiKey.LIST_OFFSETS, 5), 1)
        request = ListOffsets(version, Isolation.READ_UNCOMMITTED, dict.fromkeys(sorted(partitions), LATEST))

        def do_they_know() -> bool:
            told = self._routed(request)
            return isinstance(told, ListOffsetsAnswer) and all(
                row.error == Error.NONE for row in told.partitions.values()
            )

        wait_until(do_they_know, lambda: "whoever leads a new topic does not take part in it")

    def _count(self, topic: str) -> int:
        known = self._peer.topics.get(topic)
        return 0 if known is None else len(known.leaders)

    # ---------------------------------------------------------------- requests

    def ask(self, request: Request, role: Role | None, sender: Sender = NOBODY) -> Told:
        """Ask whoever has to answer, and wait until no transaction is between its decision and its last marker.

        Raises:
            Impossible: the request is for a node with a role of its own, or by a user.
            Unreachable: nobody answers any more.
            WrongAnswer: what is answered is no answer.
        """
        if role is not None or sender != NOBODY:
            raise Impossible("brokers outside are told neither who asks nor who has which role")
        outside = self._names.sent(request)
        told = self._routed(outside)
        is_granted = isinstance(told, InitProducerIdAnswer) and told.error == Error.NONE
        if isinstance(request, ENDS) and self.settles and not is_granted:
            # What is granted was granted when every marker was there.
            self._settle()
        if isinstance(told, Closed | Silence):
            return told
        self._note(request, told)
        return self._without_others(self._names.told(told))

    def _routed(self, request: Request) -> Told:
        if isinstance(request, Fetch | ListOffsets | DescribeProducers | DescribeTransactions):
            return read_from(request, self._ask, self._peer.leader_of, self._coordinator_of)
        return self._ask(request, self._receiver(request))

    def _ask(self, request: Request, node: int | None) -> Told:
        """Ask one broker.

        Raises:
            Unreachable, WrongAnswer: as of `ask`.
        """
        try:
            told = self._peer.ask(request, node)
        except ConnectionError:
            if not self._peer.is_alive():
                raise Unreachable("the broker ended the connection, and does not answer any more") from None
            return Closed()
        except TimeoutError:
            if not self._peer.is_alive():
                raise Unreachable("the broker does not answer any more") from None
            return Silence()
        except Malformed as error:
            raise WrongAnswer(f"{api_of(type(request)).name} {request.version}: {error}") from error
        return Silence() if told is None else told

    def _receiver(self, request: Request) -> int | None:
        match api_of(type(request)).receiver:
            case Receiver.PARTITION_LEADER:
                leaders = map(self._peer.leader_of, values_of(request, Entity.PARTITION))
                return next((node for node in leaders if node is not None and node != NONE), None)
            case Receiver.TRANSACTION_COORDINATOR:
                asked = f"{self._names.prefix}{READER}" if isinstance(request, ListTransactions) else None
                return self._coordinator_of(next(values_of(request, Entity.TRANSACTIONAL_ID), asked))
            case Receiver.GROUP_COORDINATOR:
                group = next(values_of(request, Entity.GROUP), None)
                return self._peer.coordinator_of(group, GROUP) if group else None
            case _:
                return None

    def _coordinator_of(self, transactional_id: str | None) -> int | None:
        return self._peer.coordinator_of(transactional_id, TRANSACTION) if transactional_id else None

    def _note(self, request: Request, told: Answer) -> None:
        """Who was granted or admitted is this sequence's."""
        if isinstance(told, InitProducerIdAnswer | EndTxnAnswer):
            self._granted.add(told.producer_id)
        elif isinstance(told, JoinGroupAnswer) and isinstance(request, JoinGroup):
            self._members.append(Member(self._outside(request.group), told.member))
        elif isinstance(told, ConsumerGroupHeartbeatAnswer) and isinstance(request, ConsumerGroupHeartbeat):
            name = told.member or request.member
            self._members.append(Member(self._outside(request.group), name, is_consumer=True))

    def _outside(self, group: str) -> str:
        return self._names.group(group) or ""

    def _without_others(self, told: Answer) -> Answer:
        """An answer without what others who use this cluster have done."""
        if isinstance(told, ListTransactionsAnswer):
            own = {self._names.inside(name) for name in self._names.all_of("transactional id")}
            return replace(told, transactions=tuple(row for row in told.transactions if row.transactional_id in own))
        if isinstance(told, DescribeProducersAnswer):
            rows = {
                partition: replace(
                    row, producers=tuple(each for each in row.producers if self._is_own(each.producer_id))
                )
                if partition[0] == CONSUMER_OFFSETS
                else row
                for partition, row in told.partitions.items()
            }
            return DescribeProducersAnswer(rows)
        return told

    def _is_own(self, producer_id: int) -> bool:
        return producer_id in self._granted

    def _settle(self) -> None:
        """Wait until no transaction of this sequence waits for its markers."""
        if self._peer.spoken.newest(ApiKey.DESCRIBE_TRANSACTIONS, 0) == NONE:
            time.sleep(BACKOFF_S)
            return
        self._until(lambda: not self._states() & UNDER_WAY, AGAIN_FOR_S)

    def _states(self, names: Sequence[str] = ()) -> frozenset[str]:
        """The states of this sequence's transactions."""
        ids = tuple(names or self._names.all_of("transactional id"))
        if not ids:
            return frozenset()
        told = self._routed(DescribeTransactions(0, ids))
        rows = told.transactions if isinstance(told, DescribeTransactionsAnswer) else ()
        return frozenset(row.state for row in rows)

    def _until(self, is_so: Callable[[], bool], patience_s: float) -> None:
        until, pause_s = time.monotonic() + patience_s, BACKOFF_S / 16
        while not is_so() and time.monotonic() < until:
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, BACKOFF_S)

    def begin(self, request: Request, role: Role | None, name: str) -> None:
        """Whether an answer is still to come cannot be known."""
        raise Impossible("whether an answer of a broker outside is still to come cannot be known")

    def answered(self, name: str) -> Told:
        """Whether an answer is still to come cannot be known."""
        raise Impossible("whether an answer of a broker outside is still to come cannot be known")

    def authenticate(self, credentials: Credentials, connection: str) -> Authenticated | Closed:
        """Nobody says who he is."""
        raise Impossible("brokers outside are asked without authentication")

    def go_on(self, attempt: int) -> bool:
        """Whether to send a request again: for as long as a recorder did."""
        if attempt == 1:
            self._begun_s = time.monotonic()
            self._peer.forget_roles(self._names.all_of("topic"))
        time.sleep(min(BACKOFF_S, BACKOFF_S / 8 * attempt))
        return time.monotonic() - self._begun_s < AGAIN_FOR_S

    def pass_time(self, milliseconds: int, *, until_ended: str | None = None) -> None:
        """Time passes; a transaction that is to be aborted is waited for until the broker has looked for it."""
        time.sleep(milliseconds / 1000)
        own = None if until_ended is None else self._names.transactional_id(until_ended)
        if own is not None:
            self._until(lambda: not self._states((own,)) & {*UNDER_WAY, "Ongoing"}, SWEEPS_S)

    # ---------------------------------------------------------------- what cannot be told

    def restart(self, clean: bool) -> None:
        """A broker outside is not restarted."""
        raise Impossible("a broker outside is not restarted")

    def move(self, role: Role) -> None:
        """A broker outside is not moved, stopped or killed."""
        raise Impossible("a broker outside is not moved, stopped or killed")

    stop = kill = move

    def give_back(self) -> None:
        """A broker outside was not stopped."""
        raise Impossible("a broker outside was not stopped")

    def coordinator_epochs(self) -> Sequence[int]:
        """The leader epoch of the coordinator's partition, which is its own; 0 where the cluster has none."""
        known = self._peer.topics.get(TRANSACTION_STATE)
        if known is None or not self._names.transaction_partitions:
            return (0,)
        return (max(known.epochs.get(self._names.transaction_partition(), 0), 0),)

    def decisions(self) -> Sequence[Decided]:
        """They cannot be seen."""
        return ()

    # ---------------------------------------------------------------- the end

    def close(self) -> None:
        """Everything is done by `clean`, which says what it could not do."""

    def clean(self) -> Left:
        """End open transactions, and delete topics and groups.

        Raises:
            Unreachable: nobody answers any more.
        """
        cleaning = Cleaning(self._peer, self._ask, self._states, self._until)
        for transactional_id in self._names.all_of("transactional id"):
            cleaning.end(transactional_id)
        topics = self._peer.delete([self._names.topic(name) for name in self._partitions])
        for member in self._members:
            cleaning.leave(member)
        return Left(topics, [group for group in self._names.all_of("group") if not cleaning.delete(group)])
