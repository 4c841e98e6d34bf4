"""Rounds of a soak, made by some processes at once."""

import signal
import sys
import traceback
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

from tests.soak.live_soak import LiveSoak
from tests.soak.soak import Round, Soak, Stuck
from zombieproof.broker.partition.log import Damaged
from zombieproof.traces.history.history_file import History

KINDS: dict[str, type[Soak] | type[LiveSoak]] = {"messages": Soak, "disks": LiveSoak}
AHEAD = 4
"""So many rounds are begun for each process before the first of them is over."""


@dataclass(frozen=True)
class Failed:
    """A round without a verdict, and the exit code for it."""

    why: str
    code: int


def played(kind: str, seed: int, transactions: int) -> Round | Failed:
    """One round; its history is kept only if something was found."""
    try:
        found: Round = KINDS[kind](seed, transactions).run()
    except (Stuck, Damaged) as failure:
        return Failed(str(failure), 1)
    except Exception:  # noqa: BLE001  # what it is, the report says; other rounds go on
        return Failed(traceback.format_exc(limit=-4), 70)
    if found.verdict.is_clean:
        found.history = History(())
    return found


def rounds(
    kinds: list[str], seed: int, most: int, in_a_round: int, jobs: int
) -> Iterator[tuple[str, int, Round | Failed]]:
    """Rounds of each kind in the order of their seeds, from `seed` on, `most` of a kind (0: without end)."""
    last = seed + most if most else sys.maxsize
    ahead = ((kind, number) for number in range(seed, last) for kind in kinds)
    under_way: deque[tuple[str, int, Future[Round | Failed]]] = deque()
    context = get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_ignore_interrupts) as pool:
        try:
            for kind, number in ahead:
                under_way.append((kind, number, pool.submit(played, kind, number, in_a_round)))
                if len(under_way) >= AHEAD * jobs:
                    yield _over(*under_way.popleft())
            for each in under_way:
                yield _over(*each)
        finally:
            pool.shutdown(cancel_futures=True)


def _over(kind: str, seed: int, task: Future[Round | Failed]) -> tuple[str, int, Round | Failed]:
    return kind, seed, task.result()


def _ignore_interrupts() -> None:
    """Who started the soak ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
