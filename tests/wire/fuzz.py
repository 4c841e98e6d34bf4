"""``python -m tests.wire.fuzz``: bytes that somebody might send, made of bytes that were sent.

Every frame of recorded sequences is one to begin with. It is changed where that hurts: numbers become extreme ones,
lengths and counts lie, parts of two frames are put together, versions and APIs are exchanged, bits flip, ends are cut.
Whatever comes of it, a broker answers, answers an error, or ends the connection; it does so soon, and keeps nothing.
"""

import argparse
import gc
import random
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path

import psutil
from rich.progress import track

from tests.store.crashing import Reached
from tests.wire.fronts import Fronted, fronted
from zombieproof.broker.cluster.network import Answer
from zombieproof.conformance.over_wire import OverWire
from zombieproof.conformance.recording import read
from zombieproof.conformance.runner import play
from zombieproof.wire import asking
from zombieproof.wire.apis import WIRE_APIS
from zombieproof.wire.faults import Malformed
from zombieproof.wire.frames import SIZE

RECORDINGS = [Path(__file__).parent.parent / "answers" / f"{name}.jsonl.gz" for name in ("sample", "neighbours")]
EXTREMES = (0, 1, -1, -2, 127, -128, 255, 1 << 15, (1 << 15) - 1, (1 << 31) - 1, -(1 << 31), (1 << 63) - 1, -(1 << 63))
WIDTHS = (">b", ">h", ">i", ">q")
KEYS = tuple(int(key) for key in WIRE_APIS)
LONGEST_S, MOST_GROWN_BYTES = 1.0, 64 << 20
FRAMES_OF_A_BROKER = 2_000
"""So many are asked of one broker, which then has every right to have grown; the next begins with nothing."""


@dataclass(slots=True)
class Fuzzed:
    """What came of the frames: how many were answered or ended their connection, and what must not be."""

    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest_s: float = 0.0
    slowest: str = ""
    grown_bytes: int = 0

    @property
    def wrong(self) -> list[str]:
        """What must not be."""
        slow, grown = self.slowest_s > LONGEST_S, self.grown_bytes > MOST_GROWN_BYTES
        return [
            *self.faults,
            *([f"{self.slowest} took {self.slowest_s:.2f} s"] if slow else []),
            *([f"grown by {self.grown_bytes:,} bytes"] if grown else []),
        ]


def traffic(nth: int = 1) -> list[bytes]:
    """The frames of every `nth` recorded sequence that names no users, without their sizes; each once."""
    found: dict[bytes, None] = {}
    written = asking.request_frame

    def kept(*about: object) -> bytes:
        frame: bytes = written(*about)  # type: ignore[arg-type]  # what is asked with
        found[frame[SIZE.size :]] = None
        return frame

    asking.request_frame = kept  # type: ignore[assignment]  # for as long as sequences are played
    try:
        for path in RECORDINGS:
            anonymous = (each for each in read(path) if each.sequence.security is None)
            for recorded in islice(anonymous, 0, None, nth):
                play(recorded, OverWire)
    finally:
        asking.request_frame = written
    return list(found)


# ---------------------------------------------------------------- changes


def changed(frames: Sequence[bytes], draw: random.Random) -> bytes:
    """A frame that nobody sent, as a rule."""
    frame = bytearray(draw.choice(frames))
    for _ in range(draw.choice((0, 1, 1, 1, 2, 3, 8))):
        draw.choice(CHANGES)(frame, frames, draw)
    return bytes(frame)


def _flip(frame: bytearray, frames: Sequence[bytes], draw: random.Random) -> None:
    if frame:
        frame[draw.randrange(len(frame))] ^= 1 << draw.randrange(8)


def _overwrite(frame: bytearray, frames: Sequence[bytes], draw: random.Random) -> None:
    form = draw.choice(WIDTHS)
    size = struct.calcsize(form)
    if len(frame) > size:
        at, bits = draw.randrange(len(frame) - size), 8 * size
        number = draw.choice(EXTREMES) & ((1 << bits) - 1)
        frame[at : at + size] = number.to_bytes(size, "big")


def _varint(frame: bytearray, frames: Sequence[bytes], draw: random.Random) -> None:
    if frame:
        at = draw.randrange(len(frame))
        frame[at : at + 1] = draw.choice((b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x10", b"\x00", b"\x01", b"\x7f"))


def _cut(frame: bytearray, frames: Sequence[bytes], draw: random.Random) -> None:
    del frame[draw.randrange(len(frame) + 1) :]


def _append(frame: bytearray, frames: Sequence[bytes], draw: random.Random) -> None:
    frame += draw.randbytes(draw.choice((1, 4, 100)))


def _remove(frame: bytearray, frames: Sequence[bytes], draw: random.Random) -> None:
    at = draw.randrange(len(frame) + 1)
    del frame[at : at + draw.choice((1, 2, 4, 8))]


def _splice(frame: bytearray, frames: Sequence[bytes], draw: random.Random) -> None:
    other = draw.choice(frames)
    frame[draw.randrange(len(frame) + 1) :] = other[draw.randrange(len(other) + 1) :]


def _api(frame: bytearray, frames: Sequence[bytes], draw: random.Random) -> None:
    frame[:2] = struct.pack(">h", draw.choice((*KEYS, 18, draw.randrange(-5, 100))))


def _version(frame: bytearray, frames: Sequence[bytes], draw: random.Random) -> None:
    frame[2:4] = struct.pack(">h", draw.choice((*range(-1, 20), 32767)))


CHANGES = (_flip, _overwrite, _overwrite, _varint, _cut, _append, _remove, _splice, _api, _version, _version)


# ---------------------------------------------------------------- what comes of it


def asked(here: Fronted, frame: bytes) -> str:
    """What comes of a frame: closed, silent, answered or refused."""
    try:
        request = here.front.ask(frame)
    except Malformed:
        return "closed"
    answers: list[Answer] = []
    for message in request.messages:
        exchange = here.cluster.send(message, here.front.node)
        here.cluster.settle()
        here.cluster.network.exchanges.pop(exchange.number, None)
        if exchange.is_closed:
            return "closed"
        if exchange.answer is None:
            here.cluster.disconnect(exchange)
            return "silent"
        answers.append(exchange.answer)
    return "answered" if here.front.answered(request, tuple(answers)) else "empty"


def fuzz(frames: Sequence[bytes], count: int, seed: int, watch: Iterator[object] | None = None) -> Fuzzed:
    """Ask `count` frames, of which every one is made by `seed`."""
    draw, found, process = random.Random(seed), Fuzzed(), psutil.Process()
    here, before = fronted(), 0
    for number in range(count):
        if number % FRAMES_OF_A_BROKER == 0:
            here = fronted()
            gc.collect()
            grown = process.memory_info().rss
            before = before or grown
            found.grown_bytes = max(found.grown_bytes, grown - before)
        frame = changed(frames, draw)
        since = time.perf_counter()
        try:
            found.outcomes[asked(here, frame)] += 1
        except Exception as error:  # noqa: BLE001  # whatever it is, it must not be
            found.outcomes["fault"] += 1
            found.faults.append(f"seed {seed}, frame {number}, {frame.hex()}: {type(error).__name__}: {error}")
            here = fronted()
        seconds = time.perf_counter() - since
        if seconds > found.slowest_s:
            found.slowest_s, found.slowest = seconds, f"seed {seed}, frame {number}, {frame.hex()}"
        if watch is not None:
            next(watch, None)
    return found


_traffic = cache(traffic)


def part(count: int, seed: int) -> Reached:
    """So many frames, as a part of the gate."""
    found = fuzz(_traffic(), count, seed)
    return Reached(Counter({"frames": count, **found.outcomes}), found.wrong)


def main() -> int:
    """Ask as many frames as wanted, and tell."""
    parser = argparse.ArgumentParser(prog="python -m tests.wire.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("--frames", type=int, default=1_000_000, help="how many (1,000,000)")
    parser.add_argument("--seed", type=int, default=1, help="what they are drawn by (1)")
    given = parser.parse_args()
    frames = traffic()
    bar = iter(track(range(given.frames), "frames", disable=not sys.stderr.isatty()))
    found = fuzz(frames, given.frames, given.seed, bar)
    told = [
        f"{given.frames:,} frames made of {len(frames):,}, seed {given.seed}: {dict(found.outcomes)}",
        f"slowest {found.slowest_s * 1000:.0f} ms, grown by {found.grown_bytes / (1 << 20):.1f} MiB",
        *found.wrong[:10],
    ]
    sys.stdout.write("\n".join(told) + "\n")
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
