"""The stage on which a scene is played: names that are its own, answers in a form in which two brokers can be compared.

What differs from run to run has a name: members in the order in which they were told, ids of topics, addresses.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from json import dumps
from typing import Any
from uuid import UUID

from tests.wire.sides import Later, Side
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.encoding import write_batch
from zombieproof.model.vocabulary import NONE, ApiKey

TIME_MS = 1_700_000_000_000
"""When records are from, unless a scene says otherwise."""
ADDRESSES = frozenset({"host", "port"})
MEMBERS = frozenset({"member_id", "leader"})
STRANGERS = frozenset({"", "nobody", "stranger", "other", "unknown", "mine"})
"""Members whose ids a scene has made up."""
DIFFERS = frozenset({"throttle_time", "cluster_id"})
"""What nobody compares."""

Play = Callable[["Stage", int], None]


@dataclass(frozen=True)
class Scene:
    """Requests of one API, for each of its versions from `since` to `until` that a broker understands.

    `differs`: by release, what a broker of ours answers otherwise, and why.
    """

    name: str
    api: ApiKey
    play: Play
    since: int = 0
    until: int = 1 << 15
    differs: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Stage:
    """One side, and what it has answered so far (`answers`: API, version, answer)."""

    side: Side
    prefix: str
    answers: list[list[Any]] = field(default_factory=list)
    members: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    def name(self, short: str) -> str:
        """What `short` is called in this scene alone."""
        return f"{self.prefix}{short}"

    def topic(self, short: str, partitions: int = 1) -> str:
        """Make a topic."""
        name = self.name(short)
        self.side.create(name, partitions)
        (row,) = self.quietly(ApiKey.METADATA, 12, topics=[{"name": name}])["topics"]
        self.ids[row["topic_id"]] = short
        return name

    def id_of(self, short: str) -> UUID:
        """The id of a topic."""
        return next(UUID(topic_id) for topic_id, name in self.ids.items() if name == short)

    def ask(self, api: ApiKey, version: int, **values: Any) -> Any:
        """Ask, and keep the answer."""
        return self.heard(api, version, self.side.begin(api, version, values))

    def begin(self, api: ApiKey, version: int, **values: Any) -> Later:
        """Ask; the answer may come later (`heard`)."""
        return self.side.begin(api, version, values)

    def heard(self, api: ApiKey, version: int, later: Later) -> Any:
        """The answer to what was begun, which is kept."""
        answer = later.answer()
        self.keep(api, version, answer)
        return answer

    def silent(self, api: ApiKey, version: int, later: Later) -> None:
        """There is no answer yet."""
        self.answers.append([api.name, version, "silence" if later.is_silent() else "an answer"])

    def keep(self, api: ApiKey, version: int, answer: Any) -> None:
        """Keep an answer, or a part of one."""
        self.answers.append([api.name, version, self._shown("", answer)])

    def quietly(self, api: ApiKey, version: int, **values: Any) -> Any:
        """Ask; nobody compares the answer."""
        return self.side.begin(api, version, values).answer()

    # ---------------------------------------------------------------- records

    def produce(
        self, topic: str, partition: int, *times_ms: int, transactional_id: str | None = None, **batch: Any
    ) -> None:
        """Write a batch with a record for each time."""
        data = batch_bytes(times_ms or (TIME_MS,), **batch)
        rows = [{"name": topic, "partition_data": [{"index": partition, "records": data}]}]
        told = self.quietly(
            ApiKey.PRODUCE, 9, transactional_id=transactional_id, acks=-1, timeout=5_000, topic_data=rows
        )
        assert told["responses"][0]["partition_responses"][0]["error_code"] == 0, told

    # ---------------------------------------------------------------- what is kept

    def _shown(self, key: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: self._shown(name, each) for name, each in value.items() if name not in DIFFERS}
        if isinstance(value, list):
            shown = [self._shown(key, each) for each in value]
            of_rows = any(isinstance(each, dict) for each in shown)
            return sorted(shown, key=lambda each: dumps(each, sort_keys=True)) if of_rows else shown
        if isinstance(value, bytes | memoryview):
            return whole_batches(bytes(value)) if key == "records" else bytes(value).hex()
        if key == "producer_id" and value >= 0:
            return "a producer"
        if key in ADDRESSES:
            return key if value not in ("", NONE) else value
        if isinstance(value, str):
            return self._named(key, value)
        return value

    def _named(self, key: str, value: str) -> str:
        if value in self.ids:
            return f"id of {self.ids[value]}"
        if key in MEMBERS and value not in STRANGERS:
            self.members.setdefault(value, f"member {len(self.members)}")
        return self.members.get(value, value.replace(self.prefix, ""))


def batch_bytes(times_ms: tuple[int, ...], **batch: Any) -> bytes:
    """A batch with a record for each time."""
    records = tuple(Record(None, f"value {number}".encode(), timestamp_ms=at) for number, at in enumerate(times_ms))
    whole = Batch(
        records=records, last_offset_delta=len(records) - 1, base_offset=0, timestamp_ms=max(times_ms), **batch
    )
    return write_batch(whole)


CHECKSUM, PRODUCER_ID = slice(17, 21), slice(43, 51)
"""Where they are in a batch."""


def whole_batches(data: bytes) -> list[str]:
    """Each batch as it is, with its offset; one that is cut short is none. Whose producer id it has nobody compares."""
    found, at = [], 0
    while len(data) - at >= 12:
        end = at + 12 + int.from_bytes(data[at + 8 : at + 12], "big")
        if end > len(data):
            break
        batch = bytearray(data[at:end])
        if any(byte != 0xFF for byte in batch[PRODUCER_ID]):
            batch[PRODUCER_ID], batch[CHECKSUM] = bytes(8), bytes(4)
        found.append(batch.hex())
        at = end
    return found
