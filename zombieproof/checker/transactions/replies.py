"""The answer to a client's request sets out: nobody waits for it, it is lost, it travels, or it is heard at once."""

from zombieproof.checker.transactions import client_answers, network
from zombieproof.checker.transactions.moves import note_answer
from zombieproof.checker.transactions.world import Kind, Message, Setup, Trail, World


def reply(world: World, setup: Setup, trail: Trail, i: int, error: int, lost: int) -> None:
    """Message `i` is answered; with `lost` 1 the answer does not arrive."""
    note_answer(trail, error)
    message = world.messages[i]
    if message.live == 0:
        network.empty(message)
    elif lost == 1:
        restore_request(world, message)
    elif setup.bounds.answers_travel == 1:
        message.answered = 1
        message.error = error
    else:
        client_answers.hear(world, setup, trail, i, error)


def restore_request(world: World, message: Message) -> None:
    """The client asks again with what it knows: a grant that got lost is unknown to it."""
    client = world.clients[message.client]
    message.answered = 0
    message.error = 0
    if message.kind in (Kind.INIT_PRODUCER_ID, Kind.END_TXN):
        message.producer_id = client.producer_id
        message.producer_epoch = client.producer_epoch
