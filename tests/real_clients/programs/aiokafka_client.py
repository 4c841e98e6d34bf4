"""The steps with aiokafka."""

import asyncio
import sys
import threading
import time
from typing import Any

import aiokafka
from aiokafka.errors import KafkaError, ProducerFenced
from aiokafka.structs import TopicPartition

from tests.real_clients.programs.steps import copy_of, serve, tell

PATIENCE_S = 30.0


class Steps:
    """Producers and consumers by the names that they are given; all live in one loop, which goes on between steps."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap, self.running = bootstrap, asyncio.new_event_loop()
        threading.Thread(target=self.running.run_forever, daemon=True).start()
        self.producers: dict[str, Any] = {}
        self.readers: dict[str, Any] = {}
        self.topics: dict[str, tuple[str, str, str]] = {}

    def __getattr__(self, step: str) -> Any:
        """Each step is a coroutine, and done when it is."""
        does = getattr(type(self), f"_{step}")
        return lambda **words: asyncio.run_coroutine_threadsafe(does(self, **words), self.running).result()

    async def _version(self) -> str:
        return str(aiokafka.__version__)

    # ---------------------------------------------------------------- transactions

    async def _producer(self, name: str, id: str, timeout_ms: int = 60_000) -> None:  # noqa: A002  # Kafka's noun
        self.producers[name] = made = aiokafka.AIOKafkaProducer(
            bootstrap_servers=self.bootstrap, transactional_id=id, transaction_timeout_ms=timeout_ms
        )
        await made.start()

    async def _begin(self, name: str) -> None:
        await self.producers[name].begin_transaction()

    async def _send(self, name: str, topic: str, partition: int, value: str) -> None:
        await self.producers[name].send_and_wait(topic, value.encode(), partition=partition)

    async def _commit(self, name: str) -> None:
        await self.producers[name].commit_transaction()

    async def _abort(self, name: str) -> None:
        await self.producers[name].abort_transaction()

    # ---------------------------------------------------------------- reading

    async def _reader(self, name: str, group: str, topic: str, isolation: str) -> None:
        self.readers[name] = made = aiokafka.AIOKafkaConsumer(
            topic,
            bootstrap_servers=self.bootstrap,
            group_id=group,
            isolation_level=isolation,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=2_000,
            heartbeat_interval_ms=500,
        )
        await made.start()

    async def _read(self, name: str, count: int, within_ms: int) -> list[str]:
        return [each.value.decode() for each in await self._messages(name, count, within_ms / 1000)]

    async def _messages(self, name: str, count: int, within_s: float) -> list[Any]:
        """The next messages, as many as come in time."""
        found: list[Any] = []
        until = time.monotonic() + within_s
        while len(found) < count and (left := until - time.monotonic()) > 0:
            told = await self.readers[name].getmany(timeout_ms=int(left * 1000), max_records=count - len(found))
            found += [each for messages in told.values() for each in messages]
        return found

    async def _committed(self, group: str, topic: str, partition: int) -> int | None:
        asking = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap, group_id=group, enable_auto_commit=False, isolation_level="read_committed"
        )
        await asking.start()
        try:
            asking.assign([TopicPartition(topic, partition)])
            return await asking.committed(TopicPartition(topic, partition))  # type: ignore[no-any-return]
        finally:
            await asking.stop()

    # ---------------------------------------------------------------- copying

    async def _copier(self, name: str, id: str, group: str, source: str, target: str) -> None:  # noqa: A002
        self.topics[name] = (source, target, group)
        await self._producer(name, id)
        await self._reader(name, group, source, "read_committed")

    async def _copy(self, name: str, count: int, ends: str) -> None:
        found = await self._messages(name, count, PATIENCE_S)
        if len(found) < count:
            raise TimeoutError(f"{count - len(found)} of {count} records did not come")
        await self._copies(name, found)
        if ends == "commit":
            await self._commit(name)
        else:
            await self._abort(name)
            await self._rewind(name)

    async def _copies(self, name: str, found: list[Any]) -> None:
        made, (_, target, group) = self.producers[name], self.topics[name]
        await made.begin_transaction()
        for each in found:
            await made.send(target, copy_of(each.value.decode()).encode(), partition=each.partition)
        offsets = {TopicPartition(each.topic, each.partition): each.offset + 1 for each in found}
        await made.send_offsets_to_transaction(offsets, group)

    async def _rewind(self, name: str) -> None:
        """Read again from what is committed; `seek_to_committed` leaves a partition that has no offset where it is."""
        reader = self.readers[name]
        for each in reader.assignment():
            reader.seek(each, await reader.committed(each) or 0)

    async def _loop(self, name: str) -> None:
        """As its documentation has it: a transaction that can be aborted is, what is fatal ends the program."""
        while True:
            found = await self._messages(name, 1, 1.0)
            if found:
                found += await self._messages(name, 4, 0.02)
                try:
                    await self._copies(name, found)
                    await self._commit(name)
                except ProducerFenced:
                    raise
                except KafkaError:
                    await self._abort(name)
                    await self._rewind(name)
                else:
                    tell(copied=len(found))


def name_of(error: Exception) -> str:
    return type(error).__name__


if __name__ == "__main__":
    serve(Steps(sys.argv[1]), name_of)
