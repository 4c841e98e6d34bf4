"""Which fault a request meets: the plan, counted out. No cluster, no clock, no input or output.

Theory of operation: every request is shown to `came`, in the order in which it came. Each fault compares it with what
it is for, and counts; when it is its turn, it fires. One fault decides what becomes of a request, the first of the plan
whose turn it is; what is done to the cluster happens beside it. What never fired says which request came nearest.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from zombieproof.model.vocabulary import Error
from zombieproof.wire.plan.calls import Call
from zombieproof.wire.plan.errors import Unanswerable, refusal
from zombieproof.wire.plan.kinds import Command, InjectError
from zombieproof.wire.plan.parts import Fault, Plan
from zombieproof.wire.plan.report import Fired, Impossible, PlanReport, Unfired
from zombieproof.wire.plan.selection import Requests, Until

StateOf = Callable[[str], str | None]
"""The state of a transactional id at its coordinator, in Kafka's words; None: nobody knows it."""


@dataclass(slots=True)
class Counted:
    """A selection of requests and how many there were of them, for `nth`."""

    requests: Requests
    fitting: int = 0

    def fits(self, call: Call, state_of: StateOf) -> list[str]:
        """What of a request is not as it is selected; empty: it is one. Counts it."""
        wrong = list(_differences(self.requests, call))
        if not wrong:
            self.fitting += 1
            if self.requests.nth is not None and self.fitting != self.requests.nth:
                wrong.append(f"it was number {self.fitting} of them, and number {self.requests.nth} is wanted")
        return wrong + list(_wrong_state(self.requests, call, state_of))


@dataclass(slots=True)
class Armed:
    """A fault on its way through a run: how many requests fitted, how often it fired, what came nearest."""

    fault: Fault
    name: str
    counted: Counted
    matched: int = 0
    fired: int = 0
    nearest: tuple[int, str] | None = None

    def meets(self, call: Call, state_of: StateOf) -> bool:
        """Whether a request is its turn."""
        wrong = self.counted.fits(call, state_of)
        if wrong:
            self._came_near(len(wrong), f"{call}: {'; '.join(wrong)}")
            return False
        self.matched += 1
        first, count = self.fault.turns
        if self.matched < first:
            self._came_near(0, f"{call} was call {self.matched}, and call {first} is wanted")
            return False
        return count is None or self.matched < first + count

    def passed_by(self, call: Call, why: str) -> None:
        """It was its turn, and something kept it from firing; the next request that fits is its turn."""
        self.matched -= 1
        self._came_near(0, f"{call}: {why}")

    def _came_near(self, wrong: int, says: str) -> None:
        if self.nearest is None or wrong <= self.nearest[0]:
            self.nearest = wrong, says


@dataclass(slots=True)
class Waiting:
    """What waits for something; `goes_on` is called once, when it is there. `turn`: also for who overtakes it."""

    name: str
    until: Until
    goes_on: Callable[[], object]
    due_ms: int | None
    counted: Counted | None
    is_behind: bool = False

    def __str__(self) -> str:
        said = self.until.model_dump(exclude_none=True)
        return f"{self.name}, which waits for {said}"


@dataclass(slots=True)
class Player:
    """A plan on its way through a run.

    Args:
        plan: what is to happen.
        state_of: tells the state of a transactional id.
    """

    plan: Plan
    state_of: StateOf
    armed: list[Armed] = field(init=False)
    fired: list[Fired] = field(default_factory=list)
    impossible: list[Impossible] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    released: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Nothing has fired."""
        self.armed = [
            Armed(fault, fault.name or f"{fault.kind} of {_short(fault.request)}", Counted(fault.request))
            for fault in self.plan.faults
        ]

    # ---------------------------------------------------------------- requests

    def came(self, call: Call, now_ms: int) -> list[Armed]:
        """The faults that a request meets, in the order of the plan; one at the most says what becomes of it."""
        met: list[Armed] = []
        fate: Armed | None = None
        for armed in self.armed:
            if not armed.meets(call, self.state_of):
                continue
            if not isinstance(armed.fault.does, Command):
                why = _prevented(armed.fault, call) or (f"{fate.name} decided what became of it" if fate else "")
                if why:
                    armed.passed_by(call, why)
                    continue
                fate = armed
            armed.fired += 1
            self.fired.append(Fired(armed.name, str(call), now_ms))
            met.append(armed)
        return met

    def could_not(self, armed: Armed, why: str) -> None:
        """A fault that fired cannot be carried out."""
        self.impossible.append(Impossible(armed.name, why))

    # ---------------------------------------------------------------- what waits

    def wait(
        self, armed: Armed, until: Until, now_ms: int, goes_on: Callable[[], object], *, behind: bool = False
    ) -> None:
        """Something goes on when what it waits for is there, which may be so at once."""
        if until.release in self.released:
            goes_on()
            return
        requests = until.request or until.answer
        due_ms = None if until.after_ms is None else now_ms + until.after_ms
        counted = None if requests is None else Counted(requests)
        self.waiting.append(Waiting(armed.name, until, goes_on, due_ms, counted, behind))

    def take_for_request(self, call: Call, *, behind: bool) -> list[Callable[[], object]]:
        """What goes on because a request has come, right before it or (`behind`) right behind it."""
        return self._take(
            lambda each: each.until.request is not None and each.is_behind == behind and self._fits(each, call)
        )

    def take_for_answer(self, call: Call) -> list[Callable[[], object]]:
        """What goes on because a request has been answered."""
        return self._take(lambda each: each.until.answer is not None and self._fits(each, call))

    def take_due(self, now_ms: int) -> list[Callable[[], object]]:
        """What goes on because it is so late."""
        return self._take(lambda each: each.due_ms is not None and each.due_ms <= now_ms)

    def take_released(self, word: str) -> list[Callable[[], object]]:
        """What goes on because the test says so; what waits for the word later does not wait."""
        self.released.add(word)
        return self._take(lambda each: each.until.release == word)

    def words(self) -> set[str]:
        """Every word that something can wait for."""
        untils = (getattr(armed.fault.does, "until", None) for armed in self.armed)
        return {until.release for until in untils if until is not None and until.release is not None}

    @property
    def next_ms(self) -> int | None:
        """When something is due; None: nothing waits for a time."""
        return min((each.due_ms for each in self.waiting if each.due_ms is not None), default=None)

    def _fits(self, each: Waiting, call: Call) -> bool:
        return each.counted is not None and not each.counted.fits(call, self.state_of)

    def _take(self, goes: Callable[[Waiting], bool]) -> list[Callable[[], object]]:
        found = [each for each in self.waiting if goes(each)]
        self.waiting = [each for each in self.waiting if all(each is not other for other in found)]
        return [each.goes_on for each in found]

    # ---------------------------------------------------------------- what came of it

    def report(self) -> PlanReport:
        """What came of the plan so far."""
        unfired = [
            Unfired(armed.name, f"nearest came {armed.nearest[1]}" if armed.nearest else "no request came at all")
            for armed in self.armed
            if not armed.fired
        ]
        held = tuple(str(each) for each in self.waiting)
        return PlanReport(self.plan.name, tuple(self.fired), tuple(unfired), held, tuple(self.impossible))


def _prevented(fault: Fault, call: Call) -> str:
    """Why a fault cannot be what becomes of a request; "" if it can."""
    if isinstance(fault.does, InjectError):
        try:
            refusal(call.request, call.key, Error[fault.does.error])
        except Unanswerable as error:
            return str(error)
    return ""


def _short(requests: Requests) -> str:
    said = requests.model_dump(exclude_none=True, mode="json")
    return " ".join([str(said.pop("api", "requests")), *(f"{name}={value}" for name, value in said.items())])


def _differences(wanted: Requests, call: Call) -> Iterator[str]:
    """What of a request is another than it is wanted, but for `nth` and the state."""
    if call.sender is not wanted.asker:
        yield f"a {call.sender} asked, and a {wanted.asker} is wanted"
    if wanted.key is not None and call.key != wanted.key:
        yield f"it is no {wanted.api}"
    if wanted.version is not None and call.version != wanted.version:
        yield f"version {wanted.version} is wanted"
    if wanted.client_id is not None and not fnmatchcase(call.client_id, wanted.client_id):
        yield f"client {wanted.client_id!r} is wanted"
    if wanted.node is not None and call.node != wanted.node:
        yield f"it came to broker {call.node}, and broker {wanted.node} is wanted"
    if not _named(wanted.transactional_id, call.transactional_ids):
        yield f"transactional id {wanted.transactional_id!r} is wanted"
    if not _named(wanted.group, call.groups):
        yield f"group {wanted.group!r} is wanted"
    if not _named(wanted.topic, frozenset(topic for topic, _ in call.partitions)):
        yield f"topic {wanted.topic!r} is wanted"
    if wanted.partition is not None and wanted.partition not in call.partitions:
        yield f"partition {wanted.partition[0]}-{wanted.partition[1]} is wanted"
    if wanted.committed is not None and getattr(call.request, "committed", None) != wanted.committed:
        yield f"one that {'commits' if wanted.committed else 'aborts'} is wanted"


def _named(pattern: str | None, names: frozenset[str]) -> bool:
    return pattern is None or any(fnmatchcase(name, pattern) for name in names)


def _wrong_state(wanted: Requests, call: Call, state_of: StateOf) -> Iterator[str]:
    if wanted.while_state is None:
        return
    found = None if call.transactional_id is None else state_of(call.transactional_id)
    if found != wanted.while_state:
        yield f"the state of its id was {found or 'unknown'}, and {wanted.while_state} is wanted"
