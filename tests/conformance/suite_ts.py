"""TransactionStateManager: the entries of a log partition, appends, loads, listings and expiry.

The state manager has no front of its own here: a whole coordinator is asked, an AddPartitionsToTxn being the transition
that is appended and a DescribeTransactions the `get`. A race happens between the append and its answer, and once more
before the append is made, which must come to the same.
"""

import copy
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tests.conformance import state_expiry, state_listing, state_loading
from tests.conformance.baselines import rules_of
from tests.conformance.cases import Case, Failed, NotRunnable
from tests.conformance.host import CoordinatorHost, batch, value
from tests.conformance.phrases import Fields, check, error_name, error_of, listed, matched, partition_of, state_of
from zombieproof.broker.coordinator.effects import Append, Effect, Reply
from zombieproof.broker.coordinator.steps import InvalidTransition
from zombieproof.formats.topics import TopicPartition
from zombieproof.formats.transaction_log import value_version
from zombieproof.messages.transactions import AddPartitionsToTxn, AddPartitionsToTxnAnswer, TransactionToAdd
from zombieproof.model.decisions.init_producer_id import decide_init_front_door
from zombieproof.model.records import Transaction
from zombieproof.model.vocabulary import NONE, Error, TransactionState

COORDINATOR_EPOCH = 10
ENTRIES = {"one": 1, "two": 2}
"""The entries of the suite and their producer ids."""

TOPIC_PARTITIONS = (("topic1", 0), ("topic1", 1))
MAX_TIMEOUT_MS = 900_000
MADE_UP = ("M", "M+1", "my-special, your-special, their-special", "(ab(cd", "UnknownState")
"""Names that cases make up."""


def run(case: Case) -> None:
    """Run one case: the first handler whose pattern is the whole of *when*."""
    for pattern, handler in HANDLERS.items():
        if isinstance(case.when, str) and re.fullmatch(pattern, case.when):
            handler(case)
            return
    raise NotRunnable(f"step {case.when!r} is not understood")


# ---------------------------------------------------------------- appends


@dataclass(slots=True)
class Appending:
    """A coordinator that holds both entries, and a transition of one of them that is to be appended."""

    host: CoordinatorHost
    partitions: tuple[TopicPartition, ...]
    state: TransactionState
    coordinator_epoch: int

    def __post_init__(self) -> None:
        self.load(self.coordinator_epoch, *ENTRIES)

    @property
    def entry(self) -> Transaction | None:
        return self.host.coordinator.entries(0).get("one")

    def load(self, coordinator_epoch: int, *names: str) -> None:
        """The log holds these entries; the second is always Empty, as the suite says."""
        start_ms = NONE if self.state == TransactionState.EMPTY else 0
        known = {
            "one": value(ENTRIES["one"], self.state, start_ms=start_ms),
            "two": value(ENTRIES["two"], TransactionState.EMPTY, start_ms=NONE),
        }
        records = [batch(at, name, known[name]) for at, name in enumerate(names)]
        self.host.coordinator.load(0, coordinator_epoch, records)

    def prepare(self) -> Append | None:
        """Ask for the transition to Ongoing; the append that it wants."""
        asked = TransactionToAdd("one", ENTRIES["one"], 0, self.partitions)
        effects = self.host.coordinator.handle(AddPartitionsToTxn(3, (asked,)), 1)
        return next((effect for effect in effects if isinstance(effect, Append)), None)

    def answer(self, append: Append, error: int) -> int:
        """The append is answered with an error of the log; what the operation is told."""
        return _told(self.host.coordinator.appended(append, error))

    def happen(self, race: object) -> None:
        """What happens to the log partition meanwhile."""
        coordinator = self.host.coordinator
        if race == "partition removed before the append is answered":
            coordinator.resign(0, None)
            return
        match = matched(
            r"partition (?:reloaded at coordinator epoch (?P<again>\d+) and entry put again"
            r"|(?P<without>reloaded at the same epoch but without the entry)"
            r"|dropped and now loading at epoch (?P<loading>\d+))",
            race,
            "race",
        )
        coordinator.resign(0, None)
        if match["again"]:
            self.load(int(match["again"]), *ENTRIES)
        elif match["without"]:
            self.load(self.coordinator_epoch, "two")
        else:
            coordinator.begin_loading(0, int(match["loading"]))


def _told(effects: list[Effect]) -> int:
    """The error in the answer to AddPartitionsToTxn."""
    for effect in effects:
        if isinstance(effect, Reply) and isinstance(effect.answer, AddPartitionsToTxnAnswer):
            (error,) = set(effect.answer.transactions[0].errors.values())
            return error
    raise Failed("the operation was not answered")


def _append(case: Case) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    match = matched(APPEND, case.when)
    epoch, state = int(match["epoch"] or COORDINATOR_EPOCH), state_of(given.take("one", "Empty"))
    outcomes = [error_of(name) for name in listed(given.take("append"))]
    race = given.take("race")
    cleared = given.take("pending_cleared_meanwhile", False)
    given.done()
    names = (match["first"], match["second"])
    partitions = tuple(partition_of(name) for name in names if name) or TOPIC_PARTITIONS
    reply = expect.take("each_reply" if "each_reply" in expect else "reply")
    raises, entry, pending = expect.take("raises", "nothing"), expect.take("entry"), expect.take("pending")
    expect.done()
    if reply is not None:
        reply = reply if raises != "nothing" else error_name(error_of(reply))
    if len(outcomes) > 1 and not match["each"]:
        raise NotRunnable("several outcomes for one append")
    for outcome in outcomes:
        appending = Appending(CoordinatorHost(rules_of(case.baseline)), partitions, state, epoch)
        before = copy.deepcopy(appending.entry)
        append = appending.prepare()
        if append is None:
            raise Failed("the transition was not appended")
        if race is not None:
            appending.happen(race)
            late = appending.host.coordinator.may_append(append)
            check("reply of an append that is made late", reply, error_name(late))
        if cleared and appending.entry is not None:
            appending.entry.pending_state = NONE
        got = _answered(appending, append, outcome)
        check("raises", raises, "nothing" if isinstance(got, int) else "IllegalStateException")
        if reply is not None:
            check(f"reply to {error_name(outcome)}", reply, got if isinstance(got, str) else error_name(got))
        _compare_entry(appending, before, entry, pending)


def _answered(appending: Appending, append: Append, outcome: int) -> int | str:
    try:
        return appending.answer(append, outcome)
    except InvalidTransition as fault:
        return str(fault)


def _compare_entry(appending: Appending, before: Transaction | None, entry: object, pending: object) -> None:
    now = appending.entry
    if entry == "unchanged":
        check("entry", before, now)
    elif entry == "updated" and now is not None:
        check("entry state", TransactionState.ONGOING, TransactionState(now.state))
        partitions = appending.host.numbers.partitions(now.partitions)
        check("entry partitions", frozenset(appending.partitions), partitions)
    elif entry is not None:
        raise NotRunnable(f"entry {entry!r} is not understood")
    if pending is not None:
        matched("cleared", pending, "pending")
        appending.partitions = (*appending.partitions, ("topic2", 7))
        check("a later transition may be prepared", expected=True, got=appending.prepare() is not None)


APPEND = (
    r"(?:prepare Ongoing(?: with (?P<first>\S+) and (?P<second>\S+))? and )?append(?: the prepared transition)?"
    r"(?: with coordinator epoch (?P<epoch>\d+))?(?P<each>,? once per error)?"
)


# ---------------------------------------------------------------- time-outs and versions


def _validate(case: Case) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    bound = given.take("max_timeout_ms")
    two_phase = bool(given.take("two_phase_commit", False))
    given.done()

    def timeout_of(word: object) -> int:
        if isinstance(word, int) or re.fullmatch(r"-?\d+", str(word)):
            return int(str(word))
        match = matched(rf"{re.escape(str(bound))}(?P<more>\+\d+)?", word, "timeout")
        return MAX_TIMEOUT_MS + int(match["more"] or 0)

    words = matched(r"validate (.+)", case.when)[1].split(", ")
    accepted, rejected = set[int](), set[int]()
    for timeout_ms in map(timeout_of, words):
        front = decide_init_front_door(True, False, two_phase, two_phase, False, timeout_ms, MAX_TIMEOUT_MS)
        is_refused = front.error == Error.INVALID_TRANSACTION_TIMEOUT
        (rejected if is_refused else accepted).add(timeout_ms)
    check("accepted", {timeout_of(word) for word in expect.take("accepted", [])}, accepted)
    check("rejected", {timeout_of(word) for word in expect.take("rejected", [])}, rejected)
    expect.done()


def _server_version(case: Case) -> None:
    given = Fields(case.given, "given")
    matched("same as the feature level", case.expect, "expect")
    for level in listed(given.take("feature_transaction_version")):
        check("server's transaction version", level, _version_in_use(level, case.baseline))
    given.done()


def _version_in_use(level: int, baseline: str) -> int:
    """The version by which a server ends a timed-out transaction and writes its log: what it does, not what it says."""
    host = CoordinatorHost(replace(rules_of(baseline), transaction_version=level))
    records = [batch(0, "one", value(1, TransactionState.ONGOING, TOPIC_PARTITIONS, timeout_ms=1))]
    host.coordinator.load(0, COORDINATOR_EPOCH, records)
    (effect,) = host.coordinator.abort_timed_out_transactions()
    if not isinstance(effect, Append) or effect.value is None:
        raise Failed(f"the time-out came to {effect}")
    ends_by = effect.value.client_transaction_version
    return ends_by if ends_by == 2 else value_version(host.rules.transaction_version)


HANDLERS: Mapping[str, Callable[[Case], None]] = {
    APPEND: _append,
    r"validate .+": _validate,
    r"ask the server's transaction version": _server_version,
    **state_loading.HANDLERS,
    **state_listing.HANDLERS,
    **state_expiry.HANDLERS,
}
