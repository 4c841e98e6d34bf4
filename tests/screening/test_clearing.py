"""What the screen clears, the judges find nothing in; and a log that conforms is cleared, in however many segments."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from tests.screening.drawn import steps, written
from tests.screening.logs import Log, Written, segments_of, shifted
from zombieproof.formats.control_records import EndMarker
from zombieproof.formats.record_batch import HEADER, TRANSACTIONAL_BIT, header_at, sealed
from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from zombieproof.model.rules import PRESETS, Rules, preset
from zombieproof.screening import kernel, summaries
from zombieproof.screening.cleared_log import ABORTED_FIELDS, ClearedLog
from zombieproof.screening.clearing import screen_data, screen_segment, whole
from zombieproof.screening.kernel import END_FIELDS, UNSEEN
from zombieproof.screening.outcomes import of_ends, of_open
from zombieproof.screening.rules import Unclear
from zombieproof.screening.spilling import Pile, RowsByFirst, SortedRows, Spill
from zombieproof.screening.summaries import Summary, beginning, merge
from zombieproof.traces.evidence import Damage, PartitionLog, Source
from zombieproof.traces.judging.folded import fold
from zombieproof.traces.judging.histories.coordinator_facts import CoordinatorFacts
from zombieproof.traces.judging.histories.coordinator_history import IdHistory
from zombieproof.traces.judging.histories.partition_fold import read_partition
from zombieproof.traces.judging.histories.partition_history import PartitionHistory
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.merge import copies_of
from zombieproof.traces.readers.segments import read_segment
from zombieproof.traces.watching import Watch

HERE = Path(__file__).resolve().parents[1]
RECORDINGS = [
    folder
    for root in (HERE / "recordings", HERE.parents[1] / "shared" / "traces")
    for folder in (sorted(root.iterdir()) if root.is_dir() else ())
    if folder.is_dir()
]


def judged(
    segments: Iterable[tuple[str, bytes]], facts: CoordinatorFacts | None = None
) -> tuple[PartitionHistory, list[Damage]]:
    """What the readers and the judge of one partition say."""
    contents = [read_segment(memoryview(data), name) for name, data in segments]
    [copy] = copies_of((Source.SEGMENT, "", content) for content in contents)
    damage = copy.damage + [place for content in contents for place in content.damage]
    return read_partition(copy.log, facts or CoordinatorFacts(), Rules()), damage


def screened(segments: Iterable[tuple[str, bytes]], rows: int = 1 << 16) -> Summary:
    return whole(screen_data(memoryview(data), name, "t", rows) for name, data in segments)


def cleared(summary: Summary) -> ClearedLog:
    """A cleared log as judges ask of it, without its segments."""
    spill = Spill()
    rows, ends = SortedRows(spill), RowsByFirst(END_FIELDS, spill)
    ends.add(summary.ends())
    rows.add(of_ends(summary.ends()))
    rows.add(of_open(summary.open_runs()))
    return ClearedLog(summary, rows, Pile(ABORTED_FIELDS, spill), ends, [])


def in_history(history: PartitionHistory) -> tuple[list[tuple[object, ...]], dict[int, tuple[object, ...]]]:
    """Endings in the order of the log, and what is open."""
    ended = [
        (
            ending.producer_id,
            ending.epoch,
            ending.offset,
            ending.timestamp_ms,
            ending.commits,
            None
            if ending.run is None
            else (
                ending.run.epoch,
                ending.run.first_offset,
                ending.run.last_offset,
                ending.run.records,
                ending.run.stretches[0].first_ms,
            ),
        )
        for endings in history.endings.values()
        for ending in endings
    ]
    runs = {pid: history.open_run(pid) for pid in history.runs}
    still = {
        pid: (run.epoch, run.first_offset, run.last_offset, run.records, run.stretches[0].first_ms)
        for pid, run in runs.items()
        if run is not None
    }
    return sorted(ended, key=lambda each: each[2]), still  # type: ignore[arg-type, return-value]


def in_summary(summary: Summary) -> tuple[list[tuple[object, ...]], dict[int, tuple[object, ...]]]:
    ended: list[tuple[object, ...]] = [
        (
            end.producer_id,
            end.marker_epoch,
            end.marker_offset,
            end.marker_ms,
            bool(end.commits),
            None
            if end.first_offset == UNSEEN
            else (end.epoch, end.first_offset, end.last_offset, end.records, end.first_ms),
        )
        for end in summary.endings()
    ]
    still: dict[int, tuple[object, ...]] = {
        pid: (each.run_epoch, each.run_first, each.run_last, each.run_records, each.run_first_ms)
        for pid, each in summary.open_runs().items()
    }
    return ended, still


def agree(segments: list[tuple[str, bytes]], rows: int = 1 << 16) -> Summary:
    """What is cleared, the fold finds nothing in, and it tells the same history."""
    summary, (history, damage) = screened(segments, rows), judged(segments)
    if summary.is_clear:
        assert not history.faults
        assert not damage
        assert in_summary(summary) == in_history(history)
        assert (summary.earliest_ms, summary.end) == (history.earliest_ms, history.log.end_offset)
    return summary


# ---------------------------------------------------------------- logs that are drawn

STEPS = steps()
CUTS = st.lists(st.integers(1, 13), max_size=3)


@pytest.mark.slow
@given(STEPS, CUTS, st.integers(1, 4))
def test_a_log_that_conforms_is_cleared_in_however_many_segments_and_chunks(
    steps: list[Any], cuts: list[int], rows: int
) -> None:
    log = written(steps)
    if log:
        assert agree(segments_of(log, cuts), rows).is_clear


ALTERATIONS: dict[str, Callable[[Written], Written]] = {
    "epoch + 1": lambda batch: replace(batch, epoch=batch.epoch + 1),
    "epoch - 1": lambda batch: replace(batch, epoch=max(-1, batch.epoch - 1)),
    "sequence + 1": lambda batch: replace(batch, sequence=batch.sequence + 1),
    "sequence - 1": lambda batch: replace(batch, sequence=max(-1, batch.sequence - 1)),
    "sequence 0": lambda batch: replace(batch, sequence=0),
    "another producer": lambda batch: replace(batch, producer_id=(batch.producer_id + 1) % 3),
    "nobody's": lambda batch: replace(batch, producer_id=-1),
    "transactional or not": lambda batch: replace(batch, is_transactional=not batch.is_transactional),
    "another outcome": lambda batch: replace(batch, marker=batch.marker and EndMarker(not batch.marker.committed, 0)),
    "an older coordinator": lambda batch: replace(batch, marker=batch.marker and EndMarker(True, -2)),
    "a newer coordinator": lambda batch: replace(batch, marker=batch.marker and EndMarker(True, 2)),
    "damaged": lambda batch: replace(batch, is_damaged=True),
    "a lower offset": lambda batch: replace(batch, base_offset=max(0, batch.base_offset - 1)),
    "a higher offset": lambda batch: replace(batch, base_offset=batch.base_offset + 1),
    "a newer leader": lambda batch: replace(batch, leader_epoch=1),
    "more records": lambda batch: replace(batch, count=batch.count + 1) if batch.marker is None else batch,
}


@pytest.mark.slow
@given(
    STEPS, CUTS, st.lists(st.tuples(st.sampled_from(sorted(ALTERATIONS)), st.integers(0, 13)), min_size=1, max_size=2)
)
def test_what_is_cleared_of_an_altered_log_the_judges_find_nothing_in(
    steps: list[Any], cuts: list[int], alterations: list[tuple[str, int]]
) -> None:
    log = written(steps)
    for name, at in alterations:
        if log:
            log[at % len(log)] = ALTERATIONS[name](log[at % len(log)])
    if log:
        event(f"cleared: {agree(segments_of(log, cuts)).is_clear}")


@given(STEPS, CUTS, st.sampled_from(("left out", "doubled", "exchanged", "a gap")), st.integers(0, 13))
def test_what_is_cleared_of_a_log_with_moved_batches_the_judges_find_nothing_in(
    steps: list[Any], cuts: list[int], how: str, at: int
) -> None:
    log = written(steps)
    if not log:
        return
    at %= len(log)
    if how == "left out":
        del log[at]
    elif how == "doubled":
        log = shifted([*log[: at + 1], log[at], *log[at + 1 :]], at + 1, log[at].count)
    elif how == "exchanged" and at:
        one, other = log[at - 1], log[at]
        log[at - 1] = replace(other, base_offset=one.base_offset)
        log[at] = replace(one, base_offset=one.base_offset + other.count)
    elif how == "a gap":
        log = shifted(log, at, 5)
    if log:
        agree(segments_of(log, cuts))


@given(STEPS, st.integers(1, 6), st.integers(1, 6))
def test_merging_is_associative(steps: list[Any], first: int, second: int) -> None:
    log = written(steps)
    if not log:
        return
    parts = [screen_data(memoryview(data), name, "t") for name, data in segments_of(log, (first, first + second))]
    start = beginning(0, start_offset=0, is_cleaned=False, judges_sequences=True)
    from_left = reduce(merge, [start, *parts])
    from_right = reduce(lambda after, before: merge(before, after), reversed([start, *parts]))
    assert from_left.producers == from_right.producers
    assert list(from_left.endings()) == list(from_right.endings())
    assert (from_left.unclear, from_left.gap_at, from_left.end) == (
        from_right.unclear,
        from_right.gap_at,
        from_right.end,
    )


# ---------------------------------------------------------------- each rule

DATA = Written(0, 1, 0, 0, 0, is_transactional=True)
COMMIT = Written(1, 1, 0, 0, -1, is_transactional=True, marker=EndMarker(True, 1))

BROKEN: dict[Unclear, Log] = {
    Unclear.NOT_BELIEVED: (DATA, replace(COMMIT, is_damaged=True), replace(DATA, base_offset=2, sequence=1)),
    Unclear.OUT_OF_ORDER: (replace(DATA, base_offset=3), replace(COMMIT, base_offset=1)),
    Unclear.TOO_FAR: (DATA, replace(COMMIT, base_offset=1 << 31)),
    Unclear.LEADER_EPOCH_FALLS: (replace(DATA, leader_epoch=3), COMMIT),
    Unclear.EPOCH_FALLS: (replace(DATA, epoch=2), replace(COMMIT, epoch=1)),
    Unclear.NEW_EPOCH_INSIDE: (DATA, replace(DATA, base_offset=1, epoch=1)),
    Unclear.PLAIN_INSIDE: (DATA, replace(DATA, base_offset=1, sequence=1, is_transactional=False)),
    Unclear.SEQUENCE: (DATA, replace(DATA, base_offset=1, sequence=2)),
    Unclear.BEHIND_A_GAP: (DATA, Written(1), replace(DATA, base_offset=3, sequence=0)),
    Unclear.COORDINATOR_EPOCH_FALLS: (DATA, COMMIT, replace(COMMIT, base_offset=2, marker=EndMarker(True, 0))),
}
"""For each rule a log in which the judges or the readers find something."""

IN_THE_KERNEL = ("batch_rule", "note", "take_data", "data_rule", "marker_rule", "screen_rows", "take_marker")


@pytest.mark.parametrize("rule", BROKEN, ids=lambda rule: rule.name)
@pytest.mark.parametrize("cuts", [(), (1,), (1, 2)], ids=str)
def test_each_rule_refuses_what_the_judges_refuse(rule: Unclear, cuts: tuple[int, ...]) -> None:
    segments = segments_of(BROKEN[rule], cuts)
    history, damage = judged(segments)
    known_within_a_segment = rule in (Unclear.OUT_OF_ORDER, Unclear.TOO_FAR, Unclear.LEADER_EPOCH_FALLS)
    if not (known_within_a_segment and cuts):
        assert history.faults or damage
        assert not screened(segments).is_clear
    if not cuts:
        assert screened(segments).unclear is rule


def without(function: Callable[..., Any], rule: str, scope: dict[str, Any]) -> Callable[..., Any]:
    """The interpreted function without the guards that return this rule."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(getattr(function, "py_func", function))))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
        if isinstance(node, ast.If) and _returns(node.body, rule):
            node.test = ast.copy_location(ast.Constant(value=False), node.test)
    made: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(tree), "a mutant", "exec"), scope, made)
    return next(iter(made.values()))  # type: ignore[no-any-return]


def _returns(body: list[ast.stmt], rule: str) -> bool:
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return False
    names = {node.id for node in ast.walk(body[0].value) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(body[0].value) if isinstance(node, ast.Attribute)}
    return rule in names


def leave_out(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    """Run the kernel and the merge interpreted, without one rule ("": with all of them)."""
    scope = dict(vars(kernel))
    scope["follows_on"] = kernel.follows_on.py_func  # type: ignore[attr-defined]
    for name in IN_THE_KERNEL:
        scope[name] = without(getattr(kernel, name), rule, scope)
    around = dict(vars(summaries)) | {"data_rule": scope["data_rule"]}
    monkeypatch.setattr(summaries, "screen_rows", scope["screen_rows"])
    monkeypatch.setattr(summaries, "data_rule", scope["data_rule"])
    monkeypatch.setattr(summaries, "_link", without(summaries._link, rule, around))


@pytest.mark.parametrize("rule", BROKEN, ids=lambda rule: rule.name)
@pytest.mark.parametrize("cuts", [(), (1,)], ids=str)
def test_a_rule_that_is_left_out_is_noticed(
    rule: Unclear, cuts: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    within = (Unclear.OUT_OF_ORDER, Unclear.TOO_FAR, Unclear.LEADER_EPOCH_FALLS, Unclear.NOT_BELIEVED)
    if cuts and rule in within:
        cuts = ()
    segments = segments_of(BROKEN[rule], cuts)
    leave_out(monkeypatch, rule.name)
    if rule is Unclear.NOT_BELIEVED:
        monkeypatch.setattr(summaries.SegmentScreen, "refuse", lambda self, rule, offset=-1: None)
    summary, (history, damage) = screened(segments), judged(segments)
    assert summary.is_clear
    assert history.faults or damage


@pytest.mark.slow
@given(STEPS, CUTS)
def test_interpreted_as_compiled(steps: list[Any], cuts: list[int]) -> None:
    log = written(steps)
    if not log:
        return
    segments = segments_of(log, cuts)
    compiled = screened(segments)
    with pytest.MonkeyPatch.context() as monkeypatch:
        leave_out(monkeypatch, "")
        interpreted = screened(segments)
    assert interpreted.producers == compiled.producers
    assert list(interpreted.endings()) == list(compiled.endings())


def test_a_producer_without_an_epoch_is_not_cleared() -> None:
    assert screened(segments_of([replace(DATA, epoch=-1)], ())).unclear is Unclear.NO_EPOCH


def test_a_client_without_sequences_is_not_cleared_and_a_group_coordinator_is() -> None:
    log = [replace(DATA, sequence=-1), COMMIT]
    [(name, data)] = segments_of(log, ())
    assert screened([(name, data)]).unclear is Unclear.NO_SEQUENCE
    assert whole([screen_data(memoryview(data), name, CONSUMER_OFFSETS)]).is_clear


def test_a_marker_that_is_not_transactional_is_not_cleared() -> None:
    header = header_at(memoryview(COMMIT.encoded()), 0)
    plain = sealed(header._replace(attributes=header.attributes & ~TRANSACTIONAL_BIT), COMMIT.encoded()[HEADER.size :])
    data = replace(DATA, count=1).encoded() + plain
    assert whole([screen_data(memoryview(data), f"t-0/{0:020}.log", "t")]).unclear is Unclear.NOT_TRANSACTIONAL


def test_a_missing_segment_is_not_cleared() -> None:
    [first, _, last] = segments_of([DATA, COMMIT, replace(DATA, base_offset=2, sequence=1)], (1, 2))
    assert screened([first, last]).unclear is Unclear.SEGMENT_MISSING


@pytest.mark.parametrize("name", PRESETS)
def test_nothing_is_cleared_by_other_rules(name: str) -> None:
    summary = whole([screen_data(memoryview(DATA.encoded()), "t-0/" + "0" * 20 + ".log", "t")], rules=preset(name))
    assert summary.is_clear == (preset(name) == Rules())


def test_a_log_has_a_segment() -> None:
    with pytest.raises(ValueError, match="a segment at least"):
        whole([])


def test_one_transaction_with_two_outcomes_is_not_cleared() -> None:
    raised = replace(COMMIT, epoch=1)
    logs = {"a": [DATA, raised], "b": [DATA, raised], "c": [DATA, replace(raised, marker=EndMarker(False, 1))]}
    a, b, c = (cleared(screened(segments_of(log, ()))) for log in logs.values())
    assert not a.together([b, c], ()).agree([])
    assert a.together([b, c], {0}).agree([])
    assert a.together([b], ()).agree([])
    assert a.together([], ()).agree([(0, 1, True), (1, 1, False), (0, 2, False)])
    assert not a.together([], ()).agree([(0, 1, False)])


# ---------------------------------------------------------------- with the coordinator's log

PAIRS = [(producer_id, epoch) for producer_id in range(3) for epoch in range(4)]
VERSIONS = st.dictionaries(st.sampled_from(PAIRS), st.integers(0, 2), max_size=len(PAIRS))


Versions = dict[tuple[int, int], int]


def facts_of(data: Versions, markers: Versions, owned: set[int]) -> CoordinatorFacts:
    owner = IdHistory("an id", 0, producer_ids=owned)
    return CoordinatorFacts(data, markers, dict.fromkeys(owned, owner))


@given(STEPS, VERSIONS, VERSIONS, st.sets(st.integers(0, 2)), st.booleans())
def test_what_is_cleared_beside_any_coordinator_the_judge_of_the_partition_finds_nothing_in(
    steps: list[Any],
    data: Versions,
    markers: Versions,
    owned: set[int],
    is_known: bool,
) -> None:
    log = written(steps)
    if not log:
        return
    if is_known:  # Or nearly nothing would be cleared of what is owned.
        data, markers = dict.fromkeys(PAIRS, 2) | data, dict.fromkeys(PAIRS, 1) | markers
    facts, segments = facts_of(data, markers, owned), segments_of(log, ())
    summary = screened(segments)
    is_clear = cleared(summary).agrees_with(facts)
    event(f"cleared: {is_clear}")
    if is_clear:
        history, _ = judged(segments, facts)
        assert not history.faults
        assert in_summary(summary) == in_history(history)


RAISED = replace(COMMIT, epoch=1)
BESIDE: dict[str, tuple[Log, CoordinatorFacts]] = {
    "data of no transaction": ([DATA, RAISED], facts_of({}, {(0, 1): 2}, {0})),
    "open data of no transaction": ([DATA], facts_of({}, {}, {0})),
    "a marker that should raise the epoch": ([DATA, COMMIT], facts_of({(0, 0): 2}, {(0, 0): 2}, {0})),
}


@pytest.mark.parametrize("name", BESIDE)
def test_what_the_coordinator_contradicts_is_not_cleared(name: str) -> None:
    log, facts = BESIDE[name]
    segments = segments_of(log, ())
    assert judged(segments, facts)[0].faults
    assert screened(segments).is_clear
    assert not cleared(screened(segments)).agrees_with(facts)


def test_a_marker_of_no_decision_is_left_to_the_judge_of_markers() -> None:
    log = cleared(screened(segments_of([DATA, RAISED], ())))
    assert not log.agrees_with(facts_of({(0, 0): 2}, {}, {0}))
    assert log.agrees_with(facts_of({(0, 0): 2}, {(0, 1): 2}, {0}))


# ---------------------------------------------------------------- what real clusters recorded


@pytest.mark.long("19-soak", "20-epoch-exhaustion")
@pytest.mark.sample("hanging", "commit", "zombie", "removed", "truncated")
@pytest.mark.parametrize("folder", RECORDINGS, ids=lambda folder: folder.name)
def test_what_is_cleared_of_a_recording_the_judges_find_nothing_in(folder: Path) -> None:
    evidence = collect([folder])
    folded = fold(evidence, Rules(), Watch())
    for place, history in folded.partitions.items():
        log = history.log
        if log.source is not Source.SEGMENT or place[0] == TRANSACTION_STATE:
            continue
        summary = of_log(log)
        if summary.is_clear and cleared(summary).agrees_with(folded.facts):
            assert not history.faults
            assert in_summary(summary) == in_history(history)


def of_log(log: PartitionLog) -> Summary:
    found = [screen_segment(Path(file), log.topic) for file in log.files]
    return whole(found, start_offset=log.start_offset, is_cleaned=log.cleaned)


@pytest.mark.slow
def test_most_logs_of_recordings_are_cleared() -> None:
    clear = others = 0
    for folder in RECORDINGS:
        folded = fold(collect([folder]), Rules(), Watch())
        for place, history in folded.partitions.items():
            if history.log.source is Source.SEGMENT and place[0] != TRANSACTION_STATE:
                summary = of_log(history.log)
                is_clear = summary.is_clear and cleared(summary).agrees_with(folded.facts)
                clear, others = clear + is_clear, others + (not is_clear)
    assert clear > others > 0
