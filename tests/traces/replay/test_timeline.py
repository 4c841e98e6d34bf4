"""A timeline: every log in its own order, logs between each other by time, and each finding where it belongs."""

import functools
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from zombieproof.model.vocabulary import TransactionState as S
from zombieproof.traces.evidence import ClientFact, ClientLine, Damage, ProducerSnapshot, ProducerSnapshotEntry
from zombieproof.traces.explaining.timeline.entries import Entry, EntryKind
from zombieproof.traces.explaining.timeline.subject import SubjectKind, subject_names, subjects_called
from zombieproof.traces.explaining.timeline.timeline import Timeline, in_order, timeline_of
from zombieproof.traces.judging.folded import Examined
from zombieproof.traces.narrowing import Narrowing
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.replay import judge

SAMPLES = Path(__file__).parents[2] / "recordings"
SHARED = Path(__file__).parents[4] / "shared/traces"
LARGE = ("19-soak", "20-epoch-exhaustion")
RECORDINGS = sorted(
    path
    for place in (SAMPLES, SHARED)
    if place.is_dir()
    for path in place.iterdir()
    if path.is_dir() and path.name not in LARGE
)
T0, T1 = ("t", 0), ("t", 1)


def label(path: Path) -> str:
    return "/".join(path.parts[-2:])


@functools.cache
def judged(path: Path) -> Examined:
    return judge(collect([path]))


def timeline(name: str, found: Examined, narrowing: Narrowing | None = None) -> Timeline:
    [subject] = subjects_called(name, found)
    return timeline_of(subject, found, narrowing or Narrowing())


def made_timeline(history: Any, name: str) -> Timeline:
    return timeline(name, judge(history.evidence))


def texts(found: Timeline, *kinds: EntryKind) -> list[str]:
    return [entry.text for entry in found.entries if not kinds or entry.kind in kinds]


# ---------------------------------------------------------------- order


@pytest.mark.parametrize("path", RECORDINGS, ids=label)
def test_each_log_keeps_its_own_order(path: Path) -> None:
    found = judged(path)
    for name in subject_names(found):
        for subject in subjects_called(name, found):
            entries = timeline_of(subject, found).entries
            assert entries
            for source in {entry.source for entry in entries}:
                mine = [entry for entry in entries if entry.source == source]
                for before, after in pairwise(mine):
                    if before.line is not None and after.line is not None:
                        assert before.line < after.line
                    if before.offset is not None and after.offset is not None:
                        assert before.offset <= after.offset


@pytest.mark.parametrize("path", RECORDINGS, ids=label)
def test_times_only_fall_where_the_order_of_a_log_says_so(path: Path) -> None:
    found = judged(path)
    for name in subject_names(found):
        for subject in subjects_called(name, found):
            latest: dict[str, int] = {}
            for entry in timeline_of(subject, found).entries:
                if entry.time_ms is None or entry.by_client:
                    continue
                others = [time for source, time in latest.items() if source != entry.source]
                fits = max(others, default=0) <= entry.time_ms
                assert fits or latest.get(entry.source, 0) > entry.time_ms or _follows_odd_time(subject, found)
                latest[entry.source] = max(entry.time_ms, latest.get(entry.source, 0))


def _follows_odd_time(subject: Any, found: Examined) -> bool:
    return any("does not fit" in note for note in timeline_of(subject, found).notes)


@pytest.mark.parametrize("path", RECORDINGS, ids=label)
def test_a_partition_shows_every_batch_once_and_every_finding(path: Path) -> None:
    found = judged(path)
    for place, history in found.partitions.items():
        if place[1] < 0:
            continue
        shown = timeline(f"partition {place[0]}-{place[1]}", found)
        in_the_log = (EntryKind.DATA, EntryKind.MARKER, EntryKind.CONTROL, EntryKind.OFFSETS)
        offsets = [e.offset for e in shown.entries if e.place == place and e.kind in in_the_log]
        assert offsets == [batch.base_offset for batch in history.log.batches]
        mine = [f for f in found.report.findings if (f.topic, f.partition) == place]
        assert shown.findings == mine
        marked = sorted([*shown.elsewhere, *(number for entry in shown.entries for number in entry.findings)])
        assert marked == list(range(len(mine)))


@pytest.mark.parametrize("path", RECORDINGS, ids=label)
def test_a_transactional_id_shows_its_records_its_data_and_its_markers(path: Path) -> None:
    found = judged(path)
    for history in found.histories:
        shown = timeline(f"id {history.transactional_id}", found)
        records = [r for r in found.evidence.transaction_states if r.transactional_id == history.transactional_id]
        assert len([entry for entry in shown.entries if entry.kind is EntryKind.STATE]) == len(records)
        for place, partition in found.partitions.items():
            batches = [b for b in partition.log.batches if b.producer_id in history.producer_ids]
            in_the_log = (EntryKind.DATA, EntryKind.MARKER, EntryKind.CONTROL, EntryKind.OFFSETS)
            assert [e.offset for e in shown.entries if e.place == place and e.kind in in_the_log] == [
                batch.base_offset for batch in batches
            ]


def entry(source: str, time_ms: int | None, text: str = "", *, by_client: bool = False) -> Entry:
    return Entry(EntryKind.DATA, source, text or f"{source}{time_ms}", source, time_ms=time_ms, by_client=by_client)


def merged(*sources: list[Entry]) -> list[str]:
    return [each.text for _, each in in_order(sources)]


def test_logs_are_put_between_each_other_by_time() -> None:
    assert merged([entry("a", 1), entry("a", 4)], [entry("b", 2), entry("b", 3)]) == ["a1", "b2", "b3", "a4"]


def test_a_time_that_falls_turns_no_log_round() -> None:
    assert merged([entry("a", 5), entry("a", 1)], [entry("b", 3)]) == ["b3", "a5", "a1"]


def test_a_producer_whose_clock_is_ahead_pushes_nothing_away() -> None:
    ahead = [entry("a", 999, by_client=True), entry("a", 2)]
    assert merged(ahead, [entry("b", 1), entry("b", 3)]) == ["b1", "a999", "a2", "b3"]
    # A broker's own clock is believed: nothing tells which of its times is wrong.
    ahead[0].by_client = False
    assert merged(ahead, [entry("b", 1), entry("b", 3)]) == ["b1", "b3", "a999", "a2"]


def test_what_has_no_time_stays_where_its_log_has_it() -> None:
    assert merged([entry("a", 1), entry("a", None, "x"), entry("a", 4)], [entry("b", 2)]) == ["a1", "x", "b2", "a4"]
    assert merged([entry("a", None, "x"), entry("a", 4)], [entry("b", 2)]) == ["b2", "x", "a4"]
    assert merged([entry("a", None, "x")], [entry("b", 2)]) == ["b2", "x"]


def test_of_the_same_time_the_sources_come_as_they_are_given() -> None:
    assert merged([entry("a", 1), entry("a", 1, "x")], [entry("b", 1)]) == ["a1", "x", "b1"]


# ---------------------------------------------------------------- content


def test_the_story_of_a_lost_commit_is_told() -> None:
    shown = timeline("orders-1", judged(SAMPLES / "09-offline-partition-lost-commit"))
    lost = next(entry for entry in shown.entries if entry.place == ("e", 0) and entry.offset == 2)
    assert (lost.kind, [shown.findings[n].promise for n in lost.findings]) == (
        EntryKind.DATA,
        ["every_listed_partition_has_its_marker"],
    )
    assert lost.utc is not None
    told = texts(shown)
    killed = told.index("operator SIGKILL broker 3: done")
    assert killed < told.index("ABORT marker of producer 1 epoch 3: ends the data at 2-3")
    assert "orders-1: PREPARE_COMMIT, producer 1 epoch 2, partitions [d-0, e-0]" in told[killed:]
    assert {entry.source.rsplit("/", 1)[-1] for entry in shown.entries} >= {
        "client.jsonl",
        "client.log",
        "server-1.log",
    }


def test_an_id_of_which_only_clients_speak_has_a_timeline(made: Any) -> None:
    shown = made_timeline(made.told(), "orders-1")
    assert texts(shown, EntryKind.CALL)[0] == "application app begin: ok"


def test_a_producer_shows_its_epoch_alone_and_the_marker_that_ends_it(made: Any) -> None:
    found = judge(made.two_transactions().evidence)
    assert texts(timeline("7:0", found), EntryKind.DATA, EntryKind.MARKER) == [
        "2 records in a transaction of producer 7 epoch 0, sequence 0-1",
        "2 records in a transaction of producer 7 epoch 0, sequence 0-1",
        "COMMIT marker of producer 7 epoch 1: ends the data at 0-1",
        "COMMIT marker of producer 7 epoch 1: ends the data at 0-1",
    ]
    states = texts(timeline("producer 7:0", found), EntryKind.STATE)
    assert [text.split(", ")[0] for text in states] == [
        "orders-1: EMPTY",
        "orders-1: ONGOING",
        "orders-1: PREPARE_COMMIT",
        "orders-1: COMPLETE_COMMIT",
    ]
    assert len(timeline("7", found).entries) > len(timeline("7:0", found).entries)


def test_a_partition_shows_the_records_of_the_transactions_that_list_it(made: Any) -> None:
    shown = made_timeline(made.two_transactions(), "t-1")
    states = texts(shown, EntryKind.STATE)
    assert len(states) == 3
    assert "COMPLETE_COMMIT" in states[-1]


def test_offsets_of_groups_are_told_on_their_log_and_on_the_partition_that_was_read(made: Any) -> None:
    found = judge(made.copier().evidence)
    commit = "group copier commits in-0 to 3, in the transaction of producer 7 epoch 0"
    for name in ("orders-1", "__consumer_offsets-0", "7"):
        assert commit in texts(timeline(name, found))
    history = made.copier()
    history.evidence.logs.append(replace(history.log(T0), topic="in"))
    assert texts(made_timeline(history, "in-0"), EntryKind.OFFSETS) == [commit]


def test_snapshots_and_the_index_are_told_beside_their_offsets(made: Any) -> None:
    history = made.indexed()
    remembered = (ProducerSnapshotEntry(7, 0, 0, 0, 1, last_sequence=0), ProducerSnapshotEntry(9, 0, 0, None, 1))
    history.evidence.snapshots.append(ProducerSnapshot("t", 0, "", 1, remembered, "1.snapshot"))
    assert texts(made_timeline(history, "t-0"))[:3] == [
        "1 record in a transaction of producer 7 epoch 0, sequence 0",
        "snapshot before this offset: 2 producers known, open: producer 7 from offset 0",
        "1 record in a transaction of producer 8 epoch 0, sequence 0",
    ]
    mine = texts(made_timeline(history, "7"))
    assert "snapshot before this offset: producer 7 epoch 0, last sequence 0, open from offset 0" in mine
    assert mine[-1] == "index of aborted transactions: producer 7 at 0-2"


def test_what_is_not_known_of_a_log_is_said_where_it_is(made: Any) -> None:
    history = made.two_transactions()
    log = history.log(T0)
    log.damaged_at, log.torn_tail = frozenset({2}), True
    history.evidence.damage.append(Damage("by hand", 0, "cut"))
    unknown = texts(made_timeline(history, "t-0"), EntryKind.UNKNOWN)
    assert unknown == [
        "what stood before this offset cannot be read",
        f"the log is cut: what stood from offset {log.end_offset} on is not known",
    ]
    history.remove(T1, 0)
    history.log(T1).start_offset = 1
    history.change(T1, 0, base_offset=3, last_offset=3)
    assert texts(made_timeline(history, "t-1"), EntryKind.UNKNOWN) == [
        "the log begins at offset 1",
        "no record is left at 1-2",
    ]


def test_a_log_in_the_zone_of_its_broker_is_put_right(made: Any) -> None:
    history = made.reported()
    lines = history.evidence.coordinator_lines
    history.evidence.coordinator_lines = [
        replace(line, line=number, timestamp_ms=line.target.last_update_ms + 5_400_000 + 7)
        for number, line in enumerate(lines, 1)
    ]
    shown = made_timeline(history, "orders-1")
    assert shown.notes == [
        "server.log is written 1.5 h ahead of UTC, as its own lines tell; its times are put right here"
    ]
    kinds = [entry.kind for entry in shown.entries[:2]]
    assert kinds == [EntryKind.STATE, EntryKind.COORDINATOR]
    in_utc = replace(lines[0], timestamp_ms=lines[0].target.last_update_ms + 44_000)
    history.evidence.coordinator_lines = [in_utc]
    assert made_timeline(history, "orders-1").notes == []


def test_lines_without_an_id_belong_to_the_producer_that_the_client_is_then(made: Any) -> None:
    history = made.two_transactions()

    def line(number: int, fact: ClientFact, after: str, producer_id: int = -1) -> ClientLine:
        return ClientLine("rd.log", number, 1, "rd#producer-1", None, fact, "", after, producer_id, 0)

    history.evidence.client_lines = [
        line(1, ClientFact.IDENTITY, "", 7),
        line(2, ClientFact.ASKED, "commit"),
        line(3, ClientFact.IDENTITY, "", 8),
        line(4, ClientFact.ASKED, "abort"),
    ]
    assert texts(made_timeline(history, "orders-1"), EntryKind.CLIENT) == [
        "client rd#producer-1 uses producer 7 epoch 0",
        "client rd#producer-1 asks to commit",
    ]
    assert texts(made_timeline(history, "8"), EntryKind.CLIENT)[-1] == "client rd#producer-1 asks to abort"


def test_what_people_wrote_into_their_records_is_not_told(made: Any) -> None:
    history = made.two_transactions()
    history.call("send", {"topic": "t", "offset": 1, "value": "secret"}, topic="t", key="secret", value="secret")
    history.call("poll", [{"offset": 1, "key": "secret", "value": "secret"}])
    assert not any("secret" in text for text in texts(made_timeline(history, "orders-1")))


def test_a_finding_of_a_line_stands_at_its_line(made: Any) -> None:
    history = made.reported()
    lines = history.evidence.coordinator_lines
    history.evidence.coordinator_lines = [replace(line, line=number) for number, line in enumerate(lines, 1)]
    wrong = replace(history.evidence.coordinator_lines[1], from_state=S.COMPLETE_ABORT, to_state=S.PREPARE_COMMIT)
    history.evidence.coordinator_lines[1] = replace(wrong, target=None)
    shown = made_timeline(history, "orders-1")
    [marked] = [entry for entry in shown.entries if entry.findings]
    assert (marked.kind, marked.line) == (EntryKind.COORDINATOR, 2)


def test_a_finding_that_no_entry_shows_is_told_at_the_end(made: Any) -> None:
    history = made.told()
    history.remove(T1, 1)
    history.remove(T1, 0)
    shown = made_timeline(history, "orders-1")
    assert [shown.findings[number].promise for number in shown.elsewhere] == [
        "what_the_application_was_told_is_what_the_logs_say"
    ]


def test_entries_outside_the_window_are_counted(made: Any) -> None:
    history = made.two_transactions()
    found = judge(history.evidence)
    everything = timeline("orders-1", found)
    middle = everything.entries[5].time_ms or 0
    early = timeline("orders-1", found, Narrowing(until_ms=middle))
    late = timeline("orders-1", found, Narrowing(since_ms=middle + 1))
    assert [*early.entries, *late.entries] == everything.entries
    assert (early.entries_left_out, late.entries_left_out) == (len(late.entries), len(early.entries))


def test_another_copy_that_differs_is_named(made: Any) -> None:
    history = made.replicated()
    other = history.log(T1, "broker-2")
    other.files = ["elsewhere"]
    notes = made_timeline(history, "t-1").notes
    assert notes == ["another copy of t-1, in elsewhere, differs; it is not in the timeline"]


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("orders-1", SubjectKind.ID, "orders-1"),
        ("id orders-1", SubjectKind.ID, "orders-1"),
        ("t-0", SubjectKind.PARTITION, "t-0"),
        ("partition t-0", SubjectKind.PARTITION, "t-0"),
        ("7", SubjectKind.PRODUCER, "7"),
        ("producer 7", SubjectKind.PRODUCER, "7"),
        ("7:1", SubjectKind.PRODUCER, "7:1"),
        ("__transaction_state-0", SubjectKind.PARTITION, "__transaction_state-0"),
    ],
)
def test_a_name_is_understood(made: Any, text: str, kind: SubjectKind, name: str) -> None:
    [subject] = subjects_called(text, judge(made.two_transactions().evidence))
    assert (subject.kind, subject.name) == (kind, name)


@pytest.mark.parametrize("text", ["", "orders", "t-9", "8", "7:9", "id t-0", "partition orders-1", "producer x", "-1"])
def test_a_name_of_nothing_is_nothing(made: Any, text: str) -> None:
    assert subjects_called(text, judge(made.two_transactions().evidence)) == []


def test_a_name_of_two_things_is_both_and_can_be_made_clear(made: Any) -> None:
    history = made()
    for name in ("t-0", "7", "id t-0"):
        history.state(S.EMPTY, 7, 0, transactional_id=name)
    history.data(T0, 7, 0, 0)
    found = judge(history.evidence)
    kinds = {text: [str(each) for each in subjects_called(text, found)] for text in ("t-0", "7")}
    assert kinds == {"t-0": ["id t-0", "partition t-0"], "7": ["id 7", "producer 7"]}
    for name in ("partition t-0", "producer 7", "id 7", "id id t-0"):
        assert [str(each) for each in subjects_called(name, found)] == [name]


def test_a_partition_that_is_only_listed_has_a_timeline(made: Any) -> None:
    history = made.two_transactions()
    history.evidence.logs = [log for log in history.evidence.logs if log.topic_partition != T1]
    assert len(texts(made_timeline(history, "t-1"), EntryKind.STATE)) == 3
