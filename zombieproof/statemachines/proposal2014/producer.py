"""The steps of an instance of a producer: it starts, begins, sends, ends, is answered, dies.

A request is under way in BEGINNING, COMMITTING and ABORTING, and in IN_TRANSACTION until all records are sent: the host
has it answered, or not (`Answer.NO_ANSWER`).
Source: reference §10.5 to §10.7.
"""

from zombieproof.model.proposal2014.producing import (
    chooses_next,
    decide_answer,
    generation_of_start,
    has_input,
    may_fetch,
)
from zombieproof.model.proposal2014.records import Instance
from zombieproof.model.proposal2014.rules import Rules
from zombieproof.model.proposal2014.vocabulary import ProducerEvent, ProducerState
from zombieproof.statemachines.notes import MachineIndex, Notes, move


def start(instance: Instance, stored: int, notes: Notes) -> None:
    """It reads which generation is stored."""
    _move(instance, int(ProducerEvent.START), notes)
    instance.generation = generation_of_start(stored)
    instance.chosen = 0
    instance.starts += 1


def get_ready(instance: Instance, stored: int, rules: Rules, notes: Notes) -> int:
    """It stores its generation, or leaves that to its next transaction: returns what is stored then."""
    _move(instance, int(ProducerEvent.GET_READY), notes)
    return int(instance.generation if rules.starts_store_their_generation == 1 else stored)


def may_ask(is_pending: bool, rules: Rules) -> bool:
    """Whether it is told where its group is, while offsets of it are pending or not."""
    return may_fetch(is_pending, rules)


def fetches(is_grouped: bool, rules: Rules) -> bool:
    """Whether it asks where its group is when it has a TxId, and not before."""
    return not has_input(is_grouped, rules)


def begin(instance: Instance, rules: Rules, notes: Notes) -> None:
    """It asks for a TxId, or says which it has chosen."""
    _move(instance, int(ProducerEvent.BEGIN), notes)
    instance.chosen = chooses_next(int(instance.chosen), rules)


def take_input(instance: Instance, notes: Notes) -> None:
    """It is told where its group is."""
    _move(instance, int(ProducerEvent.TAKE_INPUT), notes)


def end(instance: Instance, commits: bool, notes: Notes) -> None:
    """It asks for a Commit or an Abort."""
    _move(instance, int(ProducerEvent.COMMIT if commits else ProducerEvent.ABORT), notes)


def answered(instance: Instance, answer: int, transaction: int, is_grouped: bool, rules: Rules, notes: Notes) -> int:
    """Its request is answered: returns what it makes of that (`ProducerEvent`). `transaction`: the TxId of a Begin."""
    event = decide_answer(int(instance.state), answer, has_input(is_grouped, rules), rules)
    _move(instance, event, notes)
    if event in (ProducerEvent.TAKE_TX_ID, ProducerEvent.TAKE_TX_ID_FOR_INPUT):
        instance.transaction = transaction
    elif event == ProducerEvent.SEND:
        instance.sent += 1
    elif event == ProducerEvent.HEAR_COMMITTED:
        instance.done = instance.block + 1 if is_grouped else instance.done + 1
    if instance.state in (ProducerState.READY, ProducerState.CLOSED):
        _leave(instance)
    return event


def crash(instance: Instance, is_grouped: bool, notes: Notes) -> None:
    """The process dies; where no group does it, its application remembers what it has done."""
    _move(instance, int(ProducerEvent.CRASH), notes)
    instance.generation = 0
    instance.chosen = 0
    if is_grouped:
        instance.done = 0
    _leave(instance)


def _leave(instance: Instance) -> None:
    """It has no transaction any more."""
    instance.transaction = 0
    instance.block = 0
    instance.sent = 0


def _move(instance: Instance, event: int, notes: Notes) -> None:
    instance.state = move(notes, MachineIndex.PROPOSAL2014_PRODUCER, int(instance.state), event)
