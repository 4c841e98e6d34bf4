"""Every action of the transaction model, by number: who acts, and what strikes."""

from enum import IntEnum

from zombieproof.checker.transactions.world import (
    APPENDS,
    CLIENTS,
    IDS,
    MESSAGES,
    NODES,
    PARTITIONS,
    PRODUCER_IDS,
    READERS,
)


class Act(IntEnum):
    """The kinds of actions; those behind DELIVER strike from a budget."""

    STEP = 0
    ABORT_INSTEAD = 1
    READ_ONE = 2
    READ_ALL = 3
    RESIGN = 4
    ELECT = 5
    DELIVER = 6
    LOSE_ANSWER = 7
    DOUBLE = 8
    GIVE_UP = 9
    UNKNOWN_APPEND = 10
    CRASH = 11
    TIME_OUT = 12
    FAIL_OVER = 13
    DEPOSE = 14
    CHANGE_LEADER = 15
    LOSE_LEADER = 16
    REBALANCE = 17
    EXPIRE = 18
    FORGET_PRODUCER = 19
    FORGET_GUARD = 20
    MAKE_APPEND = 21
    FAIL_APPEND = 22
    DOUBT_APPEND = 23
    TELL_APPEND = 24
    DISCONNECT = 25
    ALLOCATE_BLOCK = 26
    LOSE_BLOCK = 27
    GIVE_BLOCK = 28
    DOUBLE_BLOCK = 29
    GIVE_LATE_BLOCK = 30


AT_APPENDS = (Act.MAKE_APPEND, Act.FAIL_APPEND, Act.DOUBT_APPEND, Act.TELL_APPEND)
"""What happens to appends to the transaction log that are under way, where they travel."""

AT_BLOCKS = (Act.ALLOCATE_BLOCK, Act.LOSE_BLOCK, Act.GIVE_BLOCK, Act.DOUBLE_BLOCK, Act.GIVE_LATE_BLOCK)
"""What happens between a coordinator node and the controller, where producer ids come in blocks."""

BETWEEN_BROKERS = (*AT_APPENDS, Act.DISCONNECT, *AT_BLOCKS)
"""What only happens where more than the messages of clients and markers travels."""


def _numbered() -> tuple[tuple[int, int], ...]:
    counts = {
        Act.STEP: CLIENTS,
        Act.ABORT_INSTEAD: CLIENTS,
        Act.READ_ONE: READERS,
        Act.READ_ALL: READERS,
        Act.RESIGN: NODES,
        Act.ELECT: PARTITIONS,
        Act.DELIVER: MESSAGES,
        Act.LOSE_ANSWER: MESSAGES,
        Act.DOUBLE: MESSAGES,
        Act.GIVE_UP: MESSAGES,
        Act.UNKNOWN_APPEND: MESSAGES,
        Act.CRASH: CLIENTS,
        Act.TIME_OUT: IDS,
        Act.FAIL_OVER: 1,
        Act.DEPOSE: 1,
        Act.CHANGE_LEADER: PARTITIONS,
        Act.LOSE_LEADER: PARTITIONS,
        Act.REBALANCE: 1,
        Act.EXPIRE: IDS,
        Act.FORGET_PRODUCER: PARTITIONS * PRODUCER_IDS,
        Act.FORGET_GUARD: PARTITIONS * PRODUCER_IDS,
        **dict.fromkeys(AT_APPENDS, APPENDS),
        Act.DISCONNECT: PARTITIONS * NODES,
        **dict.fromkeys(AT_BLOCKS, NODES),
    }
    return tuple((int(act), i) for act, count in counts.items() for i in range(count))


ACTIONS: tuple[tuple[int, int], ...] = _numbered()
"""(kind, argument) of each action, by its number; those of `BETWEEN_BROKERS` come last."""

ACTIONS_AT_ONCE: int = sum(act not in BETWEEN_BROKERS for act, _ in ACTIONS)
"""How many actions there are where nothing of that travels."""
