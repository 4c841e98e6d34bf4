"""The life of a topic: one that was deleted and created again is not held against transactions of the first one.

Neither the partition's log nor ``__transaction_state`` tells the two topics apart. Histories are drawn from a script of
the old protocol, in which an epoch has many transactions, with deletions in between; the same histories with a marker
taken out of the present log must be found out.
"""

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zombieproof.formats.record_batch import TimestampType
from zombieproof.model.vocabulary import TransactionState as S
from zombieproof.traces.evidence import TopicIdentity, TopicLife
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.report import Judgement, Report

if TYPE_CHECKING:
    from tests.traces.replay.conftest import History

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)
LOST = "every_listed_partition_has_its_marker"
few = settings(max_examples=(settings.default or settings()).max_examples // 2)


class Producer:
    """A producer whose client counts its sequences on, or from 0, in a topic that was created again."""

    def __init__(self, history: "History", *, tv: int, counts_on: bool = True) -> None:
        self.history, self.tv, self.counts_on = history, tv, counts_on
        self.epoch = 0
        self.sequences: dict[tuple[str, int], int] = {}
        history.state(S.EMPTY, 7, 0, tv=tv)

    def commit(self, *places: tuple[str, int], commit: bool = True) -> None:
        history, end = self.history, self.epoch + (self.tv == 2)
        history.state(S.ONGOING, 7, self.epoch, *places, tv=self.tv)
        for place in places:
            sequence = self.sequences.get(place, 0)
            history.data(place, 7, self.epoch, sequence)
            self.sequences[place] = sequence + 1
        history.state(S.PREPARE_COMMIT if commit else S.PREPARE_ABORT, 7, end, *places, tv=self.tv)
        for place in places:
            history.marker(place, 7, end, commit)
        history.state(S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT, 7, end, tv=self.tv)
        if self.tv == 2:
            self.epoch, self.sequences = end, {}

    def recreate(self, topic: str, *, after_ms: int = 2_000, recorded: bool = False) -> None:
        """Delete a topic and create it again."""
        history = self.history
        removed = history.now
        history.now += after_ms
        history.evidence.logs = [log for log in history.evidence.logs if log.topic != topic]
        if not self.counts_on:
            self.sequences = {place: at for place, at in self.sequences.items() if place[0] != topic}
        if recorded:
            lives = history.evidence.topic_lives
            lives.append(TopicLife(topic, f"id-{len(lives)}", None, "by hand", removed_ms=removed))
            lives.append(TopicLife(topic, f"id-{len(lives)}", history.now, "by hand"))


def report(history: "History") -> Report:
    return replay(history.evidence)


@few
@given(data=st.data())
def test_a_healthy_log_conforms_whenever_its_topics_were_created_again(
    data: st.DataObject, made: "type[History]"
) -> None:
    history = made()
    history.step_ms = data.draw(st.sampled_from([10, 10, 1, 0]))
    producer = Producer(history, tv=data.draw(st.sampled_from([0, 2])), counts_on=data.draw(st.booleans()))
    recorded = data.draw(st.booleans())
    for _ in range(data.draw(st.integers(1, 3))):
        for _ in range(data.draw(st.integers(0, 3))):
            places = data.draw(st.lists(st.sampled_from([T0, T1, U0]), min_size=1, unique=True))
            producer.commit(*places, commit=data.draw(st.booleans()))
        apart = data.draw(st.sampled_from([0, 100, 5_000]))
        producer.recreate(data.draw(st.sampled_from("tu")), after_ms=apart, recorded=recorded)
    producer.commit(T0, T1, U0)
    found = report(history)
    assert found.findings == []
    assert found.verdict is Judgement.CONFORMS
    assert not (recorded and found.not_judged and history.step_ms)


@few
@given(data=st.data())
def test_a_marker_that_is_lost_in_the_present_log_is_found(data: st.DataObject, made: "type[History]") -> None:
    history = made()
    producer = Producer(history, tv=data.draw(st.sampled_from([0, 2])), counts_on=data.draw(st.booleans()))
    before, recorded = data.draw(st.integers(0, 2)), data.draw(st.booleans())
    for _ in range(before):
        producer.commit(T0, U0)
    producer.recreate("t", recorded=recorded)
    for _ in range(data.draw(st.integers(2, 4))):
        producer.commit(T0)
    markers = [index for index, batch in enumerate(history.log(T0).batches) if batch.is_control]
    history.remove(T0, data.draw(st.sampled_from(markers)))
    found = report(history)
    if before and not recorded and producer.tv == 0 and producer.counts_on:
        # The transaction may be one of the earlier log: nothing tells when this one was created.
        assert found.findings or "t-0" in [gap.name for gap in found.not_judged]
    else:
        assert LOST in [finding.promise for finding in found.findings]


@few
@given(data=st.data())
def test_a_marker_that_is_lost_in_a_crowded_millisecond_is_found_or_not_judged(
    data: st.DataObject, made: "type[History]"
) -> None:
    history = made()
    history.step_ms = data.draw(st.sampled_from([0, 1]))
    producer = Producer(history, tv=data.draw(st.sampled_from([0, 2])), counts_on=data.draw(st.booleans()))
    for _ in range(data.draw(st.integers(0, 2))):
        producer.commit(T0, commit=data.draw(st.booleans()))
    producer.recreate("t", after_ms=0, recorded=data.draw(st.booleans()))
    for _ in range(data.draw(st.integers(1, 3))):
        producer.commit(T0, commit=data.draw(st.booleans()))
    markers = [index for index, batch in enumerate(history.log(T0).batches) if batch.is_control]
    history.remove(T0, data.draw(st.sampled_from(markers)))
    found = report(history)
    assert found.findings or "t-0" in [gap.name for gap in found.not_judged]


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("tv", [0, 2])
def test_an_equal_millisecond_does_not_excuse_a_marker_whose_data_is_there(
    tv: int, recorded: bool, made: "type[History]"
) -> None:
    history = made()
    history.step_ms = 0
    producer = Producer(history, tv=tv)
    producer.recreate("t", after_ms=0, recorded=recorded)
    producer.commit(T0)
    producer.commit(T0)
    history.remove(T0, 3)
    assert [finding.promise for finding in report(history).findings] == [LOST]


def test_records_with_times_in_the_future_excuse_nobody(made: "type[History]") -> None:
    history = made()
    producer = Producer(history, tv=0)
    for _ in range(2):
        producer.commit(T0)
    producer.recreate("t")
    for _ in range(3):
        producer.commit(T0)
    history.remove(T0, 1)
    history.change(T0, 0, max_timestamp_ms=history.now + 1_000_000)
    found = report(history)
    assert found.findings or "t-0" in [gap.name for gap in found.not_judged]


def test_the_count_of_what_is_not_expected_is_reported(made: "type[History]") -> None:
    history = made()
    producer = Producer(history, tv=0)
    for _ in range(3):
        producer.commit(T0)
    producer.recreate("t")
    producer.commit(T0)
    found = report(history)
    assert (found.verdict, found.not_judged) == (Judgement.CONFORMS, [])
    assert [(each.partition, each.count) for each in found.earlier_logs] == [("t-0", 3)]


def test_what_neither_sequences_nor_times_tell_is_not_judged(made: "type[History]") -> None:
    history = made()
    producer = Producer(history, tv=0, counts_on=False)
    producer.commit(T0)
    producer.recreate("t", after_ms=100)
    producer.commit(T0)
    found = report(history)
    assert found.findings == []
    [gap] = found.not_judged
    assert (gap.name, gap.gap) == ("t-0", "missing")
    assert "__cluster_metadata-0" in gap.fetch


def test_records_that_carry_old_times_of_events_accuse_nobody(made: "type[History]") -> None:
    history = made()
    producer = Producer(history, tv=0)
    producer.commit(T0)
    producer.recreate("t")
    history.plain(T0)
    history.change(T0, 0, max_timestamp_ms=1_000_000_000_000)
    found = report(history)
    assert found.findings == []
    assert [gap.name for gap in found.not_judged if gap.name == "t-0"] == ["t-0"]


def test_the_time_of_the_append_tells_when_a_log_was_there(made: "type[History]") -> None:
    history = made()
    history.plain(T0)
    history.change(T0, 0, timestamp_type=TimestampType.LOG_APPEND_TIME)
    history.state(S.EMPTY, 7, 0)
    history.state(S.ONGOING, 7, 0, T0)
    history.state(S.PREPARE_COMMIT, 7, 1, T0)
    history.state(S.COMPLETE_COMMIT, 7, 1)
    assert [finding.promise for finding in report(history).findings] == [LOST]


@pytest.mark.parametrize("has_partition", [True, False])
def test_a_deleted_topic_is_no_gap(made: "type[History]", has_partition: bool) -> None:
    history = made()
    producer = Producer(history, tv=0)
    producer.commit(T0, U0)
    history.evidence.logs = [log for log in history.evidence.logs if log.topic != "t"]
    life = TopicLife("t", "id-1", history.now, "by hand", removed_ms=history.now + 1)
    history.evidence.topic_lives.append(life)
    if has_partition:
        # It was created again with another partition only.
        history.evidence.topic_lives.append(TopicLife("t", "id-2", history.now + 2, "by hand", partitions={1: 5}))
        history.evidence.topic_identities.append(TopicIdentity("t-1", "t", 1, "id-2"))
    found = report(history)
    assert (found.findings, found.not_judged) == ([], [])
    assert [(each.partition, each.count) for each in found.earlier_logs] == [("t-0", 1)]


def test_a_partition_that_was_never_deleted_is_missing(made: "type[History]") -> None:
    history = made()
    Producer(history, tv=0).commit(T0, U0)
    history.evidence.logs = [log for log in history.evidence.logs if log.topic != "t"]
    history.evidence.topic_lives.append(TopicLife("t", "id-1", 0, "by hand", partitions={0: 0}))
    assert [gap.name for gap in report(history).not_judged] == ["t-0"]


@pytest.mark.parametrize("recorded", [True, False])
def test_what_was_told_of_a_record_before_its_topic_was_created_again_is_not_expected(
    made: "type[History]", recorded: bool
) -> None:
    history = made()
    producer = Producer(history, tv=2)
    history.call("begin")
    history.sent(T0, 3)
    producer.commit(T0)
    history.call("commit")
    producer.recreate("t", recorded=recorded)
    history.now += 2_000
    producer.commit(T0)
    found = report(history)
    assert found.findings == []
    assert [gap.name for gap in found.not_judged] == ([] if recorded else ["t-0"])
