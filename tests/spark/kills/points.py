"""Named points at which a sink stands still until it is woken or killed, or at which it fails.

Whoever runs a query says it in an `Injection`; who comes by the point, in whichever process, leaves a file and waits.
Nothing of it is in the product: `standing` takes the place of the step of deliveries for the time of one call.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from unittest import mock

from zombieproof.model.spark_sink.vocabulary import DeliveryState as S
from zombieproof.pipeline.sink import DeliveryError
from zombieproof.pipeline.sink.delivering import Delivering
from zombieproof.pipeline.spark.task_context import Attempt

BATCH = 2
"""The micro-batch in which it happens, counted from 0: others are behind it, and others come."""
FIRST, CHOSEN = 0, 1
"""Partitions of the plan: the chosen one comes by points, and begins when the first one has written."""
LOOK_S = 0.02
LONGEST_S = 400.0
"""Whoever stands still so long was forgotten."""


class Point(StrEnum):
    """Where a sink may stand still."""

    TASK_BEGINS = "task-begins"
    """A task is about to write; another one has written."""
    TASK_WRITTEN = "task-written"
    ID_NOT_TAKEN = "id-not-taken"
    ROWS_SENT = "rows-sent"
    OFFSETS_SENT = "offsets-sent"
    """All is in the transaction, and it is open."""
    COMMITTED = "committed"
    """The commit of the transaction was answered."""
    COMMIT_BEGINS = "commit-begins"
    """Every task has written, and the driver has done nothing yet."""
    COMMIT_ENDED = "commit-ended"
    """The sink is done, and Spark has not written its commit log."""


OF_STATES = {S.FENCING: Point.ID_NOT_TAKEN, S.SENDING_OFFSETS: Point.ROWS_SENT, S.COMMITTING: Point.OFFSETS_SENT}
"""At which point a delivery is before the step of a state."""


class InjectedFailure(Exception):
    """A task fails, as it was told."""


class Forgotten(Exception):
    """Nobody woke or killed who stands still."""


@dataclass(frozen=True)
class Injection:
    """What happens at which point of micro-batch `BATCH`; `folder` is its own, and all processes see it."""

    point: Point
    folder: str
    fails: bool = False

    def as_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of_json(cls, text: str) -> "Injection":
        told = json.loads(text)
        return cls(Point(told["point"]), told["folder"], told["fails"])

    # ---------------------------------------------------------------- in processes of Spark

    def is_for(self, attempt: Attempt) -> bool:
        return attempt.batch == BATCH and attempt.partition == CHOSEN and attempt.number == 0

    def tell(self, what: str, **told: Any) -> None:
        beside = self._file(f"{what}.{os.getpid()}.part")
        beside.write_text(json.dumps({"pid": os.getpid(), **told}))
        beside.replace(self._file(what))

    def come_by(self, point: Point) -> None:
        """Stand still if this is the point, or fail.

        Raises:
            InjectedFailure: it was told so.
            Forgotten: nobody comes.
        """
        if point != self.point:
            return
        self.tell("reached")
        if self.fails:
            raise InjectedFailure(point)
        self.wait("wake")

    @contextmanager
    def standing(self) -> Iterator[None]:
        """Deliveries of this process come by their points; what came of whoever stood there is told."""
        taken = Delivering.step

        def step(delivering: Delivering) -> None:
            if delivering.state in OF_STATES:
                self.come_by(OF_STATES[delivering.state])
            taken(delivering)
            if delivering.state == S.DELIVERED:
                self.come_by(Point.COMMITTED)

        with mock.patch.object(Delivering, "step", step):
            try:
                yield
            except BaseException as error:
                self._tell_end(error.state.name if isinstance(error, DeliveryError) else type(error).__name__)
                raise
            self._tell_end("DONE")

    def _tell_end(self, came_of_it: str) -> None:
        reached = self._file("reached")
        if reached.exists() and json.loads(reached.read_text())["pid"] == os.getpid():
            self.tell("ended", came_of_it=came_of_it)

    # ---------------------------------------------------------------- anywhere

    def wait(self, what: str, within_s: float = LONGEST_S) -> dict[str, Any]:
        """What was told under a name, as soon as it is.

        Raises:
            Forgotten: it is not, in the time that there is.
        """
        until = time.monotonic() + within_s
        while not self._file(what).exists():
            if time.monotonic() > until:
                raise Forgotten(f"{self.point}: nobody told {what!r} in {within_s:g} s")
            time.sleep(LOOK_S)
        told: dict[str, Any] = json.loads(self._file(what).read_text())
        return told

    def _file(self, what: str) -> Path:
        return Path(self.folder) / what
