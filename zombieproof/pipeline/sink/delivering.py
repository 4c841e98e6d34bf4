"""The host of a delivery: it makes the call that the state of the machine asks for, and hands in the reply."""

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, NotRequired, Self, TypedDict, Unpack

from zombieproof.model.spark_sink.vocabulary import DeliveryState as S
from zombieproof.model.spark_sink.vocabulary import Found, Purpose, Reply
from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline.kafka import LOGGER, Settings, client, timed_out
from zombieproof.pipeline.progress_topic import (
    NOWHERE,
    PARTITION,
    Committed,
    Progress,
    ProgressUnusable,
    unsigned,
    without_position,
)
from zombieproof.pipeline.sink.asking import Asking, RowsNotAcknowledged
from zombieproof.pipeline.sink.claiming import Claiming
from zombieproof.pipeline.sink.claims import ALONE, Query, TooManyIds
from zombieproof.pipeline.sink.errors import (
    ANOTHER_KIND,
    ANOTHER_MODE,
    BOTH_KINDS,
    IN_ORDER,
    NEEDS_A_GROUP,
    NOT_OURS,
    NOT_READ,
    REMADE,
    TOO_LARGE,
    DeliveryError,
)
from zombieproof.pipeline.sink.replies import PASSING, reply_of, reply_of_row
from zombieproof.pipeline.sink.rows import (
    Identity,
    IllegalRows,
    NoIdentity,
    Outcome,
    Place,
    Row,
    Work,
    digest,
    foreign,
    left_by_identity,
    left_by_positions,
    others_of,
    spans,
)
from zombieproof.statemachines.delivery.steps import Delivery, answered, begin, is_over, is_progress_lost, looked_up
from zombieproof.statemachines.notes import Notes, clear

DEADLINE_S = 243.0
"""As long as the source retries its calls (`reader.Retries`), so that brokers may be away equally long for both."""
CALL_S = 10.0
"""Longest wait of one call before it is made again."""
ABORT_S = 10.0
"""Time for an abort, also after the deadline."""
LOOK_S = 1.0
"""Seconds for which the first lookup waits for undecided positions; each later one waits twice as long."""
UNDECIDED = frozenset({"UNSTABLE_OFFSET_COMMIT", "_TIMED_OUT"})
"""Errors of positions that an open transaction changes; librdkafka itself asks again until the time is over."""
PAUSE_S = 0.05
"""Pause before a call is made again whose answer came at once and decides nothing."""
AGAIN_S = 1.0
"""Pause between two deliveries of the same rows."""
TRANSACTION_S = 60.0
"""Default of ``transaction.timeout.ms``."""


Positions = dict[Place, Committed]


class IllegalMove(AssertionError):
    """A step moved as the table does not have it: an error of this program."""


class Delivering:
    """A delivery in steps, each of which asks the brokers once.

    Args:
        rows: to be in the output once each.
        settings: of the client, with Kafka's names; at least ``bootstrap.servers``.
        group: the consumer group whose positions say how far the output is.
        transactional_id: one for each query, or for each partition of its source.
        identity: whose write this is; with a topic where rows do not say where they were read.
        query: that it is a part of.
        purpose: to deliver, or to find out.
        deadline_s: time for all attempts.

    Raises:
        IllegalRows: a row does not say where it was read, and there is no identity with a topic.
        IllegalSetting: a setting is missing, or cannot be set here.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        *,
        settings: Settings,
        group: str,
        transactional_id: str,
        identity: Identity | None = None,
        query: Query = ALONE,
        purpose: Purpose = Purpose.DELIVER,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        for name, said in (("group", group), ("transactional id", transactional_id)):
            if not said:
                raise IllegalRows(f"a delivery of {len(rows)} rows: its {name} is empty; legal is any other text")
        self.subject = (
            f"{'delivery' if purpose == Purpose.DELIVER else 'resolution'} of {len(rows)} rows under transactional id "
            f"{transactional_id!r} and group {group!r}"
        )
        self._rows, self._identity = rows, identity or Identity("", NONE)
        self._is_by_batch = self._identity.topic != ""
        if self._is_by_batch:
            self._identity = self._identity._replace(rows=digest(rows))
        self._between = spans(rows, identity)
        self._places = [self._identity.place] if self._is_by_batch else list(self._between)
        self._outputs = {row.topic for row in rows[:1]}
        self._topics = self._outputs | {topic for topic, _ in self._places}
        self._until, self._patience_s = time.monotonic() + deadline_s, LOOK_S
        self._work: Work | None = None
        self._lasts_s = float(settings.get("transaction.timeout.ms", TRANSACTION_S * 1000)) / 1000
        self._times_out: float | None = None
        self.retries = 0
        self.may_pass = False
        """Whether what ended it passes by itself: brokers were away, or away for longer than a transaction lasts."""
        self._said, self._remedy = "", NEEDS_A_GROUP
        self._has_progress = self._is_other_progress = False
        self._begins: dict[Place, int] = {}
        self._settings, self._group, self._own_id, self._query = settings, group, transactional_id, query
        self._delivery, self._notes = Delivery(), Notes()
        self._progress = Progress(settings, group, query.progress_topic)
        self._claiming = query.claim and Claiming(settings, group, transactional_id, query.claim, self._progress)
        self._asking = Asking(settings, group, transactional_id)
        begin(self._delivery, purpose, self._notes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the client."""
        self._asking.close()

    @property
    def state(self) -> S:
        """The state of its machine, which says what the next step does."""
        return S(self._delivery.state)

    @property
    def is_over(self) -> bool:
        """Whether no step is left."""
        return is_over(self._delivery)

    def outcome(self) -> Outcome:
        """The result, when it is over.

        Raises:
            DeliveryError: it is not known that each row is in the output once, or, of a resolution, whether.
        """
        if self.state in (S.FENCED, S.FAILED, S.REFUSED, S.UNCERTAIN):
            raise DeliveryError(self.state, self.subject, self._said, self._remedy)
        work = self._work
        if work is None:
            return Outcome(self.state, retries=self.retries)
        sent = len(work.rows) if self.state == S.DELIVERED else 0
        positions = work.positions if self.state == S.DELIVERED else {}
        return Outcome(self.state, sent, len(self._rows) - len(work.rows), positions, self.retries)

    def run(self) -> Outcome:
        """Every step that is left.

        Raises:
            DeliveryError: as `outcome`.
        """
        while not self.is_over:
            self.step()
        return self.outcome()

    def step(self) -> None:
        """Make the call that the state asks for, and hand in the reply."""
        clear(self._notes, 0)
        try:
            self._ask()
        except client.KafkaException as error:
            self._hear(error.args[0], reply_of(error.args[0]))
        except RowsNotAcknowledged as refused:
            self._hear(refused.error, reply_of_row(refused.error), refused.where)
        except (NoIdentity, ProgressUnusable, TooManyIds) as strange:
            self._said = str(strange)
            answered(self._delivery, Reply.FATAL, self._notes)
        if self._notes.illegal:
            state, event = self._notes.illegal_state, self._notes.illegal_event
            raise IllegalMove(f"{self.subject}: event {event} in state {state} is not in the table of deliveries")

    def _ask(self) -> None:
        """Make one call, which raises the errors of the client."""
        state, within_s = self.state, self._within_s()
        if state == S.LOOKING_UP:
            try:
                self._work = self._look(within_s)
            except client.KafkaException:
                self._progress.ask(self._topics)
                raise
            looked_up(self._delivery, int(self._work.found), self._notes)
            return
        if state == S.FENCING:
            self._take_id(within_s)
        elif state == S.CLAIMING and self._claiming is not None:
            self._claiming.claim(min(self._topics), within_s, self._until)
            self._asking.close()
            self._asking = Asking(self._settings, self._group, self._own_id)
        elif state == S.SENDING_ROWS:
            self._times_out = time.monotonic() + self._lasts_s
            self._asking.send_rows(self._left().rows, self._until, self._records())
        elif state == S.SENDING_OFFSETS:
            self._asking.send_offsets(self._positions(), within_s)
        elif state == S.COMMITTING:
            self._asking.commit(within_s)
        else:
            self._asking.abort(within_s)
        answered(self._delivery, Reply.DONE, self._notes)

    def _take_id(self, within_s: float) -> None:
        self._progress.ask(self._topics)
        self._asking.take_id(min(self._topics, default=""), within_s)

    def _within_s(self) -> float:
        return max(0.1, min(CALL_S, self._until - time.monotonic()))

    def _hear(self, error: Any, reply: Reply, where: str = "") -> None:
        """Hand in an error of the client as a reply. After the deadline, a call is not made again."""
        self._said = f"{where}{error}. {TOO_LARGE}" if error.name() == "MSG_SIZE_TOO_LARGE" else f"{where}{error}"
        if reply == Reply.UNKNOWN and time.monotonic() >= self._until:
            reply = Reply.GIVEN_UP
        elif reply == Reply.UNKNOWN:
            time.sleep(PAUSE_S)
        before = self.state
        answered(self._delivery, reply, self._notes)
        self.retries += self.state == before
        if before not in (self.state, S.ABORTING):
            is_out_of_time = self._times_out is not None and time.monotonic() >= self._times_out
            may_time_out = reply in (Reply.FENCED, Reply.ABORTABLE)
            self.may_pass = error.name() in PASSING or (may_time_out and is_out_of_time)
        if self.state == S.ABORTING and before != S.ABORTING:
            self._until = max(self._until, time.monotonic() + ABORT_S)

    def _look(self, within_s: float) -> Work:
        own = self._identity = self._identity._replace(topic_ids=self._topic_ids())
        try:
            committed = self._committed(within_s)
        except client.KafkaException as error:
            self._patience_s *= 2
            is_undecided = error.args[0].name() in UNDECIDED and self._has_progress
            if not is_undecided or not self._is_open_elsewhere(within_s):
                raise
            return self._unclaimed()
        has_position = len(without_position(committed)) < len(committed)
        is_expected = self._query.has_earlier_batches or self._query.progress_id != ""
        if is_progress_lost(is_expected, has_position, self._has_progress and not self._is_other_progress):
            self._said, self._remedy = self._loss()
            return Work(Found.NOT_COMPARABLE, self._rows, {})
        if not self._has_progress:
            self._progress.create()
            raise client.KafkaException(timed_out(f"topic {self._progress.topic} was created, and is not ready"))
        found = [Identity.of_metadata(text, place) for place, (_, text) in committed.items()]
        remade = {place: each.remade(own.topic_ids) for place, each in zip(committed, found, strict=True) if each}
        for place, topic in remade.items():
            if topic:
                self._said = f"position {committed[place].offset} of {place[0]}-{place[1]} is older than topic {topic}"
                self._remedy = REMADE
                return Work(Found.NOT_COMPARABLE, self._rows, {})
        others = others_of(own, found, self._query.newest)
        if self._is_by_batch:
            work = left_by_identity(self._rows, own, found[0], self._query.newest)
        else:
            at = {place: offset for place, (offset, _) in committed.items()}
            work = left_by_positions(self._rows, self._between, at, len(others))
            if below := self._below(at, dict(zip(committed, found, strict=True))):
                self._said, self._remedy = below
                return Work(Found.NOT_COMPARABLE, self._rows, {})
            self._begins = self._contiguous(at, dict(zip(committed, found, strict=True)))
        if work.found == Found.NOT_COMPARABLE:
            self._said = f"these rows are of {own}, and the committed position is of {(others or found)[0]}"
        return self._claimed(work, dict(zip(committed, found, strict=True)))

    def _loss(self) -> tuple[str, str]:
        """Describe the loss of the progress topic, and the remedy."""
        topic, known = self._progress.topic, "If you know that these rows are not in the output, "
        lost = f"group {self._group} holds no position of these rows, and topic {topic}, which would keep one, "
        if self._is_other_progress:
            lost += "was deleted and created again after the query had planned them"
            known += "set progressTopic to another name, the same for source and sink. Otherwise use a new group and a "
            return lost, f"{known}new output"
        lost += "does not exist or is hidden from this client, although this is not the first batch of the query"
        known += f"create the topic and start the query again: {self._progress.command}"
        return lost, f"Both were deleted, or no batch has had rows yet. {known}"

    def _below(self, at: Mapping[Place, int], found: Mapping[Place, Identity | None]) -> tuple[str, str] | None:
        """Say of rows below the position of their partition that they cannot be known to be written, and the remedy."""
        own = self._identity
        for place, (first, _) in self._between.items():
            other, said = found[place], f"these rows begin at offset {first} of {place[0]}-{place[1]}"
            if other is None and first < at[place]:
                return f"{said}, and a client that is no sink has committed position {at[place]}", NOT_OURS
            if other is None:
                continue
            if own.run and other.is_of_a_batch_query:
                return f"{said}, and {other}, a batch query, has committed position {at[place]}", BOTH_KINDS
            if not own.run and other.first == NONE:
                return f"{said}, and {other}, a stream, has committed position {at[place]}", BOTH_KINDS
            if not own.run and first < min(at[place], other.first):
                return f"{said}, and its position only says that rows from {other.first} on were written", IN_ORDER
            is_earlier = own.run and other.run == own.run and other.query == own.query and other.batch < own.batch
            if is_earlier and first < at[place]:
                return f"{said}, and batch {other.batch} of the same run has committed position {at[place]}", NOT_READ
        return None

    def _contiguous(self, at: Mapping[Place, int], found: Mapping[Place, Identity | None]) -> dict[Place, int]:
        """Where the rows of batch queries begin that are written without a gap up to the positions of this one."""
        if self._identity.run:
            return {}
        begins = {}
        for place, (first, _) in self._between.items():
            other = found[place]
            has_a_gap = first > at[place]
            begins[place] = first if has_a_gap or other is None else other.first
        return begins

    def _claimed(self, work: Work, found: Mapping[Place, Identity | None]) -> Work:
        """The same work, unless the group is to be claimed first, or is claimed by what cannot be compared."""
        claiming = self._claiming
        if claiming is None or work.found in (Found.NOT_COMPARABLE, Found.ALL_DELIVERED):
            return work
        if claiming.is_other_kind:
            self._said = f"these rows are of {self._query.claim}, and the newest ones of the query of {claiming.found}"
            self._remedy = ANOTHER_KIND
            return Work(Found.NOT_COMPARABLE, self._rows, {})
        generations = {place: 0 if each is None else each.generation for place, each in found.items()}
        claiming.see(found.values())
        if claiming.is_needed(generations):
            return self._unclaimed()
        self._identity = self._identity._replace(generation=claiming.found.generation if claiming.found else 0)
        return work

    def _unclaimed(self) -> Work:
        found = None if self._claiming is None else self._claiming.found
        self._said = f"these rows are of {self._query.claim}, and the newest claim is of {found}" if found else ""
        self._remedy = ANOTHER_MODE
        return Work(Found.UNCLAIMED, self._rows, {})

    def _topic_ids(self) -> dict[str, str]:
        """The ids of source and output, and whether the progress topic is there and keeps its records."""
        ids = self._progress.ids()
        self._has_progress = (topic_id := ids.pop(self._progress.topic, None)) is not None
        if topic_id is not None:
            self._progress.check(topic_id)
        self._is_other_progress = topic_id is not None and self._query.progress_id not in ("", topic_id)
        return ids | dict(self._query.source_ids)

    def _committed(self, within_s: float) -> dict[Place, Committed]:
        """The positions of these rows: those of the group; where it has none, those of the progress topic."""
        claiming = self._claiming
        if claiming is None:
            return self._newest(self._places, within_s)[0]
        committed, in_group = self._newest([*self._places, claiming.place], within_s)
        claiming.hear(committed.pop(claiming.place), in_group[claiming.place])
        return committed

    def _newest(
        self, places: Sequence[Place], within_s: float
    ) -> tuple[dict[Place, Committed], dict[Place, Committed]]:
        """The newest positions, and those of the group alone."""
        in_group = self._asking.committed(places, min(self._patience_s, within_s))
        lost = unsigned(in_group) if self._has_progress else []
        return {**dict.fromkeys(places, NOWHERE), **in_group, **self._progress.newest(lost)}, in_group

    def _is_open_elsewhere(self, within_s: float) -> bool:
        """Whether positions are undecided that another mode may have in an open transaction: it is not waited for."""
        claiming = self._claiming
        if claiming is None:
            return False
        committed, in_group = self._newest([claiming.place], within_s)
        claiming.hear(committed[claiming.place], in_group[claiming.place])
        return not claiming.is_other_kind and claiming.is_needed(dict.fromkeys(self._places, 0))

    def _left(self) -> Work:
        if self._work is None:
            raise IllegalMove(f"{self.subject}: it sends before it has looked")
        return self._work

    def _positions(self) -> dict[Place, tuple[int, str]]:
        """The positions that are committed together with the rows."""
        if self._is_by_batch:
            return {self._places[0]: (self._identity.batch, self._identity.metadata())}
        return {place: (past, self._of_position(place).metadata()) for place, past in self._left().positions.items()}

    def _of_position(self, place: Place) -> Identity:
        """The identity that goes with one position: brokers limit its length, so it has the ids of two topics alone."""
        names = {place[0], foreign(place[0]), *self._outputs}
        ids = {name: each for name, each in self._identity.topic_ids.items() if name in names}
        return self._identity._replace(first=self._begins.get(place, NONE), topic_ids=ids)

    def _records(self) -> Sequence[Row]:
        """The records of the progress topic that say the same."""
        return [
            Row(self._progress.topic, value, key, PARTITION)
            for place, (offset, text) in self._positions().items()
            for key, value in [self._progress.record(place, offset, text)]
        ]


class Told(TypedDict):
    """The arguments of `Delivering` except the rows."""

    settings: Settings
    group: str
    transactional_id: str
    identity: NotRequired[Identity | None]
    query: NotRequired[Query]
    deadline_s: NotRequired[float]


def deliver(rows: Sequence[Row], **told: Unpack[Told]) -> Outcome:
    """Every row is in the output once when this returns. Arguments and errors are those of `Delivering`.

    A delivery that ended because brokers were away is followed by another one, which looks what is in the output first,
    until the deadline.

    Raises:
        DeliveryError: that is not known; run it again with the same rows.
    """
    until, retries = time.monotonic() + told.get("deadline_s", DEADLINE_S), 0
    while True:
        with Delivering(rows, **told) as made:
            made.retries = retries
            try:
                return made.run()
            except DeliveryError as error:
                if not made.may_pass or time.monotonic() >= until:
                    raise
                LOGGER.warning("sink: another delivery of the same rows follows after this one: %s", error)
                retries = made.retries + 1
        time.sleep(AGAIN_S)
        told = {**told, "deadline_s": max(AGAIN_S, until - time.monotonic())}


def resolve(rows: Sequence[Row], **told: Unpack[Told]) -> Outcome:
    """Whether rows are in the output (`Outcome.is_delivered`); earlier deliveries can no longer bring them there.

    Raises:
        DeliveryError: it is not known.
    """
    with Delivering(rows, purpose=Purpose.RESOLVE, **told) as made:
        return made.run()
