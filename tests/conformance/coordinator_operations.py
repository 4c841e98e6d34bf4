"""What a case asks of a coordinator: its words as steps, and each step as a request or as something that happens."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.conformance.cases import Failed, NotRunnable
from tests.conformance.coordinator_scenario import PARTITION, TIMEOUT_MS, TRANSACTIONAL_ID, Scenario, Told
from tests.conformance.phrases import Fields, by_version, check, matched
from zombieproof.formats.batches import Batch, Record, TransactionValue
from zombieproof.messages.transactions import (
    AddPartitionsToTxn,
    DescribeTransactions,
    EndTxn,
    InitProducerId,
    InitProducerIdAnswer,
    TransactionRequest,
    TransactionToAdd,
)
from zombieproof.model.vocabulary import NONE, TransactionState

COUNTS = {"once": 1, "twice": 2, "two": 2, "three": 3, "four": 4, "five": 5}
INIT_VERSION, INIT_VERSION_OF_2PC = 4, 6
ROTATIONS_AT_MOST = 3


@dataclass(slots=True)
class Client:
    """How a client goes by, and the transaction version of its operations."""

    producer_id: int
    producer_epoch: int
    version: int


Operation = Callable[[Scenario, Client, Fields], Told]


def steps_of(when: object) -> list[dict[str, Any]]:
    """The steps of a case: as listed, or as a phrase tells them; what a phrase repeats is told as often."""
    listed = when if isinstance(when, list) else [when]
    steps: list[dict[str, Any]] = []
    for each in listed:
        if isinstance(each, Mapping):
            steps.append(dict(each))
        elif isinstance(each, str):
            for part in re.split(r", then |, ", each):
                steps += _steps_of_phrase(part)
        else:
            raise NotRunnable(f"step {each!r} is not understood")
    return steps


def _steps_of_phrase(phrase: str) -> list[dict[str, Any]]:
    init = r"InitProducerId\(keep_prepared\)"
    keep = {"op": "InitProducerId", "keep_prepared": True}
    if match := re.fullmatch(rf"{init} (?:(\w+) times|(once|twice))(?: \(client epoch (\d+)\))?", phrase):
        count = COUNTS.get(match[1] or match[2])
        if count is None:
            raise NotRunnable(f"{phrase!r}: {match[1]!r} is no number")
        steps = [dict(keep) for _ in range(count)]
        if match[3]:
            steps[-1]["reaches"] = int(match[3])
        return steps
    if match := re.fullmatch(rf"{init} until (\w+) rotations happened", phrase):
        return [{**keep, "until_rotations": COUNTS.get(match[1], NONE)}]
    if match := re.fullmatch(r"EndTxn(?:\(([^()]+)\))?(?: with epoch (\d+))?", phrase):
        step: dict[str, Any] = {"op": "EndTxn", "result": match[1] or "COMMIT"}
        return [step | ({"epoch": int(match[2])} if match[2] else {})]
    if phrase == "EndTxn again with the same client identity":
        return [{"op": "EndTxn", "result": "COMMIT"}]
    if phrase == "MarkersWritten":
        return [{"op": phrase}]
    if re.fullmatch(r"\w+ combinations", phrase):
        return []
    raise NotRunnable(f"{phrase!r} is not understood")


# ---------------------------------------------------------------- requests


def _init(scenario: Scenario, client: Client, fields: Fields) -> Told:
    two_phase = scenario.two_phase_commit
    request = InitProducerId(
        version=INIT_VERSION_OF_2PC if two_phase else INIT_VERSION,
        transactional_id=fields.take("tid", TRANSACTIONAL_ID),
        timeout_ms=fields.take("timeout_ms", TIMEOUT_MS),
        producer_id=fields.take("pid", NONE),
        producer_epoch=fields.take("epoch", NONE),
        enable_2pc=two_phase,
        keep_prepared=bool(fields.take("keep_prepared", False)),
    )
    rotations, reaches = fields.take("until_rotations", 0), fields.take("reaches")
    told = scenario.ask(request)
    seen = {client.producer_id, _take_identity(client, told)}
    if rotations not in range(ROTATIONS_AT_MOST):
        raise NotRunnable(f"{rotations} rotations are not understood")
    while len(seen) <= rotations:
        told = scenario.ask(request)
        seen.add(_take_identity(client, told))
    if rotations:
        scenario.producer_ids.handed_out = sorted(seen)
    if reaches is not None:
        check("client epoch", reaches, client.producer_epoch)
    return told


def _take_identity(client: Client, told: Told) -> int:
    """A client goes on as it is told; returned is its producer id."""
    if isinstance(told.answer, InitProducerIdAnswer) and told.answer.error == 0:
        client.producer_id, client.producer_epoch = told.answer.producer_id, told.answer.producer_epoch
    return client.producer_id


def _joining(scenario: Scenario, client: Client, fields: Fields, verify_only: bool) -> TransactionRequest:
    asked = TransactionToAdd(
        transactional_id=fields.take("tid", TRANSACTIONAL_ID),
        producer_id=fields.take("pid", client.producer_id),
        producer_epoch=fields.take("epoch", client.producer_epoch),
        partitions=tuple(scenario.partitions(fields.take("partitions", ["topic1-0"]))),
        verify_only=verify_only,
    )
    return AddPartitionsToTxn(5 if verify_only or client.version == 2 else 3, (asked,))


def _add(scenario: Scenario, client: Client, fields: Fields) -> Told:
    return scenario.ask(_joining(scenario, client, fields, verify_only=False))


def _verify(scenario: Scenario, client: Client, fields: Fields) -> Told:
    return scenario.ask(_joining(scenario, client, fields, verify_only=True))


def _end(scenario: Scenario, client: Client, fields: Fields) -> Told:
    result = matched("COMMIT|ABORT", fields.take("result"), "result")[0]
    epoch = fields.take("epoch", client.producer_epoch)
    epoch = by_version(epoch, client.version, "when epoch")
    return scenario.ask(
        EndTxn(
            version=5 if client.version == 2 else 4,
            transactional_id=fields.take("tid", TRANSACTIONAL_ID),
            producer_id=fields.take("pid", client.producer_id),
            producer_epoch=epoch,
            committed=result == "COMMIT",
        )
    )


def _describe(scenario: Scenario, client: Client, fields: Fields) -> Told:
    return scenario.ask(DescribeTransactions(0, (fields.take("tid", TRANSACTIONAL_ID),)))


# ---------------------------------------------------------------- what happens


def _sweep(scenario: Scenario, client: Client, fields: Fields) -> Told:
    race = fields.take("race")
    if race is None:
        return scenario.carry_out(scenario.coordinator.abort_timed_out_transactions())
    words = r"entry already at epoch (\d+) when the abort is attempted with epoch (\d+)"
    already, attempted = map(int, matched(words, race, "race").groups())
    before = replace(scenario.entry)
    end = scenario.coordinator.fence_timed_out(TRANSACTIONAL_ID, scenario.entry.producer_id)
    if end is None:
        raise Failed("the sweep left the entry alone")
    check("the epoch of the fence", attempted, end.pending.producer_epoch)
    scenario.hold(replace(before, producer_epoch=already))
    return scenario.carry_out(scenario.coordinator.end_by_server(end))


def _markers_written(scenario: Scenario, client: Client, fields: Fields) -> Told:
    return scenario.write_markers()


def _resign(scenario: Scenario, client: Client, fields: Fields) -> Told:
    """With an entry whose markers are under way, so that there is something to drop."""
    partition, epoch = fields.take("txn_partition"), fields.take("coordinator_epoch")
    check("the partition", partition, PARTITION)
    named = frozenset(scenario.partitions(["topic1-0"]))
    value = TransactionValue(10, 10, NONE, 1, NONE, 1, TransactionState.PREPARE_COMMIT, named, 0, 0, 0)
    batch = Batch(records=(Record(TRANSACTIONAL_ID, value),))
    scenario.carry_out(scenario.coordinator.load(PARTITION, epoch, [batch]))
    if not scenario.coordinator.entries(PARTITION) or not scenario.coordinator.channel.pending:
        raise Failed("there is nothing to drop")
    return scenario.carry_out(scenario.coordinator.resign(PARTITION, epoch))


OPERATIONS: Mapping[str, Operation] = {
    "InitProducerId": _init,
    "AddPartitions": _add,
    "VerifyPartitions": _verify,
    "EndTxn": _end,
    "DescribeTransactions": _describe,
    "TimeoutSweep": _sweep,
    "MarkersWritten": _markers_written,
    "Resign": _resign,
}


def carry_out(scenario: Scenario, client: Client, step: Mapping[str, Any]) -> Told:
    """Do one step.

    Raises:
        NotRunnable: it names no operation, or says of it what is not understood.
    """
    fields = Fields(step, "when")
    name = fields.take("op")
    if name not in OPERATIONS:
        raise NotRunnable(f"operation {name!r} is not understood")
    fields.take("client_tv")
    told = OPERATIONS[name](scenario, client, fields)
    fields.done()
    return told
