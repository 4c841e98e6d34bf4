"""The two modes of one query at a live broker: each fences the other, and every row is in the output once."""

import logging
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from zombieproof.pipeline.sink import Row

pytest.importorskip("confluent_kafka", reason="confluent-kafka, the client of the pipeline, is not installed")

from tests.pipeline.topics import delete_topic, forget_group
from zombieproof.pipeline import progress_topic
from zombieproof.pipeline.kafka import client
from zombieproof.pipeline.sink import Delivering, DeliveryError, Identity, claiming, claims, deliver, resolve
from zombieproof.pipeline.sink.asking import Asking, RowsNotAcknowledged
from zombieproof.pipeline.sink.claiming import Claiming
from zombieproof.pipeline.sink.claims import Claim, Query, partition_id

Begun = Callable[..., Delivering]
Output = Callable[[], Counter[bytes | None]]

STATES = (
    pytest.param("SENDING_ROWS", marks=pytest.mark.deep),
    "SENDING_OFFSETS",
    pytest.param("COMMITTING", marks=pytest.mark.deep),
)


def batch(transactional_id: str = "copier", by: str = "source") -> dict[str, Any]:
    """Return the arguments of a driver in mode *batch*."""
    query = Query(claim=Claim("batch", by, transactional_id))
    return {"transactional_id": transactional_id, "query": query, "identity": Identity("q", 1, sink="s")}


def task(partition: int, transactional_id: str = "copier") -> dict[str, Any]:
    """Return the arguments of a task in mode *partition*."""
    query = Query(claim=Claim("partition", "source", transactional_id))
    return {**batch(), "transactional_id": partition_id(transactional_id, ("input", partition)), "query": query}


def of(partition: int, rows: "list[Row]") -> "list[Row]":
    return [row for row in rows if row.source and row.source.partition == partition]


def ends_fenced(delivery: Delivering) -> None:
    with pytest.raises(DeliveryError) as failure:
        delivery.run()
    assert failure.value.state.name == "FENCED"


@pytest.mark.parametrize("state", STATES)
def test_tasks_fence_a_driver_in_the_other_mode(
    state: str, rows: "list[Row]", given: dict[str, Any], begun: Begun, output: Output
) -> None:
    zombie = begun(rows, state, **batch())
    for partition in (0, 1):
        deliver(of(partition, rows), **{**given, **task(partition)})
    ends_fenced(zombie)
    assert deliver(rows, **{**given, **batch()}).state.name == "FOUND_DELIVERED"
    assert output() == Counter(row.value for row in rows)


@pytest.mark.parametrize("state", STATES)
def test_a_driver_fences_tasks_in_the_other_mode(
    state: str, rows: "list[Row]", given: dict[str, Any], begun: Begun, output: Output
) -> None:
    zombies = [begun(of(partition, rows), state, **task(partition)) for partition in (0, 1)]
    deliver(of(0, rows), **{**given, **batch()})
    deliver(rows, **{**given, **batch()})
    for each in zombies:
        ends_fenced(each)
    assert output() == Counter(row.value for row in rows)


@pytest.mark.deep
def test_a_task_that_comes_late_takes_over_or_finds_its_rows(
    rows: "list[Row]", given: dict[str, Any], begun: Begun, output: Output
) -> None:
    """It took its id after the driver had taken it, but it sees the claim."""
    deliver(of(0, rows)[:2], **{**given, **task(0)})
    driver = begun(rows, "SENDING_ROWS", **batch())
    late = begun(of(0, rows), "LOOKING_UP", **task(0))
    late.step()
    assert late.state.name == "CLAIMING"
    late.run()
    ends_fenced(driver)
    deliver(rows, **{**given, **batch()})
    assert output() == Counter(row.value for row in rows)


@pytest.mark.deep
def test_a_claim_outlives_its_group(rows: "list[Row]", given: dict[str, Any], begun: Begun, output: Output) -> None:
    deliver(rows[:4], **{**given, **batch()})
    zombie = begun(of(1, rows), "SENDING_ROWS", **task(1))
    forget_group(given["settings"]["bootstrap.servers"], given["group"])
    deliver(rows, **{**given, **batch()})
    ends_fenced(zombie)
    assert output() == Counter(row.value for row in rows)


@pytest.mark.txn_faults(plan={}, allow=("no_input_is_committed_twice",))  # claims are positions of the deleted topic
@pytest.mark.parametrize("is_deleted", [False, True], ids=["renamed", "deleted"])
@pytest.mark.parametrize("state", STATES)
def test_a_driver_fences_tasks_though_the_claim_was_kept_under_another_progress_topic(
    state: str, is_deleted: bool, rows: "list[Row]", given: dict[str, Any], begun: Begun, output: Output
) -> None:
    """Tasks have open transactions."""
    for partition in (0, 1):
        deliver(of(partition, rows)[:2], **{**given, **task(partition)})
    zombies = [begun(of(partition, rows), state, **task(partition)) for partition in (0, 1)]
    topic = progress_topic.TOPIC if is_deleted else "another"
    if is_deleted:
        delete_topic(given["settings"]["bootstrap.servers"], topic)
    made = progress_topic.Progress(given["settings"], given["group"], topic)  # as start() does
    made.ask(())
    made.create()
    driver = {**batch(), "query": batch()["query"]._replace(progress_topic=topic)}
    deliver(of(0, rows), **{**given, **driver})
    deliver(rows, **{**given, **driver})
    for each in zombies:
        ends_fenced(each)
    assert output() == Counter(row.value for row in rows)


def test_another_transactional_id_is_fenced_too(
    rows: "list[Row]", given: dict[str, Any], begun: Begun, output: Output
) -> None:
    zombies = [begun(of(1, rows), "SENDING_ROWS", **task(1)), begun(of(0, rows), "SENDING_ROWS", **batch())]
    deliver(rows, **{**given, **batch("renamed")})
    for each in zombies:
        ends_fenced(each)
    assert output() == Counter(row.value for row in rows)


def test_of_two_tasks_that_claim_at_once_one_looks_again_and_nobody_is_alarmed(
    rows: "list[Row]",
    given: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    output: Output,
    caplog: pytest.LogCaptureFixture,
) -> None:
    newest, second = Claiming._newest, [task(1)]

    def overtaken(self: Claiming, *arguments: Any) -> Claim | None:
        found = newest(self, *arguments)
        if second:
            deliver(of(1, rows), **{**given, **second.pop()})
        return found

    monkeypatch.setattr(Claiming, "_newest", overtaken)
    with caplog.at_level(logging.INFO, "zombieproof.pipeline"):
        assert deliver(of(0, rows), **{**given, **task(0)}).sent == 10
    assert {each.levelname for each in caplog.records if "fenced by a newer instance" in each.getMessage()} == {"INFO"}
    assert output() == Counter(row.value for row in rows)


def test_of_two_drivers_that_claim_a_new_group_at_once_one_looks_again(
    rows: "list[Row]", given: dict[str, Any], monkeypatch: pytest.MonkeyPatch, output: Output
) -> None:
    """Their transactional ids are different, and neither can know that of the other."""
    commit, second = Claiming._commit, [batch("other")]

    def overtaken(self: Claiming, *arguments: Any) -> None:
        if second:
            deliver(rows, **{**given, **second.pop()})
        commit(self, *arguments)

    monkeypatch.setattr(Claiming, "_commit", overtaken)
    assert deliver(rows, **{**given, **batch()}).sent == 0
    assert output() == Counter(row.value for row in rows)


def test_a_first_claim_without_the_right_to_the_name_of_the_group_is_refused(
    rows: "list[Row]", given: dict[str, Any], monkeypatch: pytest.MonkeyPatch, output: Output
) -> None:
    asked = []

    class Denied(Asking):
        def __init__(self, settings: Any, group: str, transactional_id: str) -> None:
            asked.append(transactional_id)
            super().__init__(settings, group, transactional_id)

        def take_id(self, topic: str, within_s: float) -> None:
            raise client.KafkaException(client.KafkaError(client.KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))

    monkeypatch.setattr(claiming, "Asking", Denied)
    with pytest.raises(DeliveryError, match=r"may not use that id .* permit Describe and Write on it"):
        deliver(rows, **{**given, **batch("own")})
    assert asked == [given["group"]]
    assert not output()


@pytest.mark.parametrize("name", ["_PURGE_QUEUE", "_PURGE_INFLIGHT", "_FENCED"])
def test_a_claim_that_another_one_fences_while_it_is_sent_is_made_again(
    name: str, rows: "list[Row]", given: dict[str, Any], monkeypatch: pytest.MonkeyPatch, output: Output
) -> None:
    """The client names one of these, as it happens."""
    commit, faults = Claiming._commit, [client.KafkaError(getattr(client.KafkaError, name))]

    def fenced(self: Claiming, *arguments: Any) -> None:
        if faults:
            raise RowsNotAcknowledged(faults.pop())
        commit(self, *arguments)

    monkeypatch.setattr(Claiming, "_commit", fenced)
    assert deliver(rows, **{**given, **batch()}).sent == 20
    assert output() == Counter(row.value for row in rows)


def test_one_claim_lasts(rows: "list[Row]", given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    claimed: list[str] = []
    claim = Claiming.claim

    def counted(self: Claiming, *arguments: Any) -> None:
        claimed.append(str(self.found))
        claim(self, *arguments)

    monkeypatch.setattr(Claiming, "claim", counted)
    for past in (5, 10, 15):
        deliver(rows[:past], **{**given, **batch()})
    assert claimed == ["None"]
    for partition in (0, 1):
        deliver(of(partition, rows), **{**given, **task(partition)})
    assert claimed == ["None", "mode batch, exactlyOnceBy source, transactional id copier"]


def test_what_identifies_rows_cannot_change(rows: "list[Row]", given: dict[str, Any], output: Output) -> None:
    deliver(rows, **{**given, **batch()})
    other = {**batch(by="batch"), "identity": Identity("q", 1, "output", sink="s")}
    with pytest.raises(DeliveryError, match=r"exactlyOnceBy batch.* exactlyOnceBy source.*set it as it was") as failure:
        deliver(rows, **{**given, **other})
    assert failure.value.state.name == "REFUSED"
    assert output() == Counter(row.value for row in rows)


def test_an_abort_does_not_take_over(rows: "list[Row]", given: dict[str, Any], begun: Begun, output: Output) -> None:
    running = begun(of(0, rows), "SENDING_ROWS", **task(0))
    with pytest.raises(DeliveryError, match="in the other mode: end one"):
        resolve(rows, **{**given, **batch()})
    running.run()
    assert output() == Counter(row.value for row in of(0, rows))


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(8))
def test_modes_that_take_turns_at_random_write_every_row_once(
    seed: int, rows: "list[Row]", given: dict[str, Any], output: Output
) -> None:
    chance = random.Random(seed)
    kinds: list[tuple[Sequence[Row], dict[str, Any]]] = [
        (rows, batch()),
        (of(0, rows), task(0)),
        (of(1, rows), task(1)),
        (of(0, rows)[:5], task(0)),
        (rows[:9], batch("renamed")),
    ]
    running: list[Delivering] = []
    for _ in range(80):
        if len(running) < 3:
            some, told = chance.choice(kinds)
            running.append(Delivering(some, **{**given, **told}))
        each = chance.choice(running)
        each.step()
        if each.is_over or chance.random() < 0.02:
            running.remove(each)
            each.close()
    for each in running:
        each.close()
    deliver(rows, **{**given, **batch()})
    assert output() == Counter(row.value for row in rows)


def test_a_claim_keeps_a_limited_number_of_ids_and_says_which_to_use(
    rows: "list[Row]", given: dict[str, Any], monkeypatch: pytest.MonkeyPatch, output: Output
) -> None:
    """Each delivery takes all ids of mode *partition* once, and brokers limit the metadata of a position."""
    monkeypatch.setattr(claims, "MOST_IDS", 2)
    for number, each in enumerate(("one", "two")):
        deliver(of(0, rows)[: number + 1], **{**given, **task(0, each)})
    with pytest.raises(DeliveryError, match=r"id is three, and .* under 2 other ids before \(one, two\). Use one"):
        deliver(of(0, rows), **{**given, **task(0, "three")})
    deliver(of(0, rows), **{**given, **batch("four")})
    deliver(of(1, rows), **{**given, **task(1, "one")})
    assert output() == Counter(row.value for row in rows)


def test_a_claim_does_not_become_longer_than_brokers_take() -> None:
    own = [Claim("partition", "source", f"{number:03d}{'x' * 201}") for number in range(claims.MOST_IDS)]
    found = own[0].after(None)
    for each in own[1:18]:
        found = each.after(found)
        assert len(found.metadata().encode()) <= claims.MOST_BYTES
    with pytest.raises(claims.TooManyIds, match=r"under 18 other ids before \(000x"):
        own[18].after(found)
    assert Claim("batch", "source", "short").after(found).partition_ids == found.partition_ids
    assert Claim("partition", "source", found.partition_ids[0]).after(found).generation == found.generation + 1
