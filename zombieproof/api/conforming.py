"""Comparing brokers in this process with recorded answers of real ones: what `zombieproof conform` does."""

import os
from pathlib import Path

from zombieproof.conformance.in_process import InProcess
from zombieproof.conformance.recording import files_of
from zombieproof.conformance.tally import Tally, play_all


def conform(*recordings: str | os.PathLike[str], limit: int | None = None) -> list[Tally]:
    """Ask brokers in this process what a real broker was asked, and compare the answers.

    Of each recording's tally, `sequences` were played and `steps` compared; `differences` holds the first answer of a
    sequence that is not the recorded one, `damaged` the lines that could not be understood.

    Args:
        recordings: files (.jsonl, .jsonl.gz) and folders of them.
        limit: play only so many sequences.

    Raises:
        RecordingError: there is no such file.
    """
    return play_all(files_of([Path(each) for each in recordings]), InProcess, limit)
