"""Histories as people write them, one event a line.

A init x              process A asks for the transactional id x     A has x / A init failed
A begin 1             begins A.1                                    (labels: process and number)
A send v t            sends v to partition t, in its open transaction
A send v t of g/in@4  the same, made of what group g has read from in at 4
A ack v 7             v was acknowledged at offset 7 (?: not told)  A fail v / A fenced v / A lost v
A offsets g in=5      sends offsets of the group                    A offsets ok / A offsets failed
A commit, A abort     asks for the end                              A committed / A aborted / A end failed
R reads t 0           a reader under read_committed starts at 0     U sees t 0: under read_uncommitted
H holds t 0           a reader that buffers starts at 0
R got v t 7           v was handed to R                             R final t 8 of 9: its last look
F fetch g in=5        committed offsets, asked for just before (F peek: unstable ones count)
"""

import re

from zombieproof.traces.history.events import Input, Outcome
from zombieproof.traces.history.history_file import History
from zombieproof.traces.history.writer import HistoryWriter

SAID: dict[str, Outcome] = {"fail": "failed", "failed": "failed", "fenced": "fenced", "lost": "unknown", "ok": "ok"}


class Play:
    """Writes what lines of text say."""

    def __init__(self) -> None:
        self.writer = HistoryWriter()
        self.open: dict[str, str] = {}
        self.last: dict[str, str] = {}

    def say(self, line: str) -> None:
        who, verb, *rest = line.split()
        match verb, rest:
            case "init", [word] if word in SAID:
                self.writer.initialized(who, SAID[word])
            case "init", [name]:
                self.writer.init(who, name)
            case "has", [_]:
                self.writer.initialized(who, "ok")
            case "begin", [number]:
                self.open[who] = self.last[who] = f"{who}.{number}"
                self.writer.begin(who, self.open[who])
            case "send", [value, partition, *made_of]:
                self.writer.send(who, partition, value, self.open.get(who), inputs_of(made_of))
            case "ack", [value, offset]:
                self.writer.acknowledged(who, value, None if offset == "?" else int(offset))
            case (("fail" | "fenced" | "lost"), [value]):
                self.writer.not_sent(who, value, SAID[verb])
            case "offsets", [word] if word in SAID:
                self.writer.offsets_committed(who, SAID[word])
            case "offsets", [group, offsets, *made_of]:
                self.writer.commit_offsets(who, group, offsets_of(offsets), self.open.get(who), inputs_of(made_of))
            case _:
                self._say_more(who, verb, rest)

    def _say_more(self, who: str, verb: str, rest: list[str]) -> None:
        writer = self.writer
        match verb, rest:
            case "commit", []:
                writer.commit(who, self.open.pop(who, self.last[who]))
            case "abort", []:
                writer.abort(who, self.open.pop(who, self.last[who]))
            case "committed", []:
                writer.committed(who, self.last[who])
            case "aborted", []:
                writer.aborted(who, self.last[who])
            case "end", [word]:
                writer.not_ended(who, self.last[who], SAID[word])
            case "reads", [partition, offset]:
                writer.positioned(who, "read_committed", {partition: int(offset)})
            case "holds", [partition, offset]:
                writer.positioned(who, "read_committed_buffering", {partition: int(offset)})
            case "sees", [partition, offset]:
                writer.positioned(who, "read_uncommitted", {partition: int(offset)})
            case "got", [value, partition, offset]:
                writer.read(who, partition, int(offset), value)
            case "final", [partition, position, "of", end]:
                since = writer.now()
                writer.final_read(who, partition, position=int(position), end=int(end), since=since)
            case (("fetch" | "peek"), [group, offsets]):
                since = writer.now()
                writer.fetched(who, group, offsets_of(offsets), since=since, stable=verb == "fetch")
            case _:
                raise ValueError(f"{who} {verb} {rest}: no such line")


def offsets_of(text: str) -> dict[str, int]:
    return {partition: int(offset) for partition, offset in (part.split("=") for part in text.split(","))}


def inputs_of(words: list[str]) -> list[Input]:
    """`of g/in@4,g/in@5`"""
    if not words:
        return []
    found = re.findall(r"(\w+)/(\w+)@(\d+)", words[1])
    return [Input(group, partition, int(offset)) for group, partition, offset in found]


def tell(text: str) -> History:
    """The history that lines (or parts between semicolons) say."""
    play = Play()
    for line in re.split(r"[;\n]", text):
        if line.strip():
            play.say(line)
    return play.writer.history()
