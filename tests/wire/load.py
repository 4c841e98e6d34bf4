"""``python -m tests.wire.load``: many clients at once at brokers that somebody serves, for as long as wanted.

Transactional producers write transactions and end them; readers of both isolations read what they write and hold it
against what was decided; others ask what clients ask while they wait, and some of them behave badly: they hang up in
the middle, send what is no request, or do not read what they asked for. None but these may see an error, and the
memory of the broker stays what it is. What a producer is told to try again later is no error.

Exit codes: 0 nothing was wrong, 1 something was, 2 wrong usage, 130 interrupted.
"""

import argparse
import asyncio
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.wire.raw import request_bytes
from zombieproof.broker.cluster.journal import Journal
from zombieproof.clients.read_committed import FetchFilter
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import FindCoordinator
from zombieproof.messages.partitions import Fetch, FetchAnswer, ListOffsets, Produce, ProduceAnswer, SentBatch
from zombieproof.messages.transactions import EndTxn, EndTxnAnswer, InitProducerId, InitProducerIdAnswer
from zombieproof.model.releases import RELEASES
from zombieproof.model.rules import preset_for
from zombieproof.model.vocabulary import ApiKey, Error, Isolation
from zombieproof.wire.asking import answer_in, request_frame
from zombieproof.wire.frames import SIZE
from zombieproof.wire.names import TopicNames

TOPIC = "load"
PATIENCE_S = 30.0
"""Nobody waits longer for an answer."""
AGAIN = frozenset({Error.CONCURRENT_TRANSACTIONS, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.NOT_LEADER_OR_FOLLOWER})
AGAIN_S = 0.01
MOST_RECORDS, WORKS_S = 20, 0.02
"""A transaction has so many records at most, and its application works for so long at most before it decides."""
MOST_GROWN_BYTES = 32 << 20
"""So much more memory than in its second quarter a broker may have in the last; it is full of classes before."""
LISTENS = re.compile(r"listening on (\S+):(\d+)\n")


@dataclass(frozen=True, slots=True)
class Crowd:
    """How many of whom: readers are of both isolations, by turns."""

    producers: int = 20
    readers: int = 40
    askers: int = 130
    rascals: int = 10

    @property
    def connections(self) -> int:
        """All of them."""
        return self.producers + self.readers + self.askers + self.rascals


@dataclass(slots=True)
class Loaded:
    """What came of it."""

    counts: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    transaction_ms: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    @property
    def grown_bytes(self) -> int:
        """How much more memory there was in the last quarter than in the second; 0: nobody has looked often enough."""
        quarter = len(self.memory) // 4
        if not quarter:
            return 0
        return int(statistics.median(self.memory[-quarter:]) - statistics.median(self.memory[quarter : 2 * quarter]))

    @property
    def wrong(self) -> list[str]:
        """What must not be."""
        grown = self.grown_bytes
        return self.errors + ([f"the broker has grown by {grown:,} bytes"] if grown > MOST_GROWN_BYTES else [])

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {what}" for what, count in sorted(self.counts.items()))
        times = sorted(self.transaction_ms) or [0.0]
        median, late = (times[int(share * (len(times) - 1))] for share in (0.5, 0.99))
        most = max(self.memory, default=0) / (1 << 20)
        return (
            f"{counts}\n"
            f"transactions: median {median:.0f} ms, 99 of 100 within {late:.0f} ms, longest {times[-1]:.0f} ms\n"
            f"memory of the broker: at most {most:.0f} MiB, grown by {self.grown_bytes / (1 << 20):.1f} MiB from the "
            f"second quarter to the last"
        )


class Caller:
    """One connection, which is asked one thing after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer, self._number = reader, writer, 0

    async def ask(self, request: Any) -> Any:
        """The answer to a request."""
        self._number += 1
        self.writer.write(request_frame(request, self._number, "load", TopicNames()))
        return answer_in(await self._frame(), request, TopicNames())

    async def ask_raw(self, message: bytes) -> bytes:
        """The answer to a request that is given as bytes."""
        self.writer.write(SIZE.pack(len(message)) + message)
        return await self._frame()

    async def _frame(self) -> bytes:
        async with asyncio.timeout(PATIENCE_S):
            (size,) = SIZE.unpack(await self._reader.readexactly(SIZE.size))
            return await self._reader.readexactly(size)


class Failed(Exception):
    """A broker has answered an error, or what is not so."""


def check(error: int, what: str) -> None:
    """Refuse an error.

    Raises:
        Failed: it is one.
    """
    if error != Error.NONE:
        raise Failed(f"{what}: {Error(error).name}")


class Load:
    """Clients of one broker; `run` lets them work for so many seconds, and `loaded` says what came of it.

    Args:
        address: where the broker listens. Its topic `TOPIC` has a partition for each producer.
        crowd: how many clients of which kind.
        seed: of what they draw.
        memory: how many bytes the broker has now; None: nobody looks.
    """

    def __init__(
        self, address: tuple[str, int], crowd: Crowd, seed: int = 1, memory: Callable[[], int] | None = None
    ) -> None:
        self.address, self.crowd, self.seed = address, crowd, seed
        self.loaded, self._memory = Loaded(), memory
        self._is_over, self._is_written = asyncio.Event(), asyncio.Event()
        self._committed: list[dict[int, int]] = [{} for _ in range(crowd.producers)]

    async def run(self, seconds: float, tick: Callable[[Loaded], None] = lambda _: None) -> Loaded:
        """Work for so long; then readers read to the end."""
        crowd = self.crowd
        producers = [self._told(self._produce(number), f"producer {number}") for number in range(crowd.producers)]
        others = [self._told(self._read(number), f"reader {number}") for number in range(crowd.readers)]
        others += [self._told(self._wonder(number), f"asker {number}") for number in range(crowd.askers)]
        others += [self._told(self._misbehave(number), f"rascal {number}") for number in range(crowd.rascals)]
        writing = [asyncio.create_task(each) for each in producers]
        reading = [asyncio.create_task(each) for each in others]
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.loaded.errors:
            await asyncio.sleep(min(1.0, max(0.0, until - time.monotonic())))
            if self._memory is not None:
                self.loaded.memory.append(self._memory())
            tick(self.loaded)
        self._is_over.set()
        await asyncio.gather(*writing)
        self._is_written.set()
        await asyncio.gather(*reading)
        return self.loaded

    async def _told(self, work: Coroutine[Any, Any, None], who: str) -> None:
        """Do it, and keep what was wrong."""
        try:
            await work
        except (Failed, OSError, EOFError, ValueError, TimeoutError) as error:
            self.loaded.errors.append(f"{who}: {type(error).__name__}: {error}")
            self._is_over.set()

    @asynccontextmanager
    async def _call(self) -> AsyncIterator[Caller]:
        caller = Caller(*await asyncio.open_connection(*self.address))
        self.loaded.counts["connections"] += 1
        try:
            yield caller
        finally:
            caller.writer.close()

    async def _rest(self, seconds: float) -> None:
        """Wait, but not longer than everybody works."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_over.wait()

    # ---------------------------------------------------------------- who writes

    async def _produce(self, number: int) -> None:
        """Transactions one after the other, each with the number of what it is; most are committed."""
        async with self._call() as caller:
            await self._transactions(caller, number, random.Random(f"{self.seed} {number}"))

    async def _transactions(self, caller: Caller, number: int, draw: random.Random) -> None:
        transactional_id = f"load-{number}"
        init = await self._until_told(caller, InitProducerId(5, transactional_id, 60_000), transactional_id)
        producer_id, epoch, sequence, transaction = init.producer_id, init.producer_epoch, 0, 0
        while not self._is_over.is_set():
            count, commits, since = draw.randint(1, MOST_RECORDS), draw.random() < 0.8, time.monotonic()
            values = tuple(Record(None, b"%d %d %d" % (number, transaction, each)) for each in range(count))
            now_ms = int(time.time() * 1000)
            sent = Batch(producer_id, epoch, sequence, True, values, last_offset_delta=count - 1, timestamp_ms=now_ms)
            await self._produced(caller, transactional_id, (TOPIC, number), sent)
            await asyncio.sleep(draw.uniform(0.0, WORKS_S))
            if commits:
                self._committed[number][transaction] = count
            end = EndTxn(5, transactional_id, producer_id, epoch, committed=commits)
            ended: EndTxnAnswer = await self._until_told(caller, end, transactional_id)
            is_same = (ended.producer_id, ended.producer_epoch) == (producer_id, epoch)
            producer_id, epoch = ended.producer_id, ended.producer_epoch
            sequence, transaction = sequence + count if is_same else 0, transaction + 1
            self.loaded.counts["committed" if commits else "aborted"] += 1
            self.loaded.transaction_ms.append((time.monotonic() - since) * 1000)

    async def _until_told(self, caller: Caller, request: Any, who: str) -> Any:
        while True:
            answer: InitProducerIdAnswer | EndTxnAnswer = await caller.ask(request)
            if answer.error not in AGAIN:
                check(answer.error, f"{type(request).__name__} of {who}")
                return answer
            self.loaded.counts["asked again"] += 1
            await asyncio.sleep(AGAIN_S)

    async def _produced(self, caller: Caller, who: str, place: TopicPartition, sent: Batch) -> None:
        while True:
            answer: ProduceAnswer = await caller.ask(Produce(12, who, -1, {place: (SentBatch(sent),)}))
            error = answer.partitions[place].error
            if error not in AGAIN:
                check(error, f"Produce of {who}")
                return
            self.loaded.counts["asked again"] += 1
            await asyncio.sleep(AGAIN_S)

    # ---------------------------------------------------------------- who reads

    async def _read(self, number: int) -> None:
        """What is in one partition, from its beginning to its end."""
        writer, isolation = number % self.crowd.producers, tuple(Isolation)[number // self.crowd.producers % 2]
        async with self._call() as caller:
            found = await self._read_all(caller, writer, isolation)
        wanted = self._committed[writer]
        if isolation is Isolation.READ_COMMITTED and found != wanted:
            wrong = sorted(each for each in {*found, *wanted} if found.get(each) != wanted.get(each))
            raise Failed(f"{TOPIC}-{writer}: transactions {wrong[:5]} were not read as they were committed")
        self.loaded.counts["records read"] += sum(found.values())

    async def _read_all(self, caller: Caller, writer: int, isolation: Isolation) -> dict[int, int]:
        """How many records of each transaction are there."""
        place, found = (TOPIC, writer), dict[int, int]()
        at = FetchFilter(place, isolation, preset_for(RELEASES[-1], None), Journal())
        while True:
            is_last, before = self._is_written.is_set(), at.position
            asked = Fetch(12, isolation, {place: at.position}, max_wait_ms=200, max_bytes=1 << 20)
            answer: FetchAnswer = await caller.ask(asked)
            got = answer.partitions[place]
            check(got.error, f"Fetch of {place}")
            for delivered in at.read(got):
                assert isinstance(delivered.record.value, bytes)
                self._take(found, delivered.record.value, writer)
            if is_last and at.position == before and not got.batches:
                return found

    def _take(self, found: dict[int, int], value: bytes, writer: int) -> None:
        who, transaction, number = map(int, value.split())
        expected = found.get(transaction, 0)
        is_next = expected > 0 or not found or transaction > max(reversed(found))
        if who != writer or number != expected or not is_next:
            raise Failed(f"record {value!r} was read out of order, or twice")
        found[transaction] = number + 1

    # ---------------------------------------------------------------- who only asks

    async def _wonder(self, number: int) -> None:
        """What clients ask while they wait, on a connection that now and then is a new one."""
        draw = random.Random(f"{self.seed} asks {number}")
        while not self._is_over.is_set():
            async with self._call() as caller:
                for _ in range(draw.randint(1, 100)):
                    await self._question(caller, number, draw.randrange(4))
                    await self._rest(draw.uniform(0.2, 2.0))
                    if self._is_over.is_set():
                        break

    async def _question(self, caller: Caller, number: int, kind: int) -> None:
        place = (TOPIC, number % self.crowd.producers)
        if kind == 0:
            await caller.ask_raw(request_bytes(ApiKey.METADATA, 9, {"topics": [{"name": TOPIC}]}))
        elif kind == 1:
            await caller.ask_raw(request_bytes(ApiKey.API_VERSIONS, 0, {}))
        elif kind == 2:
            check((await caller.ask(FindCoordinator(3, f"load-{number}", 1))).error, "FindCoordinator")
        else:
            listed = await caller.ask(ListOffsets(7, Isolation.READ_COMMITTED, {place: -1}))
            check(listed.partitions[place].error, f"ListOffsets of {place}")
        self.loaded.counts["questions"] += 1

    async def _misbehave(self, number: int) -> None:
        """Everything that ends a connection; how, is not looked at."""
        draw = random.Random(f"{self.seed} rascal {number}")
        frame = request_frame(Fetch(12, Isolation.READ_UNCOMMITTED, {(TOPIC, 0): 0}), 1, "rascal", TopicNames())
        bad: Sequence[bytes] = (frame[:-3], draw.randbytes(40), b"\x7f\xff\xff\xff", frame * 20, frame + b"\0\0\0\1x")
        while not self._is_over.is_set():
            async with self._call() as caller:
                caller.writer.write(draw.choice(bad))
                await self._rest(draw.uniform(0.0, 1.0))
                caller.writer.transport.abort()
            self.loaded.counts["bad connections"] += 1


# ---------------------------------------------------------------- the command


def main() -> int:
    """Serve, and load what is served."""
    parser = argparse.ArgumentParser(prog="python -m tests.wire.load", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (10)")
    parser.add_argument("--seed", type=int, default=1, help="what clients draw by (1)")
    parser.add_argument("--serve", nargs=argparse.REMAINDER, default=[], help="more arguments of `zombieproof serve`")
    given, crowd = parser.parse_args(), Crowd()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", "import sys; from zombieproof.cli import main; sys.exit(main())", "serve"]
        command += ["--port", "0", "--data", str(Path(folder) / "data"), "--topic", f"{TOPIC}={crowd.producers}"]
        with subprocess.Popen([*command, *given.serve], stdout=subprocess.PIPE, text=True) as process:
            try:
                return _loaded(process, crowd, given)
            except KeyboardInterrupt:
                return 130
            finally:
                process.terminate()


def _loaded(process: subprocess.Popen[str], crowd: Crowd, given: argparse.Namespace) -> int:
    assert process.stdout is not None
    found = LISTENS.fullmatch(process.stdout.readline())
    if found is None:
        return 2
    memory = psutil.Process(process.pid).memory_info
    load = Load((found[1], int(found[2])), crowd, given.seed, lambda: int(memory().rss))
    loaded = asyncio.run(load.run(given.minutes * 60, _progress))
    process.terminate()
    code = process.wait(PATIENCE_S)
    wrong = loaded.wrong + ([f"the broker has ended with {code}"] if code else [])
    rate = (loaded.counts["committed"] + loaded.counts["aborted"]) / (given.minutes * 60)
    head = f"{crowd.connections} connections, {crowd.producers} producers, {given.minutes:g} minutes"
    sys.stdout.write("\n".join([f"{head}: {rate:.0f} transactions/s", str(loaded), *wrong[:10]]) + "\n")
    sys.stdout.write("something is wrong\n" if wrong else "no error, memory is flat\n")
    return 1 if wrong else 0


def _progress(loaded: Loaded) -> None:
    if sys.stderr.isatty():
        done = loaded.counts["committed"] + loaded.counts["aborted"]
        sys.stderr.write(f"\r{done:,} transactions, {loaded.counts['questions']:,} questions ")
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
