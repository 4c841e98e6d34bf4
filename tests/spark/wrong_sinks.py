"""Sinks that leave out one rule of a delivery each, as the mutants of the scenarios `spark_*` do; workers import this.

Two-phase sinks are in `two_phase`.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

from tests.spark.faulty import COMMITTED, ZOMBIE, Fault, Faulty, FaultyWriter, Struck
from zombieproof.model.spark_sink.vocabulary import DeliveryState
from zombieproof.pipeline.sink import Outcome, Row, deliver
from zombieproof.pipeline.sink.asking import Asking
from zombieproof.pipeline.sink.rows import left_by_positions, spans
from zombieproof.pipeline.spark import sink
from zombieproof.pipeline.spark.options import sink_options
from zombieproof.pipeline.spark.sink import StreamWriter

WITHIN_S = 20.0

Delivery = Callable[..., None]


class Steps:
    """What a delivery asks brokers, in whichever order."""

    def __init__(self, rows: Sequence[Row], told: dict[str, Any]) -> None:
        self.rows, self.between = rows, spans(rows, None)
        self.asking = Asking(told["settings"], told["group"], told["transactional_id"])

    def take_id(self) -> None:
        self.asking.take_id(self.rows[0].topic, WITHIN_S)

    def look(self) -> Any:
        found = self.asking.committed(self.between, WITHIN_S)
        return left_by_positions(self.rows, self.between, {place: at for place, (at, _) in found.items()})

    def send(self, rows: Sequence[Row]) -> None:
        self.asking.send_rows(rows, time.monotonic() + WITHIN_S)

    def send_positions(self) -> None:
        positions = {place: (past, "") for place, (_, past) in self.between.items()}
        self.asking.send_offsets(positions, WITHIN_S)

    def commit(self) -> None:
        self.asking.commit(WITHIN_S)


def look_up_before_fencing(fault: Fault, rows: Sequence[Row], **told: Any) -> None:
    """Another driver delivers between the look-up and the id."""
    steps = Steps(rows, told)
    left = steps.look()
    if fault.strikes(ZOMBIE):
        deliver(rows, **told)
    if left.rows:
        steps.take_id()
        steps.send(left.rows)
        steps.send_positions()
        steps.commit()
    steps.asking.close()


def deliver_without_a_key(fault: Fault, rows: Sequence[Row], **told: Any) -> None:
    """Nobody looks what is there."""
    steps = Steps(rows, told)
    steps.take_id()
    steps.send(rows)
    steps.send_positions()
    steps.commit()
    steps.asking.close()
    if fault.strikes(COMMITTED):
        raise Struck(COMMITTED)


def commit_positions_outside_the_transaction(fault: Fault, rows: Sequence[Row], **told: Any) -> None:
    """Positions are committed first, and the driver dies before the rows are."""
    steps = Steps(rows, told)
    steps.take_id()
    left = steps.look()
    if left.rows:
        steps.send(())
        steps.send_positions()
        steps.commit()
        if fault.strikes(COMMITTED):
            raise Struck(COMMITTED)
        steps.send(left.rows)
        steps.commit()
    steps.asking.close()


WRONG: dict[str, Delivery] = {
    each.__name__: each
    for each in (look_up_before_fencing, deliver_without_a_key, commit_positions_outside_the_transaction)
}


class WrongWriter(FaultyWriter):
    """Ours, with a delivery that is wrong."""

    def __init__(self, options: Any, fault: Fault, wrong: str) -> None:
        super().__init__(options, fault)
        self._wrong = wrong

    def commit(self, messages: Any, batchId: int) -> None:  # noqa: N803  # Spark's name
        def delivered(rows: Sequence[Row], **told: Any) -> Outcome:
            WRONG[self._wrong](self._fault, rows, **told)
            return Outcome(DeliveryState.DELIVERED, len(rows))

        with patch.object(sink, "deliver", delivered):
            StreamWriter.commit(self, messages, batchId)


class Wrong(Faulty):
    """``format("wrong")``: which delivery is said by the option `wrong`."""

    @classmethod
    def name(cls) -> str:
        return "wrong"

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802  # Spark's name
        told = {name: value for name, value in self.options.items() if name not in ("point", "armed", "wrong")}
        fault = Fault(self.options["point"], self.options["armed"])
        return WrongWriter(sink_options(told, streaming=True), fault, self.options["wrong"])


class ShuffledWriter(StreamWriter):
    """Mode partition, and nobody asks which task has read a row."""

    def write(self, iterator: Any) -> Any:
        with patch.object(sink, "tasks_of", lambda _: set()):
            return super().write(iterator)


class Shuffled(Faulty):
    """``format("shuffled")``."""

    @classmethod
    def name(cls) -> str:
        return "shuffled"

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802  # Spark's name
        told = {name: value for name, value in self.options.items() if name not in ("point", "armed")}
        return ShuffledWriter(sink_options(told, streaming=True))
