"""CoordinatorRequestLayer: verification, the log's format, blocks of producer ids.

Verification inside a broker is a `VerificationChannel` to one coordinator node; the request server is a coordinator.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.conformance import id_blocks, log_format
from tests.conformance.baselines import rules_of
from tests.conformance.cases import Case, Failed, NotRunnable
from tests.conformance.host import CoordinatorHost
from tests.conformance.phrases import Fields, check, error_name, error_of, matched
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.coordinator.effects import Append, Reply
from zombieproof.broker.partition.verification_channel import Question, VerificationChannel, Verified
from zombieproof.messages.transactions import (
    AddPartitionsToTxn,
    AddPartitionsToTxnAnswer,
    InitProducerId,
    InitProducerIdAnswer,
    TransactionAdded,
    TransactionToAdd,
)
from zombieproof.model.decisions.verification import ChannelFailure, mode_of_produce, version_of_verification
from zombieproof.model.vocabulary import Mode

NODE = 1
PARTITIONS = (("topic1", 0), ("topic1", 1))
FAILURES = {
    "connection fails to authenticate": (ChannelFailure.NOT_AUTHENTICATED,),
    "coordinator does not know the request version": (ChannelFailure.VERSION_MISMATCH,),
    "disconnected": (ChannelFailure.DISCONNECTED, ChannelFailure.TIMED_OUT),
}


def run(case: Case) -> None:
    """Run one case: the first handler whose pattern is the whole of *when*."""
    for pattern, handler in HANDLERS.items():
        if isinstance(case.when, str) and re.fullmatch(pattern, case.when):
            handler(case)
            return
    raise NotRunnable(f"step {case.when!r} is not understood")


# ---------------------------------------------------------------- the request server


def _verify_only(case: Case) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    names = []
    host = CoordinatorHost(rules_of(case.baseline))
    host.coordinator.load(0, 0, [])
    for name, phrase in given.items():
        matched("initialised, no partition added", phrase)
        names.append(_initialised(host, name))
    first = int(matched(r"v(\d+)\+ verify-only request", case.when)[1])
    wanted = expect.take("each_partition")
    expect.done()
    for version in range(first, version_of_verification(host.rules) + 1):
        asked = tuple(TransactionToAdd(name, pid, epoch, PARTITIONS, verify_only=True) for name, pid, epoch in names)
        (effect,) = host.coordinator.handle(AddPartitionsToTxn(version, asked), 1)
        if not isinstance(effect, Reply) or not isinstance(effect.answer, AddPartitionsToTxnAnswer):
            raise Failed(f"verifying came to {effect}")
        for added in effect.answer.transactions:
            for partition in PARTITIONS:
                check(f"{partition} in version {version}", wanted, error_name(added.errors[partition]))


def _initialised(host: CoordinatorHost, name: str) -> tuple[str, int, int]:
    effects = host.coordinator.handle(InitProducerId(4, name, 60_000), 0)
    (append,) = (effect for effect in effects if isinstance(effect, Append))
    (reply,) = (effect for effect in host.coordinator.appended(append, 0) if isinstance(effect, Reply))
    assert isinstance(reply.answer, InitProducerIdAnswer)
    return name, reply.answer.producer_id, reply.answer.producer_epoch


# ---------------------------------------------------------------- the queue of the verification client


@dataclass(frozen=True, slots=True)
class Named:
    """``id1 pid 0 epoch 1``."""

    transactional_id: str
    producer_id: int
    producer_epoch: int

    def question(self, ticket: int, mode: Mode = Mode.DEFAULT) -> Question:
        """What the leader asks for it."""
        return Question(ticket, self.transactional_id, self.producer_id, self.producer_epoch, PARTITIONS, mode)


def _named(phrase: object) -> Named:
    match = matched(r"(?:add )?(\w+) pid (\d+) epoch (\d+)", phrase)
    return Named(match[1], int(match[2]), int(match[3]))


def _queue(case: Case) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    older = _named(given.take("queued"))
    given.done()
    again = re.fullmatch(r"add the same id, pid and epoch again", str(case.when))
    newer = older if again else _named(case.when)
    channel = VerificationChannel(rules_of(case.baseline), Journal())
    check("answered while nothing else waits", [], channel.ask(NODE, older.question(0)))
    told = {verified.ticket: _common_error(verified) for verified in channel.ask(NODE, newer.question(1))}
    (request,) = channel.drain()
    epochs = [(one.transactional_id, one.producer_id, one.producer_epoch) for one in request.request.transactions]
    waiting = newer if 1 not in told else older
    check("what is sent", [(waiting.transactional_id, waiting.producer_id, waiting.producer_epoch)], epochs)
    for key, ticket in (("older_waiter", 0), ("queued_one", 0), ("newer_waiter", 1), ("newcomer", 1)):
        wanted = expect.take(key)
        if wanted is not None:
            check(key, str(wanted).removesuffix(" at once"), told.get(ticket, "still waiting"))
    expect.done()


def _common_error(verified: Verified) -> str:
    check("partitions told", set(PARTITIONS), set(verified.errors))
    names = {error_name(error) for error in verified.errors.values()}
    if len(names) != 1:
        raise Failed(f"the partitions of one request are told different errors: {names}")
    return names.pop()


# ---------------------------------------------------------------- its answers


def _in_flight(case: Case, mode: Mode = Mode.DEFAULT) -> tuple[VerificationChannel, list[str]]:
    given = Fields(case.given, "given")
    phrase = given.take("in_flight")
    if not isinstance(phrase, str):
        raise NotRunnable("nothing is in flight")
    names = phrase.split(", ")
    given.done()
    channel = VerificationChannel(rules_of(case.baseline), Journal())
    for ticket, name in enumerate(names):
        channel.ask(NODE, Named(matched(r"id\d+", name)[0], ticket, 0).question(ticket, mode))
    check("requests", 1, len(channel.drain()))
    return channel, names


def _each_told(case: Case, verified: list[Verified], names: list[str]) -> None:
    expect = Fields(case.expect, "expect")
    check("who is told", list(range(len(names))), sorted(one.ticket for one in verified))
    told = {_common_error(one) for one in verified}
    if "errors" in expect:
        matched("none", expect.take("errors"))
        check("errors", {"NONE"}, told)
    else:
        check("each partition", {expect.take("each_partition")}, told)
    expect.done()


def _failure(case: Case) -> None:
    for failure in FAILURES[case.when]:
        channel, names = _in_flight(case)
        _each_told(case, channel.answered(NODE, failure), names)


def _top_level(case: Case) -> None:
    error = error_of(matched(r"reply with top-level (\w+)", case.when)[1])
    channel, names = _in_flight(case)
    _each_told(case, channel.answered(NODE, AddPartitionsToTxnAnswer(error, ())), names)


def _partition_errors(case: Case) -> None:
    """``id1 partitions NONE; id2 one NONE and one INVALID_TXN_STATE``."""
    channel, names = _in_flight(case)
    added = {}
    for part in str(case.when).split("; "):
        match = matched(r"(?P<id>id\d+) (?:partitions (?P<all>\w+)|one (?P<first>\w+) and one (?P<second>\w+))", part)
        errors = [match["all"]] * 2 if match["all"] else [match["first"], match["second"]]
        told = dict(zip(PARTITIONS, map(error_of, errors), strict=True))
        added[match["id"]] = TransactionAdded(match["id"], told)
    check("who is answered", set(names), set(added))
    verified = {one.ticket: one for one in channel.answered(NODE, AddPartitionsToTxnAnswer(0, tuple(added.values())))}
    expect = Fields(case.expect, "expect")
    for ticket, name in enumerate(names):
        refused = {tp: error_name(error) for tp, error in verified[ticket].errors.items() if error != 0}
        wanted = expect.take(name)
        if wanted == "no errors":
            check(name, {}, refused)
            continue
        error = matched(r"only the failed partition (\w+)", wanted)[1]
        failed = {tp for tp, code in added[name].errors.items() if code != 0}
        check(name, dict.fromkeys(failed, error), refused)
    expect.done()


def _one_partition(case: Case) -> None:
    error = error_of(matched(r"partition (\w+)", case.when)[1])
    expect = Fields(case.expect, "expect")
    wanted: dict[Mode, object] = {}
    if "partition" in expect:
        wanted = dict.fromkeys(Mode, expect.take("partition"))
    else:
        for key, value in expect.items():
            bound = matched(r"produce_(?:before_v(?P<before>\d+)|v(?P<from>\d+)_and_later)", key, "key")
            versions = range(3, int(bound["before"])) if bound["before"] else range(int(bound["from"]), 14)
            wanted.update((Mode(mode_of_produce(version)), value) for version in versions)
        check("modes", set(Mode), set(wanted))
    expect.done()
    for mode, name in wanted.items():
        channel, names = _in_flight(case, mode)
        added = tuple(TransactionAdded(one, dict.fromkeys(PARTITIONS, error)) for one in names)
        for verified in channel.answered(NODE, AddPartitionsToTxnAnswer(0, added)):
            check(f"partition, mode {mode.name}", name, _common_error(verified))


HANDLERS: Mapping[str, Callable[[Case], None]] = {
    r"v\d+\+ verify-only request": _verify_only,
    r"add the same id, pid and epoch again|add \w+ pid \d+ epoch \d+": _queue,
    "|".join(FAILURES): _failure,
    r"reply with top-level \w+": _top_level,
    r"id\d+ (?:partitions|one) .*": _partition_errors,
    r"partition [A-Z_]+": _one_partition,
    **log_format.HANDLERS,
    **id_blocks.HANDLERS,
}
