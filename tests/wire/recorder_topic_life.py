"""``python -m tests.wire.recorder_topic_life HOST:PORT`` asks a real Kafka `questions_topic_life`.

Its answers are kept. Needed: a Kafka 4.4.0 with one node, as ``real-kafka`` starts it. It takes about 80 seconds.
"""

import gzip
import json
import sys
import time
from pathlib import Path
from typing import Any

from tests.wire.questions_topic_life import ACTS, World
from tests.wire.raw import Socket

FILE = Path(__file__).parent / "answers_topic_life_4.4.0.json.gz"
Acts = dict[str, list[list[Any]]]


def recorded() -> Acts:
    """[label, answer] of each question, by act."""
    with gzip.open(FILE, "rt", encoding="utf-8") as file:
        found: Acts = json.load(file)
    return found


if __name__ == "__main__":
    host, _, port = sys.argv[1].partition(":")
    acts: Acts = {}
    for number, (name, act) in enumerate(ACTS.items()):
        world = World(lambda: Socket(host, int(port)), prefix=f"a{number}-{int(time.time())}-")
        acts[name] = [[label, world.told(answer)] for label, answer in act(world)]
    with gzip.GzipFile(FILE, "wb", mtime=0) as out:
        out.write(json.dumps(acts, separators=(",", ":")).encode())
    sys.stdout.write(f"{sum(map(len, acts.values()))} answers in {FILE.name}, {FILE.stat().st_size:,} bytes\n")
