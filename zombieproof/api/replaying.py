"""Judging a recording from a program: what `zombieproof replay` does."""

import os
from collections.abc import Sequence
from pathlib import Path

from zombieproof.model.rules import Rules, preset
from zombieproof.screening.choosing import screen_for
from zombieproof.screening.tables import read_table
from zombieproof.traces.explaining.explain import explain
from zombieproof.traces.narrowing import Narrowing
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import judge
from zombieproof.traces.verdict.explanation import Values
from zombieproof.traces.verdict.report import Report


def replay(
    *paths: str | os.PathLike[str],
    rules: Rules | str | None = None,
    topics: Sequence[str] = (),
    explained: bool = False,
    values: Values = Values.NONE,
) -> Report:
    """Judge what a cluster left behind: segments and whole log directories, text of Kafka's tools, logs of clients.

    All paths are one body of evidence, of one cluster. The verdict is about what is in `judged` of the report; about
    what is in `not_judged` it says nothing.

    Args:
        paths: files, folders and archives (zip and tar, compressed or not); "-" is standard input.
        rules: a preset ("newest", which is the default, "3.9", "4.3-tv0"), or rules themselves.
        topics: read these topics only (patterns with ``*`` and ``?``), and those of the coordinators.
        explained: also say of each finding what it means, when it happened, why it can have, and what to do.
        values: show values of the records that findings are about; keys are shown in any case.

    Raises:
        EvidenceError: a path does not exist, or none is given.
        UnknownRule: no preset has that name.
    """
    chosen = preset(rules) if isinstance(rules, str) else rules
    narrowing = Narrowing(tuple(topics))
    evidence = collect(
        paths, narrowing=narrowing, screen=screen_for(map(Path, paths), narrowing, chosen), tables=read_table
    )
    report = judge(evidence, chosen, narrowing).report
    return explain(report, evidence, values) if explained else report
