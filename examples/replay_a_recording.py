"""Judge a recording from a program: which committed records did consumers never get?

    python examples/replay_a_recording.py [PATH ...]

Without a path it judges a recording of Kafka 4.3.1 that ships with the project, in which a committed record is lost.
"""

import sys
from pathlib import Path

from zombieproof import Judgement, TransactionOutcome, replay

LOST_COMMIT = Path(__file__).resolve().parents[1] / "tests" / "recordings" / "09-offline-partition-lost-commit"


def main(paths: list[str]) -> int:
    """Judge what is below the paths; return 0 if it conforms, 1 if a promise is broken, 3 if it is damaged."""
    report = replay(*(paths or [str(LOST_COMMIT)]))
    print(f"{report.verdict}: {len(report.transactions)} transactions")
    for transaction in report.transactions:
        if transaction.outcome == TransactionOutcome.COMMIT:
            places = ", ".join(transaction.partitions)
            print(f"  {transaction.transactional_id} (epoch {transaction.producer_epoch}) committed on {places}")
    for partition, offsets in report.committed.items():
        print(f"  a read_committed consumer gets of {partition}: offsets {offsets} up to {report.lso[partition]}")
    for finding in report.findings:
        print(f"  {finding.promise}, {finding.topic}-{finding.partition} offset {finding.offset}: {finding.message}")
    for place in report.damage:
        print(f"  damaged: {place.file}, {place.unit} {place.position}: {place.message}")
    return {Judgement.CONFORMS: 0, Judgement.VIOLATES: 1, Judgement.DAMAGED: 3}[report.verdict]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
