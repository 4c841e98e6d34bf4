"""What applications owe is judged on logs: what is wrong is found, and its neighbours are let alone."""

from collections.abc import Mapping

import pytest

from tests.wire.plan.groups import GROUP
from tests.wire.plan.staged import Staged, planned
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import OffsetCommit, OffsetToCommit, TxnOffsetCommit
from zombieproof.messages.partitions import Produce, SentBatch
from zombieproof.model.vocabulary import Error

OUT, FIRST, SECOND, OTHER = ("out", 0), ("in", 0), ("in", 1), ("other", 0)


@pytest.fixture
def stage() -> Staged:
    return Staged(planned("topics: {in: 2, out: 1, other: 1}"))


class Worker:
    """One producer of transaction version 2, transaction after transaction."""

    def __init__(self, stage: Staged, name: str = "app") -> None:
        self.stage, self.name = stage, name
        self.me = stage.begin(name)

    def work(
        self, offsets: Mapping[TopicPartition, int], *, output: bool = True, committed: bool = True, group: str = GROUP
    ) -> None:
        """A transaction with offsets, output, or both."""
        if output:
            self.stage.write(self.me, OUT, b"o", name=self.name, version=12)
        if offsets:
            rows = tuple(OffsetToCommit(place, offset, "") for place, offset in offsets.items())
            found = self.stage.ask(TxnOffsetCommit(5, self.name, group, *self.me, rows))
            assert set(found.errors.values()) == {Error.NONE}
        ended = self.stage.end(self.me, committed=committed, version=5, name=self.name)
        assert ended.error == Error.NONE
        self.me = ended.producer_id, ended.producer_epoch


def commit_outside(stage: Staged, place: TopicPartition, offset: int, group: str = GROUP) -> None:
    found = stage.ask(OffsetCommit(8, group, (OffsetToCommit(place, offset, ""),)))
    assert set(found.errors.values()) == {Error.NONE}


def owed(stage: Staged) -> list[str]:
    return [each.promise for each in stage.owed()]


def test_who_goes_on_owes_nothing(stage: Staged) -> None:
    worker = Worker(stage)
    for offset in (1, 2, 5):
        worker.work({FIRST: offset})
    assert owed(stage) == []


def test_who_commits_the_same_offset_with_output_again_owes_it(stage: Staged) -> None:
    Worker(stage, "a").work({FIRST: 3})
    Worker(stage, "b").work({FIRST: 3})
    (found,) = stage.owed()
    assert found.promise == "no_input_is_committed_twice"
    assert "group 'pricing' had committed in-0 up to offset 3 with what 'a' wrote; then 'b' committed" in found.story
    assert "offset 3 of it with output in out-0" in found.story


def test_who_goes_back_with_output_owes_it_also_where_another_partition_goes_on(stage: Staged) -> None:
    worker = Worker(stage)
    worker.work({FIRST: 3, SECOND: 3})
    worker.work({FIRST: 2, SECOND: 4})
    assert owed(stage) == ["no_input_is_committed_twice"]


def test_who_names_partitions_without_news_beside_one_that_goes_on_owes_nothing(stage: Staged) -> None:
    worker = Worker(stage)
    worker.work({FIRST: 3, SECOND: 3})
    worker.work({FIRST: 3, SECOND: 4})
    assert owed(stage) == []


def test_offsets_without_output_may_stand_still(stage: Staged) -> None:
    worker = Worker(stage)
    worker.work({FIRST: 3})
    worker.work({FIRST: 3}, output=False)
    assert owed(stage) == []


def test_what_was_aborted_is_written_again(stage: Staged) -> None:
    worker = Worker(stage)
    worker.work({FIRST: 3}, committed=False)
    worker.work({FIRST: 3})
    assert owed(stage) == []


def test_two_groups_may_read_the_same_input(stage: Staged) -> None:
    worker = Worker(stage)
    worker.work({FIRST: 3})
    worker.work({FIRST: 3}, group="another")
    assert owed(stage) == []


def test_offsets_outside_beside_output_without_any_are_owed(stage: Staged) -> None:
    Worker(stage).work({})
    commit_outside(stage, FIRST, 3)
    assert owed(stage) == ["offsets_are_committed_with_the_output"]


def test_who_reads_output_may_commit_as_he_likes(stage: Staged) -> None:
    Worker(stage).work({})
    commit_outside(stage, OUT, 1, "reader")
    assert owed(stage) == []


def test_where_a_group_begins_may_be_said_outside(stage: Staged) -> None:
    Worker(stage).work({})
    commit_outside(stage, FIRST, 0)
    assert owed(stage) == []


def test_a_group_whose_offsets_go_with_transactions_may_be_set_outside_too(stage: Staged) -> None:
    commit_outside(stage, FIRST, 2)
    Worker(stage).work({FIRST: 3})
    assert owed(stage) == []


def test_offsets_outside_without_any_transaction_are_nobodys_business(stage: Staged) -> None:
    commit_outside(stage, OTHER, 5)
    Worker(stage).work({}, committed=False)
    assert owed(stage) == []


# ---------------------------------------------------------------- output outside of transactions


def write_outside(stage: Staged, place: TopicPartition, timestamp_ms: int) -> None:
    batch = Batch(records=(Record(None, b"o"),), timestamp_ms=timestamp_ms)
    stage.send(Produce(11, None, -1, {place: (SentBatch(batch),)}), node=stage.embedded.cluster.leader_of(place))


def test_output_outside_of_transactions_that_commit_its_offsets_is_owed(stage: Staged) -> None:
    worker = Worker(stage)
    write_outside(stage, OUT, stage.clock.now_ms())
    worker.work({FIRST: 3}, output=False)
    (found,) = stage.owed()
    assert found.promise == "output_is_committed_with_the_offsets"
    assert "group 'pricing' commits offsets of in-0 in transactions of 'app' that have no output" in found.story
    assert "records are written to out-0 outside of any transaction" in found.story


def test_output_inside_of_the_transaction_may_have_other_records_beside_it(stage: Staged) -> None:
    worker = Worker(stage)
    write_outside(stage, OTHER, stage.clock.now_ms())
    worker.work({FIRST: 3})
    worker.work({FIRST: 4}, output=False)
    assert owed(stage) == []


def test_input_is_no_output(stage: Staged) -> None:
    worker = Worker(stage)
    write_outside(stage, FIRST, stage.clock.now_ms())
    write_outside(stage, SECOND, stage.clock.now_ms())
    worker.work({FIRST: 1}, output=False)
    assert owed(stage) == []


@pytest.mark.parametrize("apart_ms", [-1, 1])
def test_what_was_there_before_or_comes_afterwards_is_no_output(stage: Staged, apart_ms: int) -> None:
    worker = Worker(stage)
    write_outside(stage, OUT, stage.clock.now_ms() + apart_ms)
    worker.work({FIRST: 1}, output=False)
    assert owed(stage) == []


def test_offsets_of_an_aborted_transaction_commit_nothing_beside_output(stage: Staged) -> None:
    worker = Worker(stage)
    write_outside(stage, OUT, stage.clock.now_ms())
    worker.work({FIRST: 3}, output=False, committed=False)
    assert owed(stage) == []
