"""Shipped samples of evidence, and what happens to a file on its way: cut, lost, doubled, mixed, encoded, packed."""

import gzip
import io
import random
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tests.traces.dumps import RELEASES, text_of
from zombieproof.traces.readers.broker_statements import STATEMENTS
from zombieproof.traces.readers.clients import franz_go, java, kafkajs, librdkafka, sarama
from zombieproof.traces.readers.clients.statement import Table

OURS = Path(__file__).parents[1] / "recordings"
SHARED = Path(__file__).parents[3] / "shared" / "traces"
TOOLS = Path(__file__).parent / "tool_output"
TEXTS = ("*/dump/*.txt", "*/server*.log", "*/client*.log", "*/client.jsonl")
BINARIES = ("*/segments/**/*.log", "*/segments/**/*.snapshot", "*/segments/**/*.txnindex")
LARGEST = 60_000

CLIENTS: dict[str, tuple[Table, ...]] = {
    "java": (java.PRODUCER_TABLE, java.CONSUMER_TABLE, java.STREAMS_TABLE, java.CONNECT_TABLE),
    "librdkafka": (librdkafka.TABLE,),
    "franz-go": (franz_go.TABLE,),
    "sarama": (sarama.TABLE,),
    "kafkajs": (kafkajs.TABLE,),
}
FOREIGN = (
    "",
    "    at java.base/java.lang.Thread.run(Thread.java:840)",
    "I cut the rest, it is more of the same",
    "[2026-11-30 17:16:22,501] INFO [SocketServer listenerType=BROKER, nodeId=1] Started (kafka.network.SocketServer)",
    "Nov 30 17:16:22 host-1 systemd[1]: Started Session 12 of user kafka.",
    '{"level":"info","msg":"request served","status":200}',
    "offset: where is it?",
    "baseOffset: ",
    "$ kubectl get pods",
    "\x00\x01\x02",
    "ProducerId  ProducerEpoch  nothing",
    "orders-1::TransactionMetadata(",
    "-----BEGIN CERTIFICATE-----",
)


@dataclass(frozen=True)
class Sample:
    """A file of evidence: its name with the folder that names its partition, and its content.

    `body` names the recording that it is from, `beside` tells that other files of it are evidence of the same cluster.
    """

    name: str
    data: bytes
    body: str
    is_text: bool = True
    beside: bool = True

    @property
    def key(self) -> str:
        """A name that no other sample has."""
        return f"{self.body}/{self.name}"


def _files(root: Path, kinds: Sequence[str], *, is_text: bool) -> Iterator[Sample]:
    for path in sorted(path for kind in kinds for path in root.glob(kind)):
        if path.is_file() and path.stat().st_size < LARGEST:
            body, _, *folders = path.relative_to(root).parts
            yield Sample(path.name if is_text else "/".join(folders), path.read_bytes(), body, is_text)


@cache
def samples() -> tuple[Sample, ...]:
    """Every shipped sample that is small."""
    found = [*_files(OURS, TEXTS, is_text=True), *_files(OURS, BINARIES, is_text=False)]
    if SHARED.is_dir():
        found += [*_files(SHARED, TEXTS, is_text=True), *_files(SHARED, BINARIES, is_text=False)]
    found += [replace(each, beside=False) for each in _files(TOOLS, ("*/*.txt",), is_text=True)]
    found += [Sample("orders-0.txt", text_of(release).encode(), f"dump of {release}") for release in RELEASES]
    printed = "\n".join(row.printed for row in STATEMENTS if row.printed)
    found.append(Sample("server.log", f"{printed}\n".encode(), "statements of brokers"))
    for library, tables in CLIENTS.items():
        lines = "\n".join(each.line for table in tables for each in table.statements if each.line)
        found.append(Sample("client.log", f"{lines}\n".encode(), f"statements of {library}"))
    return tuple({each.key: each for each in found if each.data}.values())


# ---------------------------------------------------------------- mutations

Mutate = Callable[[random.Random, Sample], tuple[bytes, list[Sample]]]
"""What becomes of a file, and the samples that were mixed into it."""


def _by_line(change: Callable[[random.Random, list[bytes]], None]) -> Mutate:
    def mutate(choose: random.Random, sample: Sample) -> tuple[bytes, list[Sample]]:
        lines = sample.data.split(b"\n")
        for _ in range(choose.choice((1, 1, 1, 2, 5))):
            if lines:
                change(choose, lines)
        return b"\n".join(lines), []

    return mutate


def _by_bytes(change: Callable[[random.Random, bytes], bytes]) -> Mutate:
    return lambda choose, sample: (change(choose, sample.data), [])


def _cut(choose: random.Random, sample: Sample) -> tuple[bytes, list[Sample]]:
    """A part of a file. Bytes lose their end only: a segment without its beginning is one that a broker damaged."""
    data = sample.data
    at_start, at_end = choose.choice(((0, 1), (0, 1), (1, 0), (1, 1))) if sample.is_text else (0, 1)
    first = choose.randrange(len(data)) if at_start else 0
    return data[first : choose.randrange(first, len(data)) if at_end else len(data)], []


def _cut_line(choose: random.Random, lines: list[bytes]) -> None:
    at = choose.randrange(len(lines))
    lines[at] = lines[at][: choose.randrange(1, len(lines[at]) + 1)] if lines[at] else b""


def _delete(choose: random.Random, lines: list[bytes]) -> None:
    at = choose.randrange(len(lines))
    del lines[at : at + choose.choice((1, 1, 1, 2, 10))]


def _double(choose: random.Random, lines: list[bytes]) -> None:
    at = choose.randrange(len(lines))
    lines.insert(choose.choice((at, choose.randrange(len(lines) + 1))), lines[at])


def _swap(choose: random.Random, lines: list[bytes]) -> None:
    one, other = choose.randrange(len(lines)), choose.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]


def _join(choose: random.Random, lines: list[bytes]) -> None:
    at = choose.randrange(len(lines))
    lines[at : at + 2] = [choose.choice((b"", b" ")).join(lines[at : at + 2])]


def _wrap(choose: random.Random, lines: list[bytes]) -> None:
    at = choose.randrange(len(lines))
    middle = choose.randrange(len(lines[at]) + 1)
    lines[at : at + 1] = [lines[at][:middle], lines[at][middle:]]


def _foreign(choose: random.Random, lines: list[bytes]) -> None:
    lines.insert(choose.randrange(len(lines) + 1), choose.choice(FOREIGN).encode())


def _flip(choose: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(choose.choice((1, 1, 3, 20))):
        at = choose.randrange(len(changed))
        changed[at] = choose.choice((changed[at] ^ 1 << choose.randrange(8), choose.randrange(256)))
    return bytes(changed)


def _digits(choose: random.Random, data: bytes) -> bytes:
    places = [found.start() for found in re.finditer(rb"\d", data)]
    changed = bytearray(data)
    for at in choose.sample(places, min(len(places), choose.choice((1, 1, 3, 20)))):
        changed[at] = choose.choice(b"0123456789-x")
    return bytes(changed)


def _encoded(choose: random.Random, data: bytes) -> bytes:
    text = data.decode(errors="replace")
    encoding = choose.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32", "cp1252", "cp037", "utf-7"))
    encoded = text.encode(encoding, errors="replace")
    return encoded[choose.choice((0, 0, 1)) :]


def _packed(choose: random.Random, data: bytes) -> bytes:
    inner = choose.choice((data, gzip.compress(data, 1)))
    held = io.BytesIO()
    kind = choose.choice(("gz", "zip", "tar", "tgz"))
    if kind == "gz":
        held.write(gzip.compress(inner, 1))
    elif kind == "zip":
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("logs/orders-0.txt", inner)
    else:
        with tarfile.open(fileobj=held, mode="w:gz" if kind == "tgz" else "w") as tar:
            info = tarfile.TarInfo("logs/orders-0.txt")
            info.size = len(inner)
            tar.addfile(info, io.BytesIO(inner))
    packed = held.getvalue()
    return packed[: choose.choice((len(packed), choose.randrange(len(packed))))]


def _mixed(choose: random.Random, sample: Sample) -> tuple[bytes, list[Sample]]:
    """Two files of one recording in one, in runs of lines, as a terminal shows what two programs print."""
    others = [other for other in samples() if other.is_text and other.body == sample.body and other is not sample]
    other = choose.choice(others or [sample])
    return _interleaved(choose, sample.data, other.data), [other]


def _mixed_with_any(choose: random.Random, sample: Sample) -> tuple[bytes, list[Sample]]:
    other = choose.choice(samples())
    return _interleaved(choose, sample.data, other.data), [other]


def _interleaved(choose: random.Random, *contents: bytes) -> bytes:
    left = [data.split(b"\n") for data in contents]
    most = choose.choice((1, 3, 30))
    out: list[bytes] = []
    while left := [lines for lines in left if lines]:
        lines = choose.choice(left)
        count = choose.randrange(1, most + 1)
        out += lines[:count]
        del lines[:count]
    return b"\n".join(out)


HARMLESS: dict[str, Mutate] = {
    "cut": _cut,
    "cut lines": _by_line(_cut_line),
    "deleted lines": _by_line(_delete),
    "joined lines": _by_line(_join),
    "wrapped lines": _by_line(_wrap),
    "foreign lines": _by_line(_foreign),
    "wrong encoding": _by_bytes(_encoded),
    "cut archives": _by_bytes(_packed),
    "mixed with another of the recording": _mixed,
}
"""Mutations after which a history may be unknown, and never another one."""

CHANGING: dict[str, Mutate] = {
    "doubled lines": _by_line(_double),
    "swapped lines": _by_line(_swap),
    "changed digits": _by_bytes(_digits),
    "flipped characters": _by_bytes(_flip),
    "mixed with any other": _mixed_with_any,
}
"""Mutations after which the file states another history, which may be one that no cluster can have had."""

OF_BYTES = ("cut", "cut archives", "flipped characters", "mixed with any other")
"""Mutations that binary files meet."""


@cache
def others_of(body: str, *, is_text: bool) -> tuple[Sample, ...]:
    """The samples of a recording: its texts (each once, without the shorter dumps), or its files of segments."""
    return tuple(
        each
        for each in samples()
        if each.body == body and each.beside and each.is_text == is_text and ".batches." not in each.name
    )


def candidates(kind: str) -> list[Sample]:
    """The samples that meet a mutation."""
    return [sample for sample in samples() if sample.is_text or kind in OF_BYTES]
