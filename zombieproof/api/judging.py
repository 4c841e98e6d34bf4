"""Judging a history of clients from a program: what `zombieproof history` does."""

import os

from zombieproof.traces.history.history_file import History, read_history
from zombieproof.traces.history.judge import judge
from zombieproof.traces.history.verdict import HistoryVerdict


def judge_history(*histories: History | str | os.PathLike[str]) -> HistoryVerdict:
    """Judge what clients were told and what they read: duplicates, lost writes, torn transactions, and more.

    Of the verdict, `findings` holds each anomaly with the events that show it, and `counts` how much was judged.

    Args:
        histories: files of one history that share a clock, or what `HistoryWriter.history` gives.

    Raises:
        HistoryError: a file is no history, or says what cannot have happened to clients; or none is given.
    """
    kept = [each for each in histories if isinstance(each, History)]
    paths = [each for each in histories if not isinstance(each, History)]
    read = [read_history(*paths)] if paths or not kept else []
    return judge(History(tuple(source for each in (*kept, *read) for source in each.sources)))
