"""A plan carried out at a cluster that runs: it stands at the door of the brokers, in process or behind a server.

Theory of operation: every request of a client passes `enter`, and every message between brokers is looked at before it
arrives. The player says which faults it meets; each is written into the trace and carried out here. Whoever drives the
cluster calls all of this, so there is one order, and nothing else has a say in it: with a clock that only the test
moves, the same plan and the same requests give the same trace.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from zombieproof.broker.cluster.network import Answer, Message, Request
from zombieproof.broker.cluster.waiting import FOR_EVER
from zombieproof.broker.embedded import Done, Embedded, Submitted
from zombieproof.model.vocabulary import Error
from zombieproof.statemachines.coordinator.listings import STATE_NAMES
from zombieproof.wire.plan.calls import Call, call_of
from zombieproof.wire.plan.commands import Commands, transaction_of
from zombieproof.wire.plan.crashes import Crashes
from zombieproof.wire.plan.errors import refusal
from zombieproof.wire.plan.faults import CouldNot
from zombieproof.wire.plan.kinds import (
    Blackhole,
    Command,
    CrashBroker,
    DelayOn,
    DisconnectOn,
    Duplicate,
    Effect,
    InjectError,
    Reorder,
)
from zombieproof.wire.plan.links import Links
from zombieproof.wire.plan.parts import Plan
from zombieproof.wire.plan.player import Armed, Player
from zombieproof.wire.plan.report import PlanReport
from zombieproof.wire.plan.selection import Sender, Until


class NoSuchWord(ValueError):
    """A word was said that nothing in the plan waits for."""


class Play:
    """A plan at an embedded cluster, from now on.

    Args:
        plan: what is to happen.
        embedded: where.

    Raises:
        ValueError: the plan moves time, and the clock of the cluster cannot be moved; it needs more brokers; or
            another plan is played there.
    """

    def __init__(self, plan: Plan, embedded: Embedded) -> None:
        if embedded.door is not None:
            raise ValueError("another plan is played at this cluster; make one plan of both")
        self.plan, self.embedded = plan, embedded
        self.player = Player(plan, self.state_of)
        self.crashes = Crashes(embedded)
        self.commands = Commands(embedded, plan)
        self._links = Links(self)
        self._words: deque[str] = deque()
        self._came = 0
        embedded.door = self

    # ---------------------------------------------------------------- the test

    def release(self, word: str) -> None:
        """What waits for `word` goes on, now or whenever it begins to wait.

        Raises:
            NoSuchWord: nothing in the plan does.
        """
        words = self.player.words()
        if word not in words:
            legal = ", ".join(sorted(words)) or "none"
            raise NoSuchWord(f"nothing in plan {self.plan.name!r} waits for {word!r}; words are {legal}")
        self._words.append(word)
        self.embedded.wake()

    def report(self) -> PlanReport:
        """What came of the plan so far."""
        with self.embedded.lock:
            return self.player.report()

    def state_of(self, transactional_id: str) -> str | None:
        """The state of an id at its coordinator."""
        found = transaction_of(self.embedded.cluster, transactional_id)
        return None if found is None else STATE_NAMES[found.state]

    # ---------------------------------------------------------------- the door

    @property
    def next_ms(self) -> int:
        """When something is due."""
        waits_ms = self.player.next_ms
        return min(FOR_EVER if waits_ms is None else waits_ms, self.crashes.next_ms)

    def run(self) -> bool:
        """What is due by the clock, and what the test has said."""
        now_ms = self.embedded.clock.now_ms()
        going = self.player.take_due(now_ms)
        while self._words:
            going += self.player.take_released(self._words.popleft())
        _all(going)
        return self.crashes.run(now_ms) or bool(going)

    def enter(self, come: Submitted) -> None:
        """A request of a client."""
        call = self.called(come.request, Sender.CLIENT, come.node, come.client_id)
        _all(self.player.take_for_request(call, behind=False))
        overtaken = self.player.take_for_request(call, behind=True)
        self.embedded.settle()
        met = self.met(call)
        self.command(met, call, Effect.BEFORE)
        fate = next((each for each in met if not isinstance(each.fault.does, Command)), None)
        come = replace(come, done=partial(self._heard, call, met, come.done))
        if fate is None:
            self.embedded.hand_in(come)
        else:
            self._take_its_way(come, call, fate)
        _all(overtaken)

    def look(self) -> None:
        """Messages may have come, and records."""
        self.crashes.look()
        self._links.look()

    def holds(self, message: Message) -> bool:
        """Whether a message between brokers waits."""
        return self._links.holds(message)

    # ---------------------------------------------------------------- what happens

    def called(self, request: Request, sender: Sender, node: int | None, client_id: str = "") -> Call:
        """A request as the plan sees it, counted."""
        self._came += 1
        return call_of(self._came, request, sender, node, client_id)

    def met(self, call: Call) -> list[Armed]:
        """The faults that a request meets; each stands in the trace."""
        found = self.player.came(call, self.embedded.clock.now_ms())
        for armed in found:
            kind = armed.fault.kind
            self.embedded.cluster.faulted(fault=armed.name, kind=kind, call=call.number, request=str(call))
        return found

    def command(self, met: list[Armed], call: Call, effect: Effect) -> None:
        """Do to the cluster what is to be done before the request, or after it."""
        for armed in met:
            does = armed.fault.does
            if isinstance(does, Command) and does.effect is effect:
                try:
                    self.commands.do(does, call)
                except CouldNot as error:
                    self.player.could_not(armed, str(error))
                self.embedded.settle()

    def wait(self, armed: Armed, until: Until, goes_on: Callable[[], object], *, behind: bool = False) -> None:
        """Something goes on when what it waits for is there."""
        self.player.wait(armed, until, self.embedded.clock.now_ms(), goes_on, behind=behind)

    def answered(self, call: Call) -> None:
        """A request has been answered: what waits for that goes on."""
        _all(self.player.take_for_answer(call))

    def _heard(self, call: Call, met: list[Armed], done: Done, answer: Answer | None) -> None:
        """What becomes of a request is over, and its client is told."""
        done(answer)
        self.command(met, call, Effect.AFTER)
        self.answered(call)

    def _take_its_way(self, come: Submitted, call: Call, fate: Armed) -> None:
        does, done, hand_in = fate.fault.does, come.done, self.embedded.hand_in
        match does:
            case InjectError():
                self._answer_with(come, refusal(come.request, call.key, Error[does.error]), does.effect)
            case DisconnectOn():
                self._answer_with(come, None, does.effect)
            case Blackhole():
                if does.effect is Effect.AFTER:
                    hand_in(replace(come, done=_nobody))
            case DelayOn(holds="request"):
                if does.disconnects:
                    done(None)
                    come = replace(come, done=_nobody)
                self._hand_in_held(come, fate, does.until)
            case DelayOn():
                hand_in(replace(come, done=lambda answer: self.wait(fate, does.until, partial(done, answer))))
            case Duplicate():
                exchange = hand_in(come)
                if exchange is not None:
                    self._links.double(exchange.number, fate, does.until)
            case Reorder():
                next_one = fate.fault.request.model_copy(update={"nth": None})
                self._hand_in_held(come, fate, Until(request=does.behind or next_one), behind=True)
            case CrashBroker():
                self.crashes.crash(does, come, partial(self.player.could_not, fate))

    def _hand_in_held(self, come: Submitted, fate: Armed, until: Until, *, behind: bool = False) -> None:
        """The request sets out now, and arrives when what it waits for is there."""
        exchange = self.embedded.hand_in(come)
        if exchange is not None:
            self._links.hold(exchange.number, fate, until, behind=behind)

    def _answer_with(self, come: Submitted, answer: Answer | None, effect: Effect) -> None:
        """The client is told `answer`, whatever the brokers say, if they are asked at all."""
        if effect is Effect.BEFORE:
            come.done(answer)
        else:
            self.embedded.hand_in(replace(come, done=lambda _: come.done(answer)))


def _all(going: list[Callable[[], object]]) -> None:
    for go_on in going:
        go_on()


def _nobody(_: Answer | None) -> None:
    """Nobody is told."""
