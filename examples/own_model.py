"""A model of your own: a lock with leases, a client that takes its lease for valid, and a store that may notice.

    zombieproof check examples/own_model.py
    zombieproof check examples/own_model.py --bounds fencing=0
    zombieproof check examples/own_model.py --mutants

A model is a record of everything that is there, actions that change it, and promises about it. Its functions are plain
Python on the fields of the record: integers, comparisons, loops, calls of other such functions. They are compiled to be
explored and interpreted to tell a story. Source of the protocol: Kleppmann, "How to do distributed locking" (2016).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from zombieproof import ILLEGAL, Machine, Model, Mutant, Promise, Rules, Scenario, T, array

CLIENTS = 2
NOBODY = 0


class S(IntEnum):
    """What a client is doing."""

    IDLE = 0
    HOLDING = 1
    WRITING = 2


class E(IntEnum):
    """What may happen to a client."""

    NOTHING = 0
    ACQUIRE = 1
    WRITE = 2
    ANSWER = 3


class Do(IntEnum):
    """The actions, each of which client 0 or client 1 may take."""

    ACQUIRE = 0
    WRITE = 1
    ARRIVE = 2
    EXPIRE = 3


CLIENT = Machine(
    name="client",
    states=S,
    events=E,
    initial=S.IDLE,
    rows=(
        T(S.IDLE, E.ACQUIRE, S.HOLDING, "the lock is free"),
        T(S.HOLDING, E.WRITE, S.WRITING, "it takes the lease for its own, whatever the time is"),
        T(S.WRITING, E.ANSWER, S.IDLE, "it gives the lock back"),
    ),
)
TABLE = CLIENT.table


@dataclass(slots=True)
class Client:
    """A client: what it is doing, and the token of its lease."""

    state: int = 0
    token: int = 0


@dataclass(slots=True)
class Lock:
    """The lock service: who holds the lock (1 + client), and the last token that it gave out."""

    holder: int = 0
    token: int = 0


@dataclass(slots=True)
class State:
    """Everything. `refused` and `went_back` remember what the store did: only promises read them."""

    clients: list[Client] = array(Client, CLIENTS)
    lock: Lock = field(default_factory=Lock)
    highest: int = 0
    last_written: int = 0
    expired: int = 0
    refused: int = 0
    went_back: int = 0


@dataclass(slots=True)
class Setup:
    """What is constant during a run: whether the store looks at tokens, and how much may happen."""

    fencing: int = 1
    leases: int = 3
    expirations: int = 1


@dataclass(slots=True)
class Trail:
    """What one step did: nothing is counted here."""

    unused: int = 0


def step(state: State, action: int, setup: Setup, trail: Trail) -> bool:
    """Let client `action` // 4 do what `action` % 4 says. False where it cannot."""
    c = action // len(Do)
    what = action % len(Do)
    if what == Do.ACQUIRE:
        return acquire(state, c, setup)
    if what == Do.WRITE:
        return move(state.clients[c], E.WRITE)
    if what == Do.ARRIVE:
        return arrive(state, c, setup)
    if state.lock.holder != c + 1 or state.expired >= setup.expirations:
        return False
    state.lock.holder = NOBODY
    state.expired += 1
    return True


def move(client: Client, event: int) -> bool:
    """Ask the table what becomes of the client. False where it has no such row."""
    target = TABLE[client.state][event]
    if target == ILLEGAL:
        return False
    client.state = target
    return True


def acquire(state: State, c: int, setup: Setup) -> bool:
    """The lock service grants a lease to client `c`."""
    if state.lock.holder != NOBODY or state.lock.token >= setup.leases:
        return False
    if not move(state.clients[c], E.ACQUIRE):
        return False
    state.lock.holder = c + 1
    state.lock.token += 1
    state.clients[c].token = state.lock.token
    return True


def arrive(state: State, c: int, setup: Setup) -> bool:
    """The write of client `c` arrives at the store, early or late, and is answered."""
    if not move(state.clients[c], E.ANSWER):
        return False
    token = state.clients[c].token
    if setup.fencing == 1 and token < state.highest:
        state.refused = 1
    else:
        if token < state.last_written:
            state.went_back = 1
        state.last_written = token
        state.highest = max(state.highest, token)
    if state.lock.holder == c + 1:
        state.lock.holder = NOBODY
    return True


def no_write_is_undone_by_an_older_one(state: State) -> bool:
    """What the store accepts is in the order of the leases."""
    return state.went_back == 0


def a_late_write_is_refused(state: State) -> bool:
    """A client whose lease is over is told so by the store."""
    return state.refused == 1


def describe(state: State, action: int, setup: Setup) -> str:
    """Say an action in words: interpreted only, so here texts are legal."""
    c, what = divmod(action, len(Do))
    name = "AB"[c]
    return {
        Do.ACQUIRE: f"{name} asks for the lock and gets lease {state.lock.token + 1}",
        Do.WRITE: f"{name} sends a write under lease {state.clients[c].token}",
        Do.ARRIVE: f"the write of {name} under lease {state.clients[c].token} arrives at the store",
        Do.EXPIRE: f"the lease of {name} ends; nobody tells {name}",
    }[Do(what)]


MODEL = Model(
    name="lock_with_leases",
    state=State,
    setup=Setup,
    trail=Trail,
    actions=CLIENTS * len(Do),
    step=step,
    describe=describe,
    initial=lambda setup: State(),
    promises=(
        Promise(
            "no_write_is_undone_by_an_older_one",
            "always",
            no_write_is_undone_by_an_older_one,
            "What the store accepts is in the order of the leases.",
        ),
        Promise("a_late_write_is_refused", "sometimes", a_late_write_is_refused, "A late write is refused."),
    ),
)


def setup_of(rules: Rules, bounds: Mapping[str, int]) -> Setup:
    """What the bounds mean. The rules are Kafka's, and not of this protocol."""
    return Setup(fencing=min(bounds["fencing"], 1), leases=bounds["leases"], expirations=bounds["expirations"])


SCENARIO = Scenario(
    name="lock_with_leases",
    story="Two clients write under a lock with leases. A lease ends while its client is busy with something else, and "
    "the other client gets the next one. The late write arrives behind the newer one; the store must refuse it.",
    model=lambda bounds: MODEL,
    setup=setup_of,
    bounds={"fencing": 1, "leases": 3, "expirations": 1},
    always=("no_write_is_undone_by_an_older_one",),
    sometimes=("a_late_write_is_refused",),
    distinct=143,
    mutants=(
        Mutant(
            "the_store_takes_every_write",
            breaks="no_write_is_undone_by_an_older_one",
            steps=7,
            bounds={"fencing": 0},
        ),
    ),
)
