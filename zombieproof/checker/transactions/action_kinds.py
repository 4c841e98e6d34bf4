"""Every action of the transaction model, by number: who does something, and what happens to it."""

from collections.abc import Collection
from enum import IntEnum

from zombieproof.checker.transactions.capacities import (
    APPENDS,
    CLIENTS,
    IDS,
    LOG,
    MESSAGES,
    MORE_PRODUCER_IDS,
    NODES,
    OFFSETS,
    PARTITIONS,
    PRODUCER_IDS,
    READERS,
)


class Action(IntEnum):
    """The kinds of actions.

    Those from REFUSE on happen in few scenarios; their actions come behind FORGET_GUARD's, one kind after the other.
    Those from LOSE_ANSWER to FORGET_GUARD are faults, each with a budget; so are `OTHER_FAULTS` and `FAULTS_BEHIND`.
    """

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
    REFUSE = 31
    COMMIT_PLAINLY = 32
    ABORT_BY_HAND = 33
    MISLEAD = 34
    REJECT_APPEND = 35
    CLOSE_LOG = 36
    RECORD_BLOCK = 37
    CHANGE_CONTROLLER = 38
    REPLICATE_OFFSETS = 39
    ANSWER_COMMIT = 40
    FAIL_COMMIT = 41
    DOUBT_COMMIT = 42
    CUT_OFFSETS = 43
    REPLICATE = 44
    TRUNCATE = 45
    BEGIN_FETCH = 46
    CLEAN = 47
    CLOSE_SEGMENT = 48
    DROP_SEGMENTS = 49
    FORGET_PARTITION = 50
    DELETE_GROUP = 51
    RECREATE_INPUT = 52


HARD = (Action.REJECT_APPEND, Action.CLOSE_LOG)
"""An append is answered with an error behind which nobody appends it again."""

AT_APPENDS = (Action.MAKE_APPEND, Action.FAIL_APPEND, Action.DOUBT_APPEND, Action.TELL_APPEND, *HARD)
"""What happens to appends to the transaction log that are under way, where they travel."""

AT_BLOCKS = (Action.ALLOCATE_BLOCK, Action.LOSE_BLOCK, Action.GIVE_BLOCK, Action.DOUBLE_BLOCK, Action.GIVE_LATE_BLOCK)
"""What happens between a coordinator node and the controller, where producer ids come in blocks."""

AT_CONTROLLER = (Action.RECORD_BLOCK, Action.CHANGE_CONTROLLER)
"""What happens to the controller itself, where it may change: its log has what it hands out, or its successor leads."""

AT_COMMITS = (Action.ANSWER_COMMIT, Action.FAIL_COMMIT, Action.DOUBT_COMMIT)
"""What happens to a commit of offsets at its log, where that takes its time."""

AT_OFFSETS = (Action.REPLICATE_OFFSETS, Action.CUT_OFFSETS)
"""What happens to the offsets log there: replicas have it, or another leader has not what they had not."""

AT_GROUP = (Action.DELETE_GROUP, Action.RECREATE_INPUT)
"""What an administrator does to the group, or to its input topic."""

KINDS_BETWEEN_BROKERS = (
    *AT_APPENDS,
    Action.DISCONNECT,
    *AT_BLOCKS,
    *AT_CONTROLLER,
    *AT_COMMITS,
    *AT_OFFSETS,
    *AT_GROUP,
)
"""What only happens where more than the messages of clients and markers travels, or an administrator deletes things."""

AT_LOGS = (Action.CLEAN, Action.CLOSE_SEGMENT, Action.DROP_SEGMENTS)
"""What becomes of the logs of partitions in time."""

KINDS_ON_REPLICAS = (Action.REPLICATE, Action.TRUNCATE, Action.BEGIN_FETCH, *AT_LOGS, Action.FORGET_PARTITION)
"""What only happens where a log is longer than what is replicated of it, is read in steps, or does not stay whole.

Or where a client takes it for another one.
"""


AT_PRODUCERS = (Action.FORGET_PRODUCER, Action.FORGET_GUARD, Action.ABORT_BY_HAND)
"""What happens to one producer id on one partition. Those of ids beyond `PRODUCER_IDS` come last of all."""

_PAIRS = PARTITIONS * PRODUCER_IDS


def partition_of(i: int) -> int:
    """The partition of argument `i` of an action `AT_PRODUCERS`."""
    return i // PRODUCER_IDS % PARTITIONS


def producer_of(i: int) -> int:
    """The producer id of argument `i` of an action `AT_PRODUCERS`."""
    return i % PRODUCER_IDS + i // _PAIRS * PRODUCER_IDS


def _numbered() -> tuple[tuple[int, int], ...]:
    counts = {
        Action.STEP: CLIENTS,
        Action.ABORT_INSTEAD: CLIENTS,
        Action.READ_ONE: READERS,
        Action.READ_ALL: READERS,
        Action.RESIGN: NODES,
        Action.ELECT: PARTITIONS,
        Action.DELIVER: MESSAGES,
        Action.LOSE_ANSWER: MESSAGES,
        Action.DOUBLE: MESSAGES,
        Action.GIVE_UP: MESSAGES,
        Action.UNKNOWN_APPEND: MESSAGES,
        Action.CRASH: CLIENTS,
        Action.TIME_OUT: IDS,
        Action.FAIL_OVER: 1,
        Action.DEPOSE: 1,
        Action.CHANGE_LEADER: PARTITIONS,
        Action.LOSE_LEADER: PARTITIONS,
        Action.REBALANCE: 1,
        Action.EXPIRE: IDS,
        Action.FORGET_PRODUCER: _PAIRS,
        Action.FORGET_GUARD: _PAIRS,
        Action.REFUSE: MESSAGES,
        Action.COMMIT_PLAINLY: CLIENTS,
        Action.ABORT_BY_HAND: _PAIRS,
        Action.MISLEAD: CLIENTS,
        **dict.fromkeys(AT_APPENDS[:4], APPENDS),
        Action.DISCONNECT: PARTITIONS * NODES,
        **dict.fromkeys(AT_BLOCKS, NODES),
        **dict.fromkeys(HARD, APPENDS),
        **dict.fromkeys((*AT_CONTROLLER, *AT_OFFSETS), 1),
        **dict.fromkeys(AT_COMMITS, MESSAGES),
    }
    on_replicas = {
        Action.REPLICATE: PARTITIONS,
        Action.TRUNCATE: PARTITIONS,
        Action.BEGIN_FETCH: READERS,
        Action.CLEAN: PARTITIONS * LOG,
        Action.CLOSE_SEGMENT: PARTITIONS,
        Action.DROP_SEGMENTS: PARTITIONS,
        Action.FORGET_PARTITION: CLIENTS * OFFSETS,
    }
    first, last = ([(int(k), i) for k, count in some.items() for i in range(count)] for some in (counts, on_replicas))
    more = range(_PAIRS, PARTITIONS * MORE_PRODUCER_IDS)
    at_group = ((int(kind), 0) for kind in AT_GROUP)
    return (*first, *((int(kind), i) for kind in AT_PRODUCERS for i in more), *at_group, *last)


ACTIONS: tuple[tuple[int, int], ...] = _numbered()
"""(kind, argument) of each action, by its number.

Those of `KINDS_BETWEEN_BROKERS` come behind all that is in every model, `AT_GROUP` behind what is about more producer
ids, and those of `KINDS_ON_REPLICAS` last.
"""

FAULTS_BEHIND = (
    Action.FAIL_APPEND,
    Action.DOUBT_APPEND,
    *HARD,
    Action.DISCONNECT,
    Action.LOSE_BLOCK,
    Action.DOUBLE_BLOCK,
    Action.CHANGE_CONTROLLER,
    Action.FAIL_COMMIT,
    Action.DOUBT_COMMIT,
    Action.CUT_OFFSETS,
)
"""What may go wrong where more travels than messages of clients and markers."""

OTHER_FAULTS = (Action.REFUSE, Action.COMMIT_PLAINLY, Action.MISLEAD, *AT_LOGS, Action.FORGET_PARTITION, *AT_GROUP)
"""What else has a budget, and need not happen. An administrator who aborts by hand comes some time: no fault."""

FAULTS: tuple[int, ...] = tuple(
    action
    for action, (kind, _) in enumerate(ACTIONS)
    if Action.LOSE_ANSWER <= kind <= Action.FORGET_GUARD or kind in (*OTHER_FAULTS, *FAULTS_BEHIND, Action.TRUNCATE)
)
"""The actions that are faults: they may happen, and need not."""

ACTIONS_BETWEEN_BROKERS: int = sum(kind not in KINDS_ON_REPLICAS for kind, _ in ACTIONS)
"""How many actions there are where what is in a log is replicated."""

ACTIONS_AT_ONCE: int = next(n for n, (kind, _) in enumerate(ACTIONS) if kind in KINDS_BETWEEN_BROKERS)
"""How many there are where nothing travels between brokers, either."""


def _bits(part: int, kinds: Collection[int], at: Collection[int]) -> int:
    """The actions of some kinds from 64 * `part` on as bits; of those that have an argument `at` these alone.

    As a signed integer of 64 bits, as tables are compiled.
    """
    found = sum(
        1 << bit for bit, (kind, i) in enumerate(ACTIONS[64 * part : 64 * part + 64]) if kind in kinds and i in at
    )
    return found - (1 << 64) if found >> 63 else found


def _bits_at(kinds: Collection[int], arguments: int) -> tuple[tuple[int, ...], ...]:
    """Part, argument -> the actions of some kinds with this argument, from 64 * part on, as bits."""
    return tuple(tuple(_bits(part, kinds, (i,)) for i in range(arguments)) for part in _PARTS)


_PARTS = range(-(-len(ACTIONS) // 64))
_ANY = range(len(ACTIONS))

BITS: tuple[tuple[int, ...], ...] = tuple(tuple(_bits(part, (kind,), _ANY) for kind in Action) for part in _PARTS)
"""Part, kind -> the actions of the kind from 64 * part on, as bits."""

AT_MESSAGES: tuple[int, ...] = tuple(
    _bits(part, range(Action.DELIVER, Action.UNKNOWN_APPEND + 1), _ANY) for part in _PARTS
)
"""Part -> what can happen to messages in every scenario, from 64 * part on, as bits."""

DELIVERIES = _bits_at((Action.DELIVER,), MESSAGES)
"""Part, slot -> that the message there arrives."""

DOUBLINGS = _bits_at((Action.DOUBLE,), MESSAGES)
"""Part, slot -> that the message there is doubled."""

GIVINGS_UP = _bits_at((Action.GIVE_UP,), MESSAGES)
"""Part, slot -> that the message there is given up."""

WAITED_FOR = _bits_at((Action.LOSE_ANSWER, Action.UNKNOWN_APPEND, Action.REFUSE), MESSAGES)
"""Part, slot -> what else can only happen to a message there while somebody waits for its answer."""

PROGRAM_STEPS = _bits_at((Action.STEP, Action.ABORT_INSTEAD), CLIENTS)
"""Part, client -> that it goes on with its program."""
