"""zombieproof history: does what clients were told agree with what they read?"""

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

HELP = """Judge what clients were told and what they read, and nothing else.

A history is JSON Lines, written around clients of any broker, in any language (HistoryWriter of the Python package
writes it, docs/histories.md says how, --schema prints the JSON Schema of a line):
transactions that were begun, records and offsets that were sent, what was answered, what was read. Unknown outcomes
stay unknown: either way is legal, but it is the same for every partition and every reader. Found are duplicates, lost
writes, aborted and dirty reads, torn and hanging transactions, readers that go back or disagree, records that nobody
wrote, offsets that do not account for the output, and what zombies got through; each with the lines that show it.

Files that are given together are one history, of one clock. They may be packed (.gz, .xz, .bz2), and `-` is standard
input. A history that cannot have happened to clients is refused
with file and line: nothing can be said of it.

\b
Examples:
  zombieproof history history.jsonl
  zombieproof history producers.jsonl consumers.jsonl
  zombieproof history history.jsonl --json
  zcat history.jsonl.gz | zombieproof history -
  zombieproof history history.jsonl --format junit > history.xml

\b
A history by hand, in Python: a record was acknowledged, and a reader passed
its place.
  from zombieproof import HistoryWriter
  with HistoryWriter("lost.jsonl") as history:
      history.send("A", "t-0", "v")
      history.acknowledged("A", "v", 0)
      history.positioned("R", "read_committed", {"t-0": 0})
      asked = history.now()
      history.final_read("R", "t-0", position=1, end=1, since=asked)
And judged: it tells of a lost write.
  zombieproof history lost.jsonl

\b
Exit codes: 0 no anomaly, 1 there are some, 2 wrong usage, 3 a file is no
  history, or one in which nothing happened.
"""


@click.command("history", help=HELP)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=PATH, help="histories of one clock")
@reported(Format)
@click.option("--schema", is_flag=True, help="print the JSON Schema of a line, and judge nothing")
def history_command(files: tuple[Path, ...], form: Format, as_json: bool, schema: bool) -> int:
    """Run the command."""
    if schema:
        if files:
            raise WrongUsage("--schema judges nothing: leave the files away, or --schema")
        Screen().data(history_schema())
        return Exit.HOLDS
    if not files:
        raise WrongUsage("missing argument FILE...: give histories of one clock, or --schema")
    form = form_of(form, as_json=as_json)
    given = [STANDARD_INPUT if str(file) == "-" else file for file in files]
    if STANDARD_INPUT in given:
        spool_standard_input()
    for file in given:
        if not file.is_file() and not is_held(file):
            what = "is a folder; give the files in it" if file.is_dir() else "does not exist"
            raise WrongUsage(f"{file} {what}; a history is a file that a HistoryWriter wrote")
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
    """The history in a file, which may be packed, and have any encoding.

    Raises:
        HistoryError: the file cannot be read, or is not a whole history.
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
