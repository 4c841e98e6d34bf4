"""``python -m tests.wire.recorder --kafka 4.3.1 --port PORT``: play the scenes to a real Kafka, and keep its answers.

Needed: a Kafka on loopback, with two partitions of each internal topic and no delay of first rebalances. Each scene is
played twice, under other names; one whose answers differ is not kept, and told.
"""

import argparse
import gzip
import json
import sys
import time
from pathlib import Path
from typing import Any

from tests.wire.scenes.every import versions_of
from tests.wire.sides import RealKafka, Side
from tests.wire.stage import Scene, Stage

FILE = Path(__file__).with_name("answers.jsonl.gz")
Json = dict[str, Any]


def played(side: Side, scene: Scene, version: int, run: str) -> list[list[Any]]:
    """What is answered in a scene."""
    stage = Stage(side, f"{scene.name}-{version}-{run}-")
    scene.play(stage, version)
    return stage.answers


def recorded() -> list[Json]:
    """All that was kept."""
    with gzip.open(FILE, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main() -> int:
    """Ask, and keep; the result is 1 if a scene was answered differently the second time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kafka", required=True, help="release, such as 4.3.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--only", default="", help="play only scenes whose names begin so; the rest stays")
    given = parser.parse_args()
    side, kept, unstable = RealKafka(given.kafka, given.port), list[Json](), 0
    for scene, version in versions_of(given.kafka):
        if not scene.name.startswith(given.only):
            continue
        one, other = (played(side, scene, version, f"{time.time_ns()}") for _ in range(2))
        if one != other:
            unstable += 1
            at = next(number for number, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
            sys.stderr.write(f"{scene.name} {version}: answered differently: {one[at]}, then {other[at]}\n")
            continue
        kept.append({"kafka": given.kafka, "scene": scene.name, "version": version, "answers": one})
    before = recorded() if FILE.exists() else []
    others = [row for row in before if row["kafka"] != given.kafka or not row["scene"].startswith(given.only)]
    rows = sorted([*others, *kept], key=lambda row: (row["kafka"], row["scene"], row["version"]))
    lines = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    FILE.write_bytes(gzip.compress(lines.encode(), mtime=0))
    sys.stdout.write(f"{len(kept)} scenes kept beside {len(others)}, {unstable} not\n")
    return 1 if unstable else 0


if __name__ == "__main__":
    raise SystemExit(main())
