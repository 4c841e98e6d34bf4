"""Blocks of producer ids: words of the request layer's cases."""

import re
from collections.abc import Callable, Iterator, Mapping

from tests.conformance.baselines import rules_of
from tests.conformance.cases import Case, Failed, NotRunnable
from tests.conformance.phrases import Fields, check, error_name, error_of, listed, matched
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.coordinator.producer_id_blocks import ProducerIdController, ProducerIdManager
from zombieproof.messages.controller import AllocateProducerIdsAnswer, ProducerIdBlock
from zombieproof.model.decisions.allocate_producer_ids import BLOCK_SIZE, RETRY_BACKOFF_MS
from zombieproof.model.vocabulary import Error

REFUSED = "COORDINATOR_LOAD_IN_PROGRESS"


def _take(manager: ProducerIdManager, controller: ProducerIdController, asked: list[bool]) -> int:
    """The next id; a request for a block is delivered when there is no id left, as late as it can be."""
    claimed = manager.next()
    asked[0] = manager.wants_block() or asked[0]
    if claimed is not None:
        return claimed
    if not asked[0]:
        raise Failed("there is no id, and no block is asked for")
    asked[0] = False
    manager.answered(controller.allocate())
    return _take(manager, controller, asked)


def _no_overlap(case: Case) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    size, brokers = int(given.take("block_size")), int(given.take("brokers"))
    given.done()
    match = matched(r"broker 1 takes (\d+) ids, broker 2 takes (\d+) ids, both one more", case.when)
    check("brokers", 2, brokers)
    controller = ProducerIdController(0, size)
    managers = [(ProducerIdManager(rules_of(case.baseline), ManualClock()), [False]) for _ in range(brokers)]
    taken = [
        [_take(manager, controller, asked) for _ in range(int(count))]
        for (manager, asked), count in zip(managers, match.groups(), strict=True)
    ]
    more = [_take(manager, controller, asked) for manager, asked in managers]
    wanted = matched(r"(\d+)\.\.(\d+), (\d+)\.\.(\d+), then (\d+) and (\d+)", expect.take("ids"))
    numbers = [int(number) for number in wanted.groups()]
    expect.done()
    check("ids of broker 1", list(range(numbers[0], numbers[1] + 1)), taken[0])
    check("ids of broker 2", list(range(numbers[2], numbers[3] + 1)), taken[1])
    check("one more of each", numbers[4:], more)


def _exhausted(case: Case) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    controller = ProducerIdController(int(given.take("last_block_end")) + 1)
    given.done()
    answer = controller.allocate()
    matched("KafkaException", expect.take("raises"))
    check("error", "UNKNOWN_SERVER_ERROR", error_name(answer.error))
    manager = ProducerIdManager(rules_of(case.baseline), ManualClock())
    manager.next()
    manager.answered(answer)
    check("an id", None, manager.next())
    expect.done()


def _bad_blocks(case: Case) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    phrases = str(given.take("blocks")).split("; ")
    given.done()
    error, used = expect.take("error"), matched("not used", expect.take("block"))
    expect.done()
    for phrase in phrases:
        manager = ProducerIdManager(rules_of(case.baseline), ManualClock())
        for _ in range(2):
            claimed = manager.next()
            check(f"{phrase}: error", error, REFUSED if claimed is None else "NONE")
            if manager.wants_block():
                manager.answered(AllocateProducerIdsAnswer(0, *_block(phrase)))
        check(f"{phrase}: block is {used[0]}", None, manager.next())


def _block(phrase: str) -> ProducerIdBlock:
    match = matched(r"start (?P<start>-?\d+)|length (?P<length>-?\d+)|end beyond (?P<end>\d+)", phrase, "block")
    if match["start"]:
        return ProducerIdBlock(int(match["start"]), BLOCK_SIZE)
    if match["length"]:
        return ProducerIdBlock(0, int(match["length"]))
    return ProducerIdBlock(int(match["end"]) - BLOCK_SIZE + 2, BLOCK_SIZE)


def _back_off(case: Case) -> None:
    given = Fields(case.given, "given")
    replies = [error_of(name) for name in listed(given.take("reply"))]
    given.done()
    clock = ManualClock()
    manager = ProducerIdManager(rules_of(case.baseline), clock)
    controller = ProducerIdController()
    asks = _asks(str(case.when))
    if not isinstance(case.expect, list):
        raise NotRunnable("an answer is expected for each time")
    for advance_ms, wanted in zip(asks, case.expect, strict=True):
        clock.advance(advance_ms)
        claimed = manager.next()
        if manager.wants_block():
            if not replies:
                raise Failed("a block is asked for too early")
            error = replies.pop(0)
            manager.answered(controller.allocate() if error == Error.NONE else AllocateProducerIdsAnswer(error))
            # Whoever is told to wait asks again: a block that has come meanwhile serves him.
            claimed = manager.next() if claimed is None and error == Error.NONE else claimed
        got = REFUSED if claimed is None else "first id" if claimed == 0 else str(claimed)
        matched(rf"{REFUSED}|first id|\d+", str(wanted), "answer")
        check("answer", wanted, got)
    check("requests that were not sent", [], replies)


def _asks(phrase: str) -> Iterator[int]:
    """How long after the one before each time is, in milliseconds."""
    for part in phrase.split("; "):
        match = re.fullmatch(r"ask(?P<before> before the back-off ends)?(?P<after> after it)?", part)
        if match is None:
            raise NotRunnable(f"step {part!r} is not understood")
        yield RETRY_BACKOFF_MS - 1 if match["before"] else 1 if match["after"] else 0


HANDLERS: Mapping[str, Callable[[Case], None]] = {
    r"broker 1 takes \d+ ids, broker 2 takes \d+ ids, both one more": _no_overlap,
    r"ask for a block": _exhausted,
    r"ask for an id": _bad_blocks,
    r"ask; .*": _back_off,
}
