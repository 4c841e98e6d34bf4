"""The request layer: what of a request is judged before a machine is asked, and what of its answer is said otherwise.

Each request is sent, in every version that the case speaks of, to a cluster of one broker which has been brought into
the state in which the machine behind the request layer answers as the case says. Cases about rights have tests that
were written for them (test_rights).
"""

import re
from collections.abc import Callable, Iterable

from tests.conformance.cases import Case, NotRunnable
from tests.conformance.phrases import Fields, check, error_name, error_of, matched
from tests.conformance.request_layer import (
    GROUP,
    ID,
    NODE,
    OFFSETS,
    REQUESTS,
    TIMEOUT_MS,
    TOPIC,
    WAYS,
    WHO_IS_ASKED,
    Part,
    Scene,
    add_partitions,
    errors_of,
)
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.groups import OffsetFetch, OffsetFetchAnswer, OffsetToCommit, TxnOffsetCommit
from zombieproof.messages.partitions import (
    LATEST,
    ListOffsets,
    ListOffsetsAnswer,
    MarkerToWrite,
    Produce,
    SentBatch,
    WriteTxnMarkers,
    WriteTxnMarkersAnswer,
)
from zombieproof.messages.transactions import InitProducerId
from zombieproof.model.vocabulary import NONE, Error, Isolation


def run(case: Case) -> None:
    """Run one case."""
    for pattern, step in STEPS.items():
        match = re.fullmatch(pattern, case.when) if isinstance(case.when, str) else None
        if match is not None:
            step(case, match)
            return
    raise NotRunnable(f"step {case.when!r} is not understood")


def _versions(case: Case, match: re.Match[str]) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    name = match["api"]
    all_versions, request_of = REQUESTS[name]
    answers = list(given.items())
    machine, answer = answers[0] if len(answers) == 1 else ("", "")
    way = WAYS.get((machine, str(answer)))
    if way is None or name not in WHO_IS_ASKED[machine]:
        raise NotRunnable(f"given {case.given!r} is not understood for {name}")
    wanted = {version: error for key, error in expect.items() for version in _range(key, all_versions)}
    said = set(_spoken_of(match["versions"], all_versions))
    if set(wanted) != said or said != set(all_versions):
        raise NotRunnable(f"{case.when!r} and {case.expect!r} do not cover versions {list(all_versions)} once each")
    for version, error in wanted.items():
        scene = Scene(case.baseline)
        way(scene)
        got = {error_name(code) for code in errors_of(scene.ask(request_of(scene, version)))}
        check(f"{name} v{version}", {error_name(error_of(error))}, got)


def _range(key: str, every: range) -> Iterable[int]:
    """``v0_v1``, ``v0_to_v3``, ``v4_and_later``; ``error``, ``each`` and ``each_partition`` are all versions."""
    if key in ("error", "each", "each_partition"):
        return every
    match = matched(r"v(?P<first>\d+)(?:(?:_to)?_v(?P<last>\d+)|(?P<later>_and_later))", key, "versions")
    return range(int(match["first"]), every.stop if match["later"] else int(match["last"]) + 1)


def _spoken_of(words: str | None, every: range) -> Iterable[int]:
    """``v0-1, and v2+``; nothing and ``every version`` are all of them."""
    if words in (None, "every version"):
        return every
    parts = re.findall(r"v(\d+)(?:-(\d+)|(\+))", str(words))
    spoken = [v for first, last, later in parts for v in range(int(first), every.stop if later else int(last) + 1)]
    if len(spoken) != len(set(spoken)):
        raise NotRunnable(f"{words!r} speaks twice of a version")
    return spoken


def _bad_partitions(case: Case, match: re.Match[str]) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    count = int(matched(r"(\d+) partitions?", given.take("topic"), "topic")[1])
    given.done()
    wanted = error_name(error_of(expect.take("each")))
    expect.done()
    versions, _ = REQUESTS["AddPartitionsToTxn"]
    for number in (int(word) for word in re.findall(r"-?\d+", match["numbers"])):
        for version in versions:
            scene = Scene(case.baseline, count)
            scene.begin()
            answer = scene.ask(add_partitions(scene, version, ((TOPIC, number),)))
            check(f"partition {number}, v{version}", {wanted}, {error_name(code) for code in errors_of(answer)})
            fine = scene.ask(add_partitions(scene, version, ((TOPIC, 0),)))
            check(f"partition 0, v{version}", {int(Error.NONE)}, errors_of(fine))


def _list_offsets(case: Case, match: re.Match[str]) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    hw, lso = given.take("hw"), given.take("lso")
    given.done()
    if (hw, type(lso)) == ("above lso", int):
        before, behind = int(lso), 3
    elif (type(hw), lso) == (int, "lower"):
        before, behind = int(hw) - 3, 3
    else:
        raise NotRunnable(f"hw {hw!r} and lso {lso!r} are not understood")
    scene = Scene(case.baseline)
    scene.begin()
    replica = scene.replica((TOPIC, 0))
    filler = Batch(records=tuple(Record(None, b"v") for _ in range(before)), last_offset_delta=before - 1)
    replica.replicate(filler)
    produced = scene.ask(Produce(12, ID, -1, {(TOPIC, 0): (SentBatch(scene.data(behind, 0)),)}))
    check("Produce", {0}, errors_of(produced))
    offsets = {"LSO": replica.last_stable_offset, "high watermark": replica.high_watermark}
    check("given", (before, before + behind), (offsets["LSO"], offsets["high watermark"]))
    isolation = Isolation[match["isolation"].upper()]
    answer = scene.ask(ListOffsets(5, isolation, {(TOPIC, 0): LATEST}))
    assert isinstance(answer, ListOffsetsAnswer)
    wanted = matched(r"(?P<offset>\d+) \(the (?P<name>LSO|high watermark)\)", expect.take("offset"), "offset")
    expect.done()
    listed = answer.partitions[TOPIC, 0]
    check("offset", (int(Error.NONE), int(wanted["offset"])), (listed.error, listed.offset))
    check(f"the {wanted['name']}", int(wanted["offset"]), offsets[wanted["name"]])


def _half_an_expectation(case: Case, _: re.Match[str]) -> None:
    Fields(case.given, "given").done()
    expect = Fields(case.expect, "expect")
    wanted = error_name(error_of(expect.take("error")))
    expect.done()
    versions, _request_of = REQUESTS["InitProducerId"]
    for version in [one for one in versions if one >= 3]:
        scene = Scene(case.baseline)
        scene.begin()
        before = dict(scene.cluster.brokers[NODE].coordinator.entries(0))
        for producer_id, epoch in ((scene.producer_id, NONE), (NONE, scene.producer_epoch)):
            answer = scene.ask(InitProducerId(version, ID, TIMEOUT_MS, producer_id, epoch))
            check(f"v{version}", {wanted}, {error_name(code) for code in errors_of(answer)})
        check("entries", before, dict(scene.cluster.brokers[NODE].coordinator.entries(0)))


def _markers(case: Case, _: re.Match[str]) -> None:
    """Two transactions commit and one aborts; each has written to two partitions and committed an offset."""
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    matched("several pids over offsets and data partitions", given.take("markers"))
    given.done()
    matched("completed by the group coordinator", expect.take("offsets_partitions"))
    matched("appended", expect.take("data_partitions"))
    matched("every pid and partition once", expect.take("reply"))
    expect.done()
    scene = Scene(case.baseline)
    data: Part = ((TOPIC, 0), (TOPIC, 1))
    outcomes: dict[int, bool] = {}
    for number, (name, committed) in enumerate({"a": True, "b": False, "c": True}.items()):
        scene.begin(name)
        outcomes[scene.producer_id] = committed
        batches: dict[TopicPartition, tuple[SentBatch, ...]] = {tp: (SentBatch(scene.data(1, 0)),) for tp in data}
        check("Produce", {0}, errors_of(scene.ask(Produce(12, name, -1, batches))))
        rows = (OffsetToCommit(("out", 0), number, ""),) if number else (OffsetToCommit((TOPIC, 0), 7, ""),)
        commit = TxnOffsetCommit(5, name, GROUP, scene.producer_id, scene.producer_epoch, rows)
        check("TxnOffsetCommit", {0}, errors_of(scene.ask(commit)))
    everywhere = (OFFSETS, *data)
    markers = tuple(MarkerToWrite(pid, 1, ends, 0, everywhere, 2) for pid, ends in outcomes.items())
    answer = scene.ask(WriteTxnMarkers(2, markers))
    assert isinstance(answer, WriteTxnMarkersAnswer)
    rows_of_reply = [(row.producer_id, tp, error) for row in answer.markers for tp, error in row.errors.items()]
    check("reply", sorted((pid, tp, 0) for pid in outcomes for tp in everywhere), sorted(rows_of_reply))
    for tp in everywhere:
        batches_of = scene.replica(tp).log.read()
        written = {batch.producer_id: batch.marker.committed for batch in batches_of if batch.marker is not None}
        check(f"markers in {tp[0]}-{tp[1]}", outcomes, written)
    fetched = scene.ask(OffsetFetch(7, GROUP, require_stable=True, partitions=(("out", 0), (TOPIC, 0))))
    assert isinstance(fetched, OffsetFetchAnswer)
    check(
        "offsets",
        {("out", 0): (0, 2), (TOPIC, 0): (0, 7)},
        {tp: (r.error, r.offset) for tp, r in fetched.partitions.items()},
    )


SOME_VERSIONS = r"v\d+(?:-\d+|\+)"
STEPS: dict[str, Callable[[Case, re.Match[str]], None]] = {
    r"AddPartitionsToTxn (?P<numbers>partition -?\d+(?:; partition -?\d+)*)": _bad_partitions,
    r"InitProducerId with only one of pid and epoch set": _half_an_expectation,
    r"ListOffsets latest, (?P<isolation>read_committed|read_uncommitted)": _list_offsets,
    r"WriteTxnMarkers": _markers,
    rf"(?P<api>{'|'.join(REQUESTS)})(?:,? (?P<versions>every version|{SOME_VERSIONS}(?:,? and {SOME_VERSIONS})*))?": (
        _versions
    ),
}
