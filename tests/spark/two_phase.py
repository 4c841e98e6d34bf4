"""A two-phase sink: tasks leave their transactions open, and the driver ends them. Workers import this.

librdkafka has no call by which a driver could end a transaction that a task has begun, so the driver asks the
coordinator itself: for the identity of who holds the id, and to end its transaction.
"""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage

from tests.spark.faulty import OUTAGE, ZOMBIE, Fault, Struck
from tests.spark.naive import CALL_S, opened
from zombieproof.conformance.outside.bootstrap import addresses_of
from zombieproof.conformance.outside.peer import TRANSACTION, Peer
from zombieproof.messages.transactions import DescribeTransactions, EndTxn, EndTxnAnswer
from zombieproof.model.vocabulary import Error
from zombieproof.pipeline.kafka import producer_for
from zombieproof.pipeline.spark.options import SinkOptions, sink_options
from zombieproof.pipeline.spark.tables import TableRows, table_of
from zombieproof.pipeline.spark.task_context import this_attempt

BETWEEN = "between two commits"
VERSION: Final = 3
"""Of EndTxn: as a client of transaction version 1 sends it."""
OWN: Final = ("point", "armed", "decisions", "trusts_abort")


@dataclass(frozen=True)
class Prepared(WriterCommitMessage):
    """A transaction that waits for the driver."""

    partition: int
    transactional_id: str
    producer_id: int
    producer_epoch: int


def prepare(options: SinkOptions, rows: Sequence[Any], partition: int) -> Prepared:
    """Take the id, send rows, and leave the transaction open."""
    transactional_id = f"two-phase-{partition}"
    opened(options.settings, rows, transactional_id)
    with closing(Peer(addresses_of(options.settings["bootstrap.servers"]))) as peer:
        coordinator = peer.coordinator_of(transactional_id, TRANSACTION)
        answer: Any = peer.ask(DescribeTransactions(0, (transactional_id,)), coordinator)
    [row] = answer.transactions
    return Prepared(partition, transactional_id, row.producer_id, row.producer_epoch)


def end(peer: Peer, prepared: Prepared, *, committed: bool) -> Error:
    """End a prepared transaction; what the coordinator says of it."""
    until = time.monotonic() + CALL_S
    while True:
        identity = (prepared.transactional_id, prepared.producer_id, prepared.producer_epoch)
        coordinator = peer.coordinator_of(prepared.transactional_id, TRANSACTION)
        answer = peer.ask(EndTxn(VERSION, *identity, committed), coordinator)
        assert isinstance(answer, EndTxnAnswer)
        if answer.error != Error.CONCURRENT_TRANSACTIONS or time.monotonic() > until:
            return Error(answer.error)
        time.sleep(0.05)


class Decisions:
    """The record of what the driver has decided, beside the checkpoint; without a folder there is none."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder) if folder else None

    def of(self, batch: int) -> list[Prepared] | None:
        """The transactions of a batch that is decided."""
        path = None if self._folder is None else self._folder / str(batch)
        if path is None or not path.exists():
            return None
        return [Prepared(**each) for each in json.loads(path.read_text())]

    def decide(self, batch: int, prepared: Sequence[Prepared]) -> None:
        """From here on the batch is to be committed."""
        if self._folder is None:
            return
        self._folder.mkdir(exist_ok=True)
        beside = self._folder / f".{batch}"
        beside.write_text(json.dumps([asdict(each) for each in prepared]))
        beside.replace(self._folder / str(batch))


class TwoPhaseWriter(DataSourceStreamArrowWriter):
    """Tasks prepare, the driver decides and commits, one transaction after the other."""

    def __init__(self, options: SinkOptions, fault: Fault, decisions: Decisions, *, trusts_abort: bool) -> None:
        self._options, self._fault, self._decisions = options, fault, decisions
        self._trusts_abort = trusts_abort

    def write(self, iterator: Iterator[Any]) -> Prepared:
        attempt = this_attempt()
        rows = TableRows(table_of(iterator, self._options), self._options)
        decided = self._decisions.of(attempt.batch) or []
        for each in decided:
            if each.partition == attempt.partition:
                return each  # it was written, and the driver is to commit it
        prepared = prepare(self._options, rows, attempt.partition)
        if self._fault.strikes(ZOMBIE):
            producer_for(self._options.settings, prepared.transactional_id).init_transactions(CALL_S)
        return prepared

    def commit(self, messages: Any, batchId: int) -> None:  # noqa: N803  # Spark's name
        decided = self._decisions.of(batchId)
        prepared = decided if decided is not None else list(messages)
        if decided is None:
            self._decisions.decide(batchId, prepared)
        if self._fault.strikes(OUTAGE):
            self._fault.await_end_of_outage()
        self._end(prepared, committed=True)

    def abort(self, messages: Any, batchId: int) -> None:  # noqa: N803  # Spark's name
        if self._decisions.of(batchId) is None or self._trusts_abort:
            self._end([each for each in messages if each is not None], committed=False)

    def _end(self, prepared: Sequence[Prepared], *, committed: bool) -> None:
        """One after the other. Whatever is not open any more is taken for ended as it was to be: nobody can tell."""
        with closing(Peer(addresses_of(self._options.settings["bootstrap.servers"]))) as peer:
            for each in sorted(prepared, key=lambda one: one.partition):
                end(peer, each, committed=committed)
                if committed and self._fault.strikes(BETWEEN):
                    raise Struck(BETWEEN)


class TwoPhase(DataSource):
    """``format("two-phase")``; option `decisions` is the folder of the record, `trusts_abort` a mutant."""

    @classmethod
    def name(cls) -> str:
        return "two-phase"

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802  # Spark's name
        told = {name: value for name, value in self.options.items() if name not in OWN}
        fault = Fault(self.options["point"], self.options["armed"])
        decisions = Decisions(self.options.get("decisions", ""))
        trusts_abort = self.options.get("trusts_abort") == "true"
        return TwoPhaseWriter(sink_options(told, streaming=True), fault, decisions, trusts_abort=trusts_abort)
