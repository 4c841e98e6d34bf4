"""What a client has under way: sequences of requests and pauses, each written as one function that is resumed.

Theory of operation: a task is a generator that yields what it waits for: the answer to a request (`Ask`; it is resumed
with the answer, or with None: the connection was lost, or time is over), or a time (`Pause`). It knows no transport and
no clock but those that resume it. Any number is under way at once, each resumed by whoever lets things happen.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.clients.transport import Transport

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to `node` (None: any), which is given up after `timeout_ms`."""

    node: int | None
    request: Request
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing happens until a time."""

    until_ms: int


Steps = Generator[Ask | Pause, Answer | None, Result]
"""A sequence of requests and pauses, and what comes of it."""


@dataclass(slots=True, eq=False)
class Task(Generic[Result]):
    """A sequence that is under way, or over: then it has a `result`, or an `error`; neither, if it was stopped."""

    steps: Steps[Result]
    is_over: bool = False
    result: Result | None = None
    error: Exception | None = None
    turn: int = 0

    def take(self) -> Result:
        """The result.

        Raises:
            Exception: whatever the sequence ended with.
        """
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]  # None is a result of those that have none


@dataclass(slots=True)
class Tasks:
    """All that a client has under way over one transport. `changes` grows whenever one of them was resumed."""

    transport: Transport
    changes: int = 0
    _running: list[Task[object]] = field(default_factory=list)

    def start(self, steps: Steps[Result]) -> Task[Result]:
        """Begin a sequence; it runs at once as far as it can."""
        task = Task(steps)
        self._running.append(task)  # type: ignore[arg-type]  # of whatever result
        self._resume(task, None)
        return task

    def stop(self, task: Task[Result]) -> None:
        """A sequence does not go on. What it has asked for may happen all the same."""
        if not task.is_over:
            self._end(task)
            task.steps.close()

    def stop_all(self) -> None:
        """Nothing goes on."""
        for task in list(self._running):
            self.stop(task)

    def _end(self, task: Task[Result]) -> None:
        task.is_over = True
        self._running.remove(task)  # type: ignore[arg-type]  # of whatever result

    def _resume(self, task: Task[Result], answer: Answer | None) -> None:
        task.turn += 1
        self.changes += 1
        try:
            wanted = task.steps.send(answer)
        except StopIteration as end:
            task.result = end.value
            self._end(task)
            return
        except Exception as error:  # noqa: BLE001  # whoever takes the result gets it
            task.error = error
            self._end(task)
            return
        go_on = self._once(task)
        if isinstance(wanted, Pause):
            self.transport.call_at(wanted.until_ms, lambda: go_on(None))
        else:
            self.transport.send(wanted.node, wanted.request, go_on)
            self.transport.call_at(self.transport.now_ms() + wanted.timeout_ms, lambda: go_on(None))

    def _once(self, task: Task[Result]) -> Callable[[Answer | None], None]:
        """Resumes the task, unless it was resumed or stopped meanwhile."""
        turn = task.turn

        def go_on(answer: Answer | None) -> None:
            if not task.is_over and task.turn == turn:
                self._resume(task, answer)

        return go_on
