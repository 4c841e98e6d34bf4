"""A cluster in memory under a plan, asked by raw requests, with a clock that only the test moves and its trace."""

from pathlib import Path
from typing import Any

from zombieproof.bridge.again import LiveJudgement, live_again
from zombieproof.bridge.applications import Broken, committed_batches, judge_applications, log_of
from zombieproof.broker.cluster.clock import Clock, ManualClock
from zombieproof.broker.cluster.live_trace import LiveTrace
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.broker.cluster.settings import Settings
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.config import Durability
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import Produce, SentBatch
from zombieproof.messages.transactions import AddPartitionsToTxn, EndTxn, InitProducerId, TransactionToAdd
from zombieproof.model.vocabulary import Error
from zombieproof.traces.trace_file import read_live
from zombieproof.wire.plan.files import parse_plan
from zombieproof.wire.plan.parts import Plan
from zombieproof.wire.plan.play import Play

SMALL = Settings(
    transaction_state_log_num_partitions=2, offsets_topic_num_partitions=2, group_initial_rebalance_delay_ms=0
)


def planned(text: str, **more: Any) -> Plan:
    """A plan of the faults in a text."""
    return Plan.model_validate({**parse_plan(text, "plan.yaml", Plan).model_dump(exclude_unset=True), **more})


class Staged:
    """Brokers under a plan. `told` are the answers in the order in which clients heard them."""

    def __init__(
        self,
        plan: Plan,
        *,
        path: Path | None = None,
        clock: Clock | None = None,
        durability: Durability = Durability.MEMORY,
        replicated: bool = False,
    ) -> None:
        self.plan, self.lines = plan, list[str]()
        self.trace = LiveTrace(self.lines.append, plan.name)
        nodes = tuple(range(1, plan.brokers + 1))
        topics = {topic: [nodes] * count if replicated else count for topic, count in plan.topics.items()}
        self.embedded = Embedded(
            path,
            nodes=plan.brokers,
            topics=topics,
            settings=SMALL,
            rules=plan.rules(),
            durability=durability,
            clock=clock or ManualClock(),
            journal=self.trace,
        )
        self.play = Play(plan, self.embedded)
        self.told: list[tuple[str, Answer | None]] = []

    @property
    def clock(self) -> ManualClock:
        """That of the test."""
        assert isinstance(self.embedded.clock, ManualClock), "the clock that a test moves"
        return self.embedded.clock

    # ---------------------------------------------------------------- requests

    def send(self, request: Request, client_id: str = "", node: int | None = None) -> list[Answer | None]:
        """Send a request, and let everything happen; the list has the answer when it is there."""
        heard: list[Answer | None] = []

        def hear(answer: Answer | None) -> None:
            heard.append(answer)
            self.told.append((type(request).__name__, answer))

        self.embedded.submit(request, node, hear, client_id)
        self.go_on()
        return heard

    def ask(self, request: Request, client_id: str = "", node: int | None = None) -> Any:
        """The answer to a request, which has to be there at once."""
        heard = self.send(request, client_id, node)
        assert len(heard) == 1, f"{request} was answered {len(heard)} times"
        return heard[0]

    def go_on(self) -> None:
        """Let everything happen that can."""
        while self.embedded.pump():
            pass

    def later(self, milliseconds: int) -> None:
        """Time goes on."""
        self.clock.advance(milliseconds)
        self.go_on()

    # ---------------------------------------------------------------- producers, in raw requests

    def begin(self, name: str = "app", version: int = 4, timeout_ms: int = 60_000) -> tuple[int, int]:
        """InitProducerId; the producer id and its epoch."""
        request = InitProducerId(version, name, timeout_ms)
        found = self.ask(request, node=self._coordinator(name))
        while found.error == Error.CONCURRENT_TRANSACTIONS:
            found = self.ask(request, node=self._coordinator(name))
        assert found.error == Error.NONE, found
        return found.producer_id, found.producer_epoch

    def adding(self, identity: tuple[int, int], *places: TopicPartition, name: str = "app") -> Any:
        """Partitions join a transaction, as clients before transaction version 2 say it."""
        request = AddPartitionsToTxn(3, (TransactionToAdd(name, *identity, places),))
        return self.ask(request, node=self._coordinator(name))

    def _coordinator(self, name: str) -> int | None:
        return self.embedded.cluster.coordinator_of(name)

    def write(
        self,
        identity: tuple[int, int],
        place: TopicPartition,
        value: bytes,
        *,
        name: str = "app",
        sequence: int = 0,
        version: int = 11,
    ) -> list[Answer | None]:
        """A batch with one record; from version 12 on it joins the transaction by itself."""
        batch = Batch(*identity, sequence, transactional=True, records=(Record(None, value),))
        request = Produce(version, name, -1, {place: (SentBatch(batch),)})
        return self.send(request, node=self.embedded.cluster.leader_of(place))

    def end(self, identity: tuple[int, int], *, committed: bool, version: int = 4, name: str = "app") -> Any:
        """EndTxn; its answer."""
        return self.ask(EndTxn(version, name, *identity, committed), node=self._coordinator(name))

    # ---------------------------------------------------------------- what is there

    def readable(self, place: TopicPartition) -> list[bytes]:
        """The values that a read_committed reader of a partition gets."""
        batches = committed_batches(place, log_of(self.embedded.cluster, place))
        return [each.value for batch in batches for each in batch.records if isinstance(each.value, bytes)]

    def owed(self) -> list[Broken]:
        """What applications owed and did not keep."""
        return judge_applications(self.embedded.cluster)

    def judged(self, folder: Path) -> LiveJudgement:
        """The run, closed and judged from its trace where it ends."""
        self.embedded.close()
        self.trace.end()
        path = folder / "run.jsonl"
        path.write_text("".join(self.lines), encoding="utf-8")
        return live_again(read_live(path), str(path), only_at_the_end=True)

    def faults(self) -> list[str]:
        """The kinds of the faults in the trace, in order."""
        self.trace.flush()
        events = [line for line in self.lines if '"what":"fault"' in line]
        return [line.split('"kind":"')[2].split('"')[0] for line in events]
