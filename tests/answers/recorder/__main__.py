"""``python -m tests.answers.recorder``: play the neighbours to a real Kafka, and keep its answers as a recording.

Needed: kio (the extra ``wire``), and the script that starts a Kafka on loopback, whose release and settings are given.
Each sequence is played twice, as another client with other names; one whose answers differ is not kept and told.
"""

import argparse
import gzip
import json
import sys
import time
from collections.abc import Sequence as Many
from pathlib import Path
from typing import Any

from tests.answers.recorder.neighbours import neighbours
from tests.answers.recorder.real_broker import Connection, RealBroker, restarter
from tests.answers.recorder.rights import rights
from zombieproof.conformance.recording import Recorded, Sequence
from zombieproof.conformance.runner import answers_of

Json = dict[str, Any]


def main(arguments: Many[str] | None = None) -> int:
    """Run the command; the result is its exit code: 1 if a sequence was answered differently the second time."""
    parser = argparse.ArgumentParser(prog="python -m tests.answers.recorder", description=__doc__)
    parser.add_argument("out", type=Path, help="the recording; what it holds of other releases stays")
    parser.add_argument("--kafka", required=True, help="release, such as 3.9.1")
    parser.add_argument("--tv", type=int, default=0, help="finalized transaction version")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument(
        "--start",
        nargs="+",
        required=True,
        metavar="WORD",
        help="the command that starts the broker again; {folder}/pid has its process id",
    )
    parser.add_argument("--folder", required=True)
    parser.add_argument("--user", help="a super user: ask the sequences of users and rights")
    parser.add_argument("--only", default="", metavar="WORD", help="ask only what has it in its name; the rest stays")
    given = parser.parse_args(arguments)
    connection = Connection("127.0.0.1", given.port, given.user)
    restart = restarter(given.start, given.folder)
    kept, unstable = [], 0
    every = rights(given.kafka, given.tv) if given.user else neighbours(given.kafka, given.tv)
    asked = [sequence for sequence in every if given.only in sequence["id"]]
    for sequence in asked:
        runs = [played(sequence, connection, f"{sequence['id']}-{number}", restart) for number in range(2)]
        if runs[0] != runs[1]:
            unstable += 1
            number = next(i for i, (one, other) in enumerate(zip(*runs, strict=True)) if one != other)
            told = f"step {number + 1}: {json.dumps(runs[0][number])}, then {json.dumps(runs[1][number])}"
            sys.stderr.write(f"{sequence['id']}: answered differently the second time, not kept: {told}\n")
            continue
        kept.append(
            sequence
            | {
                "steps": [
                    step | {"answer": answer, "settled": True}
                    for step, answer in zip(sequence["steps"], runs[0], strict=True)
                ]
            }
        )
    before = _others(given.out, given.kafka, given.tv, given.only, has_users=given.user is not None)
    lines = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in [*before, *kept])
    given.out.write_bytes(gzip.compress(lines.encode(), mtime=0))
    sys.stdout.write(f"{len(kept)} sequences kept beside {len(before)}, {unstable} not\n")
    return 1 if unstable else 0


def played(sequence: Json, connection: Connection, run: str, restart: Any) -> list[Json]:
    """The answer to each step."""
    blank = sequence | {"steps": [step | {"answer": {}, "settled": True} for step in sequence["steps"]]}
    recorded = Recorded("neighbours", 1, Sequence.model_validate_json(json.dumps(blank)))
    name = f"{run.replace('/', '-')}-{time.time_ns()}"
    return answers_of(recorded, lambda each: RealBroker(each, connection, name, restart))


def _others(out: Path, kafka: str, tv: int, only: str, *, has_users: bool) -> list[Json]:
    """What a recording holds of other clusters, and of this one what was not to be asked."""
    if not out.exists():
        return []
    with gzip.open(out, "rt", encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    of_this = (kafka, tv, has_users)
    return [
        each for each in found if (each["kafka"], each["tv"], "security" in each) != of_this or only not in each["id"]
    ]


if __name__ == "__main__":
    raise SystemExit(main())
