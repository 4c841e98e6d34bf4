"""The normal form of a state: epochs and generations are compared and never counted, so two are enough."""

from zombieproof.checker.spark_sink import claims
from zombieproof.checker.spark_sink.state import (
    ATTEMPTS,
    DRIVERS,
    IDS,
    PARTITIONS,
    TASKS,
    Modes,
    Setup,
    Sink,
    State,
    Work,
)

CURRENT = 1
STALE = 0


def normalise(state: State, setup: Setup) -> None:
    """Whoever holds the newest epoch of an id has CURRENT, whoever holds another one STALE, which no id has again."""
    for d in range(DRIVERS):
        rename(state, setup, state.drivers[d].work)
    for a in range(ATTEMPTS):
        rename(state, setup, state.attempts[a].work)
    if setup.modes != Modes.ONE:
        for p in range(PARTITIONS):
            state.group.generations[p] = renamed(state, int(state.group.generations[p]))
        for i in range(IDS):
            state.transactions[i].generation = renamed(state, int(state.transactions[i].generation))
        state.group.claim.generation = CURRENT
    if setup.sink == Sink.TWO_PHASE:
        for task in range(TASKS):
            newest = state.transactions[task].epoch
            state.decided.epochs[task] = CURRENT if state.decided.epochs[task] == newest else STALE
            for d in range(DRIVERS):
                driver = state.drivers[d]
                driver.epochs[task] = CURRENT if driver.epochs[task] == newest else STALE
    for i in range(IDS):
        state.transactions[i].epoch = CURRENT


def rename(state: State, setup: Setup, work: Work) -> None:
    """The epochs that a delivery holds, and the generations that it has seen."""
    is_newest = work.epoch == state.transactions[work.transactional_id].epoch
    work.epoch = CURRENT if is_newest else STALE
    if setup.modes == Modes.ONE:
        return
    if work.holder_epoch > 0:
        epoch = state.transactions[claims.holder_of(setup, work)].epoch
        work.holder_epoch = 1 + (CURRENT if work.holder_epoch == 1 + epoch else STALE)
    work.seen = renamed(state, int(work.seen))
    work.taken = renamed(state, int(work.taken))


def renamed(state: State, generation: int) -> int:
    """Whether a generation is that of the newest claim."""
    return CURRENT if generation == state.group.claim.generation else STALE
