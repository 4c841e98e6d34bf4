"""The normal form of a state: epochs are compared and never counted, so two are enough."""

from zombieproof.checker.spark_sink.state import ATTEMPTS, DRIVERS, IDS, TASKS, Setup, Sink, State, Work

CURRENT = 1
STALE = 0


def normalise(state: State, setup: Setup) -> None:
    """Whoever holds the newest epoch of an id has CURRENT, whoever holds another one STALE, which no id has again."""
    for d in range(DRIVERS):
        rename(state, state.drivers[d].work)
    for a in range(ATTEMPTS):
        rename(state, state.attempts[a].work)
    if setup.sink == Sink.TWO_PHASE:
        for task in range(TASKS):
            newest = state.transactions[task].epoch
            state.decided.epochs[task] = CURRENT if state.decided.epochs[task] == newest else STALE
            for d in range(DRIVERS):
                driver = state.drivers[d]
                driver.epochs[task] = CURRENT if driver.epochs[task] == newest else STALE
    for i in range(IDS):
        state.transactions[i].epoch = CURRENT


def rename(state: State, work: Work) -> None:
    """The epoch that a delivery holds."""
    is_newest = work.epoch == state.transactions[work.transactional_id].epoch
    work.epoch = CURRENT if is_newest else STALE
