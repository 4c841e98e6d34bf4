"""What a producer does with the answer of a coordinator: `react` says which kind it is, here it is done.

Source: reference §5.5; the handlers in ``TransactionManager.java``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zombieproof.clients.errors import failure_of_answer
from zombieproof.clients.transactional_requests import TransactionalRequest
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import CoordinatorFound, FindCoordinator, OffsetsCommitted
from zombieproof.messages.transactions import (
    AddOffsetsToTxnAnswer,
    AddPartitionsToTxnAnswer,
    EndTxnAnswer,
    InitProducerIdAnswer,
)
from zombieproof.model.decisions.producer_client import decides_alone, react
from zombieproof.model.vocabulary import NONE, ApiKey, Error, Reaction

if TYPE_CHECKING:
    from zombieproof.clients.producer_core import ProducerCore

CoordinatorAnswer = (
    CoordinatorFound
    | InitProducerIdAnswer
    | AddPartitionsToTxnAnswer
    | AddOffsetsToTxnAnswer
    | OffsetsCommitted
    | EndTxnAnswer
)


def hear(manager: ProducerCore, request: TransactionalRequest, answer: CoordinatorAnswer, now_ms: int) -> None:
    """The answer to `request` is here.

    Raises:
        TypeError: it is the answer to another kind of request.
    """
    match request.api, answer:
        case ApiKey.ADD_PARTITIONS_TO_TXN, AddPartitionsToTxnAnswer():
            errors = {p: e for added in answer.transactions for p, e in added.errors.items()}
            _hear_partitions(manager, request, errors, now_ms)
        case ApiKey.TXN_OFFSET_COMMIT, OffsetsCommitted():
            _hear_offsets(manager, request, answer.errors, now_ms)
        case (
            (ApiKey.FIND_COORDINATOR, CoordinatorFound())
            | (ApiKey.INIT_PRODUCER_ID, InitProducerIdAnswer())
            | (ApiKey.ADD_OFFSETS_TO_TXN, AddOffsetsToTxnAnswer())
            | (ApiKey.END_TXN, EndTxnAnswer())
        ):
            assert not isinstance(answer, OffsetsCommitted | AddPartitionsToTxnAnswer), "they are above"
            if not _act(manager, request, answer.error, {}, now_ms):
                _succeed(manager, request, answer)
        case api, _:
            raise TypeError(f"{type(answer).__name__} is no answer to {api.name}")


def _act(
    manager: ProducerCore,
    request: TransactionalRequest,
    error: int,
    errors: dict[TopicPartition, int],
    now_ms: int,
) -> bool:
    """Do what the error asks for; False if there is none."""
    reaction = react(request.api, error, request.commits, manager.rules)
    if reaction == Reaction.DONE:
        return False
    if reaction == Reaction.FIND_COORDINATOR_AND_RETRY and request.coordinator is not None:
        manager.requests.look_up(request)
    if reaction in (Reaction.RETRY, Reaction.FIND_COORDINATOR_AND_RETRY):
        manager.retry(request, error, now_ms)
    else:
        failure = failure_of_answer(request.api, error, request.body, errors, manager.rules)
        manager.fail_request(request, reaction, failure)
    return True


def _succeed(manager: ProducerCore, request: TransactionalRequest, answer: CoordinatorAnswer) -> None:
    match answer:
        case CoordinatorFound():
            assert isinstance(request.body, FindCoordinator)
            manager.brokers.coordinators[request.body.key_type] = answer.node
            request.result.succeed()
        case InitProducerIdAnswer():
            manager.adopt(request, answer)
        case AddOffsetsToTxnAnswer():
            assert request.group is not None, "AddOffsetsToTxn knows whose offsets they are"
            manager.transaction_started = True
            manager.commit_offsets(request.offsets, request.group, request.result)
        case EndTxnAnswer():
            if answer.producer_id != NONE:
                manager.sequences.reset()
                manager.sequences.adopt(answer.producer_id, answer.producer_epoch)
            manager.finish_transaction(request)


def _hear_partitions(
    manager: ProducerCore, request: TransactionalRequest, errors: dict[TopicPartition, int], now_ms: int
) -> None:
    """AddPartitionsToTxn: the first decisive error counts, else all of them together."""
    for error in errors.values():
        if decides_alone(request.api, error, manager.rules):
            _act(manager, request, error, errors, now_ms)
            return
    failed = [error for error in errors.values() if error != Error.NONE]
    manager.partitions.settle(errors, are_added=not failed)
    if failed:
        unauthorized = Error.TOPIC_AUTHORIZATION_FAILED
        _act(manager, request, unauthorized if unauthorized in failed else failed[0], errors, now_ms)
        return
    manager.transaction_started = True
    request.result.succeed()


def _hear_offsets(
    manager: ProducerCore, request: TransactionalRequest, errors: dict[TopicPartition, int], now_ms: int
) -> None:
    """TxnOffsetCommit: a decisive error fails all; else what is left is sent again, perhaps to another coordinator."""
    moved = False
    for partition, error in errors.items():
        reaction = react(request.api, error, 0, manager.rules)
        if reaction == Reaction.DONE:
            request.unsettled.discard(partition)
        elif decides_alone(request.api, error, manager.rules):
            _act(manager, request, error, errors, now_ms)
            break
        moved = moved or reaction == Reaction.FIND_COORDINATOR_AND_RETRY
    if not request.unsettled:
        request.result.succeed()
    elif not request.result.is_completed:
        if moved:
            manager.requests.look_up(request)
        manager.retry(request, Error.NONE, now_ms)
