"""Recordings, each played in process and through sockets, on all cores."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.answers.page import Pair
from zombieproof.conformance.in_process import InProcess
from zombieproof.conformance.over_wire import OverWire
from zombieproof.conformance.runner import SubjectOf
from zombieproof.conformance.tally import Tally, play_all

SUBJECTS: tuple[SubjectOf, ...] = (InProcess, OverWire)


def played(files: Sequence[Path]) -> Iterator[Pair]:
    """What came of each recording in process and through sockets, which are played beside each other."""
    with ProcessPoolExecutor(min(os.cpu_count() or 1, len(files)), get_context("spawn")) as pool:
        tasks = [(file, [pool.submit(_tally, file, subject) for subject in SUBJECTS]) for file in files]
        for file, (first, second) in tasks:
            (tally, spent), (on_sockets, also_spent) = first.result(), second.result()
            sys.stdout.write(
                f"{file.name:<36} {tally.equal:>6,} of {tally.sequences:>6,} equal {spent:>6.1f} CPU s, "
                f"{on_sockets.equal:>6,} through sockets {also_spent:>6.1f} CPU s\n"
            )
            sys.stdout.flush()
            yield tally, on_sockets


def _tally(file: Path, subject: SubjectOf) -> tuple[Tally, float]:
    began = time.process_time()
    [tally] = play_all([file], subject)
    return tally, time.process_time() - began
