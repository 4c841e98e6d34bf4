"""The answer to a client's request sets out: nobody waits for it, it is lost, it travels, or it is handled at once."""

from zombieproof.checker.transactions import client_answers, network
from zombieproof.checker.transactions.moves import note_answer
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.state import Message, State, Trail
from zombieproof.checker.transactions.vocabulary import Kind


def reply(state: State, setup: Setup, trail: Trail, i: int, error: int, lost: bool) -> None:
    """Message `i` is answered; with `lost` the answer does not arrive."""
    note_answer(trail, error)
    message = state.messages[i]
    if not message.live:
        network.empty(message)
    elif lost:
        restore_request(state, message)
    elif setup.bounds.answers_travel == 1:
        message.answered = True
        message.error = error
    else:
        client_answers.handle(state, setup, trail, i, error)


def restore_request(state: State, message: Message) -> None:
    """The client asks again with what it knows: a grant that got lost is unknown to it."""
    client = state.clients[message.client]
    message.answered = False
    message.error = 0
    if message.kind in (Kind.INIT_PRODUCER_ID, Kind.END_TXN):
        message.producer_id = client.producer_id
        message.producer_epoch = client.producer_epoch
