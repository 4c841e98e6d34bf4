"""zombieproof history: compare the results that clients received with the records that they read."""

import sys
from io import BytesIO
from pathlib import Path
from typing import Literal

import click

from zombieproof.cli.options import PATH, reported
from zombieproof.cli.usage import WrongUsage, form_of
from zombieproof.report import history_text
from zombieproof.report.exits import Exit
from zombieproof.report.json_text import json_of
from zombieproof.report.screen import Screen
from zombieproof.traces.history.history_file import History, HistoryError, Source, events_in
from zombieproof.traces.history.judge import judge
from zombieproof.traces.history.schema import history_schema
from zombieproof.traces.readers.archives import STANDARD_INPUT, is_held, spool_standard_input
from zombieproof.traces.readers.files import opened
from zombieproof.traces.readers.lines import decoded

Format = Literal["text", "json", "junit"]

HELP = """Check a history of client operations for anomalies: the results that clients received against their reads.

A history is a JSON Lines file written around the clients of any broker, in any language: transactions, sent records
and offsets, responses, and reads. HistoryWriter of the Python package writes it, docs/histories.md describes the
format, and --schema prints the JSON Schema of a line. A request with an unknown outcome may or may not have taken
effect, but every partition and every reader must agree on it. The checker finds duplicates, lost writes, aborted and
dirty reads, torn and hanging transactions, readers that go backwards or disagree, records without a writer, offsets
that do not match the output, and writes of zombies. Each finding cites the lines that show it.

Several files form one history and must use the same clock. They may be compressed (.gz, .xz, .bz2); `-` is standard
input. A history that is impossible for any client is rejected with file and line.

\b
Examples:
  zombieproof history history.jsonl
  zombieproof history producers.jsonl consumers.jsonl
  zombieproof history history.jsonl --json
  zcat history.jsonl.gz | zombieproof history -
  zombieproof history history.jsonl --format junit > history.xml

\b
A history written by hand, in Python: a record is acknowledged, but a reader
passes its offset without getting it.
  from zombieproof import HistoryWriter
  with HistoryWriter("lost.jsonl") as history:
      history.send("A", "t-0", "v")
      history.acknowledged("A", "v", 0)
      history.positioned("R", "read_committed", {"t-0": 0})
      asked = history.now()
      history.final_read("R", "t-0", position=1, end=1, since=asked)
The check reports a lost write:
  zombieproof history lost.jsonl

\b
Exit codes: 0 no anomaly, 1 anomalies found, 2 wrong usage, 3 a file is not a
  valid history, or the history has no events.
"""


@click.command("history", help=HELP)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=PATH, help="history files that use one clock")
@reported(Format)
@click.option("--schema", is_flag=True, help="print the JSON Schema of a line and exit")
def history_command(files: tuple[Path, ...], form: Format, as_json: bool, schema: bool) -> int:
    """Run the command."""
    if schema:
        if files:
            raise WrongUsage("--schema checks nothing: omit either the files or --schema")
        Screen().data(history_schema())
        return Exit.HOLDS
    if not files:
        raise WrongUsage("missing argument FILE...: give history files, or --schema")
    form = form_of(form, as_json=as_json)
    given = [STANDARD_INPUT if str(file) == "-" else file for file in files]
    if STANDARD_INPUT in given:
        spool_standard_input()
    for file in given:
        if not file.is_file() and not is_held(file):
            what = "is a folder; give the files in it" if file.is_dir() else "does not exist"
            raise WrongUsage(f"{file} {what}; give a JSON Lines file, such as HistoryWriter writes")
    try:
        verdict = judge(History(tuple(map(_source, given))))
    except HistoryError as error:
        Screen(sys.stderr).say(f"zombieproof: {error}")
        return Exit.INCONCLUSIVE
    screen = Screen()
    if form == "json":
        screen.data(json_of(verdict))
    elif form == "junit":
        from zombieproof.report import history_junit  # noqa: PLC0415  # few need it

        screen.data(history_junit.as_junit(verdict))
    else:
        history_text.show(screen, verdict)
    if not verdict.is_clean:
        return Exit.VIOLATED
    return Exit.HOLDS if verdict.counts.events else Exit.INCONCLUSIVE


def _source(path: Path) -> Source:
    """Read the history in a file, which may be compressed and have any encoding.

    Raises:
        HistoryError: the file cannot be read, or is not a complete history.
    """
    name = str(path)
    try:
        with opened(path) as content:
            if content.fault is not None:
                raise HistoryError(name, 0, content.fault)
            text = decoded(content.data)[0]
            with BytesIO(text) as lines:
                return Source(name, list(events_in(lines, name)))
    except OSError as error:
        raise HistoryError(name, 0, f"cannot be read: {error.strerror}") from error
