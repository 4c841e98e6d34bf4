"""A cluster so simple that it is right: one step after the other, everything at once. It writes histories to judge.

Producers transform records of `in` to `out-0` and `out-1`, with offsets of a group; what is committed is in the logs
for readers, what is aborted is there for read_uncommitted only. Which faults an application meets is drawn.
"""

import random
from dataclasses import dataclass, field

from zombieproof.traces.history.events import Event, Input
from zombieproof.traces.history.history_file import History
from zombieproof.traces.history.writer import HistoryWriter

OUTPUTS = ("out-0", "out-1")
MARKER = ""


@dataclass
class Simulation:
    """A run of so many transactions; `seed` says which."""

    seed: int
    transactions: int
    chance: random.Random = field(init=False)
    writer: HistoryWriter = field(default_factory=HistoryWriter)
    logs: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """By partition what lies at each offset: a value and its transaction; a marker has no value."""
    committed: set[str] = field(default_factory=set)
    offset: int = 0
    """The committed one of the group."""

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.logs = {"in": [], **{name: [] for name in OUTPUTS}}

    def run(self) -> History:
        """Everything, with the last looks of all readers."""
        writer = self.writer
        for number in range(2 * self.transactions):
            writer.send("source", "in", f"i{number}")
            writer.acknowledged("source", f"i{number}", len(self.logs["in"]))
            self.logs["in"].append((f"i{number}", "i"))
        self.committed.add("i")
        instance = 0
        for number in range(self.transactions):
            if number == 0 or self.chance.random() < 0.2:
                instance += 1
                self._start(f"P{instance}")
            self._transaction(f"P{instance}", f"T{number}")
            if self.chance.random() < 0.3:
                self._read(f"R{number}", is_last=False)
        self._fetch("F")
        for reader in ("last", "last again"):
            self._read(reader, is_last=True)
        return writer.history()

    def _start(self, process: str) -> None:
        self.writer.init(process, "x")
        self.writer.initialized(process, "ok")
        self._fetch(process)

    def _fetch(self, process: str) -> None:
        since = self.writer.now()
        self.writer.fetched(process, "g", {"in": self.offset or -1}, since=since)

    def _transaction(self, process: str, label: str) -> None:
        writer, taken = self.writer, self.chance.randint(1, 2)
        # A record of a transaction of unknown outcome may be there: then nobody deals with its input again.
        first = self.offset
        writer.begin(process, label)
        for offset in range(first, first + taken):
            partition = self.chance.choice(OUTPUTS)
            value = f"{label}.{offset}"
            writer.send(process, partition, value, label, [Input("g", "in", offset)])
            self.logs[partition].append((value, label))
            writer.acknowledged(process, value, len(self.logs[partition]) - 1)
        writer.commit_offsets(process, "g", {"in": first + taken}, label)
        writer.offsets_committed(process, "ok")
        outcome = self.chance.choice(["committed", "committed", "committed", "aborted", "lost", "lost abort"])
        if outcome == "aborted":
            writer.abort(process, label)
            writer.aborted(process, label)
        else:
            writer.commit(process, label)
            if outcome == "committed":
                writer.committed(process, label)
            elif self.chance.random() < 0.5:
                writer.not_ended(process, label, "unknown")
        if outcome in ("committed", "lost"):
            self.committed.add(label)
            self.offset = first + taken
        for partition in OUTPUTS:
            self.logs[partition].append((MARKER, label))

    def _read(self, name: str, *, is_last: bool) -> None:
        for isolation in ("read_committed", "read_uncommitted"):
            reader = f"{name} {isolation}"
            for partition, log in self.logs.items():
                start = 0 if is_last else self.chance.randint(0, len(log))
                self.writer.positioned(reader, isolation, {partition: start})
                for offset in range(start, len(log)):
                    value, label = log[offset]
                    if value != MARKER and (isolation == "read_uncommitted" or label in self.committed):
                        self.writer.read(reader, partition, offset, value)
                if is_last:
                    since = self.writer.now()
                    self.writer.final_read(reader, partition, position=len(log), end=len(log), since=since)


def simulated(seed: int, transactions: int) -> list[Event]:
    """The events of a run without fault."""
    return list(Simulation(seed, transactions).run().events)
