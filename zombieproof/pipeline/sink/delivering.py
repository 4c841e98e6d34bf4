"""The host of a delivery: it does what the machine's state says, and hands in what came of it."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, NotRequired, Self, TypedDict, Unpack

from zombieproof.model.spark_sink.vocabulary import DeliveryState as S
from zombieproof.model.spark_sink.vocabulary import Purpose, Reply
from zombieproof.pipeline.kafka import Settings, client
from zombieproof.pipeline.sink.asking import Asking, RowsNotAcknowledged
from zombieproof.pipeline.sink.errors import DeliveryError
from zombieproof.pipeline.sink.replies import reply_of, reply_of_row
from zombieproof.pipeline.sink.rows import (
    Identity,
    IllegalRows,
    NoIdentity,
    Outcome,
    Place,
    Row,
    Work,
    left_by_identity,
    left_by_positions,
    spans,
)
from zombieproof.statemachines.delivery.steps import Delivery, answered, begin, is_over, looked_up
from zombieproof.statemachines.notes import Notes, clear

DEADLINE_S = 120.0
CALL_S = 10.0
"""At most so long one call waits before it is made again."""
ABORT_S = 10.0
"""So long an abort may take, also behind the deadline."""
PAUSE_S = 0.05
"""Between two calls, the first of which was answered at once by something that is to be asked again."""


class IllegalMove(AssertionError):
    """A step moved as the table does not have it: an error of this program."""


class Delivering:
    """A delivery in steps, each of which asks the brokers once.

    Args:
        rows: what is to be in the output, each once.
        settings: of the client, with Kafka's names; at least ``bootstrap.servers``.
        group: the consumer group whose positions say how far the output is.
        transactional_id: of whoever delivers these rows; one for each query, or for each partition of its source.
        identity: of the batch, where rows do not say where they were read.
        purpose: to deliver, or to find out.
        deadline_s: so long it is tried.

    Raises:
        IllegalRows: a row does not say where it was read, and there is no identity.
        IllegalSetting: a setting is missing, or is not to be set.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        *,
        settings: Settings,
        group: str,
        transactional_id: str,
        identity: Identity | None = None,
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
        self._rows, self._identity = rows, identity
        self._between = spans(rows, identity)
        self._places = list(self._between) if identity is None else [identity.place]
        self._until = time.monotonic() + deadline_s
        self._work: Work | None = None
        self._said = ""
        self._delivery, self._notes = Delivery(), Notes()
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
        """Where its machine is: what the next step will do."""
        return S(self._delivery.state)

    @property
    def is_over(self) -> bool:
        """Whether no step is left."""
        return is_over(self._delivery)

    def outcome(self) -> Outcome:
        """What came of it, when it is over.

        Raises:
            DeliveryError: it is not known that each row is in the output once, or, of a resolution, whether.
        """
        if self.state in (S.FENCED, S.FAILED, S.REFUSED, S.UNCERTAIN):
            raise DeliveryError(self.state, self.subject, self._said)
        work = self._work
        if work is None:
            return Outcome(self.state)
        sent = len(work.rows) if self.state == S.DELIVERED else 0
        positions = work.positions if self.state == S.DELIVERED else {}
        return Outcome(self.state, sent, len(self._rows) - len(work.rows), positions)

    def run(self) -> Outcome:
        """Every step that is left.

        Raises:
            DeliveryError: as `outcome`.
        """
        while not self.is_over:
            self.step()
        return self.outcome()

    def step(self) -> None:
        """Ask the brokers for what the state says, and hand in what came of it."""
        clear(self._notes, 0)
        try:
            self._ask()
        except client.KafkaException as error:
            self._hear(error.args[0], reply_of(error.args[0]))
        except RowsNotAcknowledged as refused:
            self._hear(refused.error, reply_of_row(refused.error))
        except NoIdentity as strange:
            self._said = str(strange)
            answered(self._delivery, Reply.FATAL, self._notes)
        if self._notes.illegal:
            state, event = self._notes.illegal_state, self._notes.illegal_event
            raise IllegalMove(f"{self.subject}: event {event} in state {state} is not in the table of deliveries")

    def _ask(self) -> None:
        """One call; it raises what the client says."""
        state, within_s = self.state, self._within_s()
        if state == S.LOOKING_UP:
            self._work = self._look(within_s)
            looked_up(self._delivery, int(self._work.found), self._notes)
            return
        if state == S.FENCING:
            self._take_id(within_s)
        elif state == S.SENDING_ROWS:
            self._asking.send_rows(self._left().rows, self._until)
        elif state == S.SENDING_OFFSETS:
            self._asking.send_offsets(self._positions(), within_s)
        elif state == S.COMMITTING:
            self._asking.commit(within_s)
        else:
            self._asking.abort(within_s)
        answered(self._delivery, Reply.DONE, self._notes)

    def _take_id(self, within_s: float) -> None:
        topics = {row.topic for row in self._rows[:1]} or {place[0] for place in self._places}
        self._asking.take_id(min(topics, default=""), within_s)

    def _within_s(self) -> float:
        return max(0.1, min(CALL_S, self._until - time.monotonic()))

    def _hear(self, error: Any, reply: Reply) -> None:
        """What the client says is a reply; one that may be asked again is not behind the deadline."""
        self._said = str(error)
        if reply == Reply.UNKNOWN and time.monotonic() >= self._until:
            reply = Reply.GIVEN_UP
        elif reply == Reply.UNKNOWN:
            time.sleep(PAUSE_S)
        before = self.state
        answered(self._delivery, reply, self._notes)
        if self.state == S.ABORTING and before != S.ABORTING:
            self._until = max(self._until, time.monotonic() + ABORT_S)

    def _look(self, within_s: float) -> Work:
        committed = self._asking.committed(self._places, within_s)
        if self._identity is None:
            return left_by_positions(self._rows, self._between, {place: at for place, (at, _) in committed.items()})
        _, text = committed[self._places[0]]
        return left_by_identity(self._rows, self._identity, Identity.of_metadata(text, self._places[0]))

    def _left(self) -> Work:
        if self._work is None:
            raise IllegalMove(f"{self.subject}: it sends before it has looked")
        return self._work

    def _positions(self) -> dict[Place, tuple[int, str]]:
        """What is committed together with the rows."""
        if self._identity is None:
            return {place: (past, "") for place, past in self._left().positions.items()}
        return {self._places[0]: (self._identity.batch, self._identity.metadata())}


class Told(TypedDict):
    """What a delivery is told besides its rows: the arguments of `Delivering`."""

    settings: Settings
    group: str
    transactional_id: str
    identity: NotRequired[Identity | None]
    deadline_s: NotRequired[float]


def deliver(rows: Sequence[Row], **told: Unpack[Told]) -> Outcome:
    """Every row is in the output once when this returns; arguments and what it refuses are those of `Delivering`.

    Raises:
        DeliveryError: that is not known; run it again with the same rows.
    """
    with Delivering(rows, **told) as made:
        return made.run()


def resolve(rows: Sequence[Row], **told: Unpack[Told]) -> Outcome:
    """Whether rows are in the output (`Outcome.is_delivered`); who tried before cannot bring them there any more.

    Raises:
        DeliveryError: nobody can tell.
    """
    with Delivering(rows, purpose=Purpose.RESOLVE, **told) as made:
        return made.run()
