"""``python -m tests.wire.hostile``: sequences of requests from clients that mean no good.

As in `sequences`, but numbers are as large or as small as their bytes allow, batches have any shape, settings of topics
change to any value, and the internal topics are meant as well. No log that the brokers wrote may be damaged when
they start again.
"""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any

from tests.wire.sequences import Pool, Stage, new_topic, sequences
from zombieproof.broker.store.topic_configs import SETTINGS, Kind
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.compression import Codec
from zombieproof.formats.encoding import write_batch
from zombieproof.formats.faults import Unwritable
from zombieproof.formats.topics import INTERNAL_TOPICS
from zombieproof.model.vocabulary import NONE, ApiKey
from zombieproof.wire.entities import entity_class, hints_of, inner_class

EXTREME, OF_INTERNAL, CHANGES = 0.04, 0.15, 0.1
"""Probabilities: a number is extreme, a topic is an internal one, a request changes settings."""
BITS = {"i8": 7, "i16": 15, "i32": 31, "i64": 63, "ProducerId": 63, "BrokerId": 31, "i32Timedelta": 31}
"""Types of numbers. kio writes no time of 64 bits that is so long."""
VALUES: Mapping[Kind, tuple[str, ...]] = {
    Kind.BOOLEAN: ("true", "false", " TRUE ", "x"),
    Kind.INT: ("0", "1", "-1", "2", str((1 << 31) - 1), " 4 ", "1048576", "1e3", ""),
    Kind.LONG: ("0", "1", "-1", "1000", "60000", str((1 << 63) - 1), ""),
    Kind.DOUBLE: ("0", "1", "0.5", "NaN", "5e-324", ""),
    Kind.STRING: ("zstd", "gzip", "producer", "uncompressed", "CreateTime", "LogAppendTime", ""),
    Kind.LIST: ("", "delete", "compact", "compact,delete", " compact , delete ", ",", "*", "0:1"),
}


class HostilePool(Pool):
    """Arguments that are legal less often."""

    def topic(self) -> str:
        """Of an internal topic, too."""
        is_internal = self.draw.random() < OF_INTERNAL
        return self.draw.choice(sorted(INTERNAL_TOPICS)) if is_internal else super().topic()

    def records(self) -> bytes:
        """One batch or two of any shape, of which bytes may be wrong or missing."""
        draw, (producer_id, epoch) = self.draw, self.producer
        self.sequence += 1
        count, is_idempotent = draw.choice((1, 1, 2, 40)), producer_id != NONE
        whole = Batch(
            producer_id,
            epoch,
            draw.choice((0, 0, 1, self.sequence, (1 << 31) - 1)) if is_idempotent else NONE,
            transactional=is_idempotent and draw.random() < 0.7,
            records=tuple(
                Record(draw.choice((None, b"k", b"")), draw.choice((None, b"v", b"v" * 20_000))) for _ in range(count)
            ),
            last_offset_delta=count - 1,
            timestamp_ms=draw.choice((1, 1, 0, 10**13, (1 << 63) - 1)),
            codec=draw.choice((Codec.NONE, Codec.NONE, *Codec)),
        )
        try:
            data = write_batch(whole)
        except Unwritable:
            data = write_batch(replace(whole, timestamp_ms=1))
        if draw.random() < 0.05:
            at = draw.randrange(len(data))
            data = data[:at] + bytes([draw.randrange(256)]) + data[at + draw.choice((0, 1, 1)) :]
        return data * draw.choice((1, 1, 1, 2))

    def setting(self) -> dict[str, str]:
        """A setting of topics."""
        setting = self.draw.choice(list(SETTINGS.values()))
        least = () if setting.least is None else (str(setting.least),)
        return {"name": setting.name, "value": self.draw.choice((*VALUES[setting.kind], *least))}

    def strain(self, kind: Any, values: dict[str, Any]) -> None:
        """Make some numbers of a request, or of a row of one, extreme."""
        for each in fields(kind):
            row, value = inner_class(kind, each.name), values.get(each.name)
            if row is not None:
                for inner in value if isinstance(value, list) else [value] if value else ():
                    self.strain(row, inner)
                continue
            bits = BITS.get(getattr(hints_of(kind)[each.name], "__name__", ""))
            if bits is not None and self.draw.random() < EXTREME:
                most = (1 << bits) - 1
                values[each.name] = self.draw.choice((0, 1, -1, most, most - 1, most >> 1, -most - 1))


class HostileStage(Stage):
    """Brokers whose clients mean no good."""

    pool_of = HostilePool

    def open(self) -> None:
        """Start the brokers; every log is sound."""
        super().open()
        for node, broker in self.embedded.cluster.brokers.items():
            offline = [each for each, replica in broker.partitions.replicas.items() if replica.log.offline is not None]
            assert not offline, f"partitions of broker {node} are damaged: {offline}"

    def ask(self) -> None:
        """Settings are changed, or something else is asked."""
        idle = [line for line in self.lines if not line.waits and not line.is_over]
        if idle and self.draw.random() < CHANGES:
            self._send(self.draw.choice(idle), *self._change())
        else:
            super().ask()

    def _change(self) -> tuple[ApiKey, int, dict[str, Any]]:
        pool, draw = self.pool, self.draw
        assert isinstance(pool, HostilePool)
        resource = {"resource_type": 2, "resource_name": pool.topic()}
        settings = [pool.setting() for _ in range(draw.choice((1, 1, 2)))]
        if draw.random() < 0.2:
            created = new_topic(pool) | {"configs": settings}
            return ApiKey.CREATE_TOPICS, 7, {"topics": [created], "timeout": 1_000, "validate_only": False}
        if draw.random() < 0.2:
            changed = resource | {"configs": settings}
            return ApiKey.ALTER_CONFIGS, 2, {"resources": [changed], "validate_only": False}
        steps = [each | {"config_operation": draw.choice((0, 0, 0, 1, 2, 3))} for each in settings]
        changed = resource | {"configs": steps}
        return ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [changed], "validate_only": False}

    def _send(self, line: Any, api: ApiKey, version: int, values: dict[str, Any]) -> None:
        assert isinstance(self.pool, HostilePool)
        self.pool.strain(entity_class(api, version, "request"), values)
        super()._send(line, api, version, values)


hostile_sequences = partial(sequences, stage_of=HostileStage)


def main() -> int:
    """Send sequences, and print the result."""
    parser = argparse.ArgumentParser(prog="python -m tests.wire.hostile", description=__doc__.partition("\n")[0])
    parser.add_argument("--sequences", type=int, default=2_000, help="how many (2,000)")
    parser.add_argument("--seed", type=int, default=1, help="what they are drawn by (1)")
    parser.add_argument("--brokers", type=int, default=1)
    parser.add_argument("--stored", action="store_true", help="with a data directory, whose power fails now and then")
    given = parser.parse_args()
    found = hostile_sequences(given.sequences, given.seed, nodes=given.brokers, stored=given.stored)
    sys.stdout.write("\n".join((f"{dict(found.counts)}, {len(found.findings)} findings", *found.findings[:3])) + "\n")
    return 1 if found.findings else 0


if __name__ == "__main__":
    sys.exit(main())
