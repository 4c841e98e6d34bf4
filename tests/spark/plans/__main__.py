"""Run random plans on Spark: `python -m tests.spark.plans` (`make spark-plans`).

With SEEDS, run these and print their results. Without, run every case that has no kept result (`--again`: all of
them), in some processes beside each other, and write ``docs/spark-plans.md``. With `--real-kafka`, the broker is a node
of Apache Kafka, and the cases are the reported events.

Exit codes: 0 each case is exact or refused; 1 not so.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.spark.plans.brokers import Broker, KafkaBroker, ServedBroker
from tests.spark.plans.grammar import Case, case_of
from tests.spark.plans.judge import Verdict
from tests.spark.plans.page import AT_KAFKA, PAGE, RESULTS, SEEDS, is_as_it_should_be, keep, load, page
from tests.spark.plans.programs import cases_of_programs

ATTEMPTS = 3
"""A busy machine lets Spark fail to start a worker."""


def case_for(seed: int) -> Case:
    """The case of a seed; of a program if it is negative."""
    return case_of(seed) if seed >= 0 else cases_of_programs()[seed][1]


def wanted(*, at_kafka: bool = False) -> list[int]:
    """The seeds of the page, programs first."""
    return [*cases_of_programs(), *(() if at_kafka else range(SEEDS))]


def verdicts(seeds: Iterable[int], *, at_kafka: bool) -> Iterator[tuple[int, Verdict]]:
    """Carry out cases in one session of Spark, at one broker."""
    from tests.spark.plans.runs import carried_out  # noqa: PLC0415  # needs Spark
    from tests.spark.sessions import end, session  # noqa: PLC0415  # as above

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        spark = session(Path(folder) / "spark")
        spark.sparkContext.setLogLevel("OFF")
        broker: Broker = (KafkaBroker if at_kafka else ServedBroker)(Path(folder))
        try:
            for seed in seeds:
                begun = time.monotonic()
                try:
                    verdict = carried_out(case_for(seed), spark, broker.bootstrap, broker.restart)
                except Exception:  # noqa: BLE001  # a case that was not carried out has no result, and is reported
                    traceback.print_exc()
                    continue
                spent_s = time.monotonic() - begun
                sys.stdout.write(
                    f"{seed:>5} {spent_s:>6.1f} s  {verdict.result} {verdict.says}\n       {case_for(seed)}\n"
                )
                sys.stdout.flush()
                yield seed, verdict
        finally:
            broker.close()
            end(spark)


def run_part(seeds: list[int], part: Path, *, at_kafka: bool) -> None:
    """Carry out cases, and keep each result at once."""
    found = load(part)
    for _ in range(ATTEMPTS):
        for seed, verdict in verdicts([seed for seed in seeds if seed not in found], at_kafka=at_kafka):
            found[seed] = verdict
            keep(found, part)


def main() -> int:
    """Run cases."""
    parser = argparse.ArgumentParser(description="Random plans on Spark, each exact or refused.")
    parser.add_argument("seeds", nargs="*", type=int, metavar="SEED", help="run only these, and write nothing")
    parser.add_argument("--again", action="store_true", help="run cases again that have a result")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="number of Spark sessions (default 2)")
    parser.add_argument("--real-kafka", action="store_true", help="run the reported events at a node of Apache Kafka")
    parser.add_argument("--part", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part is not None:
        run_part(asked.seeds, asked.part, at_kafka=asked.real_kafka)
        return 0
    if asked.seeds:
        return 0 if is_as_it_should_be(dict(verdicts(asked.seeds, at_kafka=asked.real_kafka))) else 1
    results = AT_KAFKA if asked.real_kafka else RESULTS
    found = {} if asked.again else load(results)
    left = [seed for seed in wanted(at_kafka=asked.real_kafka) if seed not in found]
    with tempfile.TemporaryDirectory() as folder:
        parts = [Path(folder) / f"{number}.jsonl" for number in range(asked.processes)]
        running = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.spark.plans",
                    "--part",
                    str(part),
                    *(["--real-kafka"] if asked.real_kafka else []),
                    "--",
                    *map(str, left[number :: len(parts)]),
                ]
            )
            for number, part in enumerate(parts)
            if left[number :: len(parts)]
        ]
        try:
            for each in running:
                each.wait()
        finally:
            for each in running:
                each.terminate()
                each.wait()
            for part in parts:
                found |= load(part)
            keep({seed: found[seed] for seed in wanted(at_kafka=asked.real_kafka) if seed in found}, results)
            PAGE.write_text(page(load(RESULTS), load(AT_KAFKA)), encoding="utf-8")
    missing = [seed for seed in wanted(at_kafka=asked.real_kafka) if seed not in found]
    if missing:
        sys.stderr.write(f"{len(missing)} cases have no result: {missing}\n")
    return 0 if is_as_it_should_be(found) and not missing else 1


if __name__ == "__main__":
    sys.exit(main())
