"""A recording is read whole or refused by file, line, subject, fault and what would have been legal."""

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from zombieproof.conformance.in_process import InProcess
from zombieproof.conformance.recording import RecordingError, count, files_of, read
from zombieproof.conformance.runner import play

Json = dict[str, Any]


def written(folder: Path, *sequences: Any) -> Path:
    path = folder / "recording.jsonl"
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in sequences))
    return path


def refusal(path: Path) -> str:
    """What is said when a recording is read and played."""

    def replay() -> None:
        for recorded in read(path):
            play(recorded, InProcess)

    with pytest.raises(RecordingError) as caught:
        replay()
    return str(caught.value)


def test_plain_gzipped_and_piped_are_the_same(one: Json, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = written(tmp_path, one, one)
    packed = tmp_path / "packed-under-any-name"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(plain.read_bytes())))
    found = [[each.sequence for each in read(path)] for path in (plain, packed, Path("-"))]
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == count(plain) == count(packed) == 2


def test_a_folder_is_all_its_recordings(one: Json, tmp_path: Path) -> None:
    file = written(tmp_path, one)
    (tmp_path / "README.md").write_text("not a recording")
    assert files_of([tmp_path]) == [file]


MALFORMED = (
    ("no JSON", lambda s: "{", "recording.jsonl, line 2: invalid JSON"),
    ("a list", lambda s: "[]", "line 2: "),
    ("an unknown field", lambda s: s | {"colour": 1}, "line 2: colour: there is no such field; legal are config, id, "),
    ("a missing field", lambda s: {k: v for k, v in s.items() if k != "tv"}, "line 2: tv: field required"),
    ("a transaction version", lambda s: s | {"tv": 3}, "line 2: tv: input should be less than or equal to 2"),
    ("a release", lambda s: s | {"kafka": "7.1"}, "line 2: kafka: unknown Kafka release '7.1'"),
    (
        "a setting",
        lambda s: with_config(s, "offset.metadata.max", 1),
        "line 2: config offset.metadata.max: there is no",
    ),
    ("a setting's kind", lambda s: with_config(s, "min.insync.replicas", "2"), "'2' is no int"),
    (
        "a setting's range",
        lambda s: with_config(s, "producer.id.expiration.check.interval.ms", 0),
        "config producer.id.expiration.check.interval.ms: 0 is out of range; legal is 1 to ",
    ),
    (
        "too many",
        lambda s: with_config(s, "offsets.topic.num.partitions", 1001),
        "1001 is out of range; legal is 1 to 1000",
    ),
    ("nodes", lambda s: with_config(s, "nodes", 0), "config nodes: 0 is no number of brokers; legal is 1 to 100"),
    ("replicas", lambda s: with_config(s, "replicas", {"t0-0": [9]}), "config replicas t0-0: [9] is no list of nodes"),
    ("an API", lambda s: with_step(s, api="Guess"), "line 2: step 1: input tag 'Guess' found using 'api' does not"),
    ("a version", lambda s: with_step(s, version=9), "line 2: step 1: value error, version 9 is not described here; "),
    ("a node", lambda s: with_step(s, node="somebody"), "line 2: step 1, node: string should match pattern"),
    ("no answer", lambda s: with_step(s, answer=None), "line 2: step 1, answer: input should be an object"),
    ("an answer that is no object", lambda s: with_step(s, answer=[0]), "step 1, answer: input should be an object"),
    (
        "an unknown field of a request",
        lambda s: with_request(s, {"colour": 1}),
        "step 1, request.colour: there is no such field; legal are enable_2pc, epoch, keep_prepared, pid, repeat, ",
    ),
    ("a number as text", lambda s: with_request(s, {"timeout_ms": "1"}), "timeout_ms: input should be a valid integer"),
    ("a field too new", lambda s: with_step(s, version=2), "version 2 has no field 'pid': it exists since 3"),
    ("a field left out", lambda s: with_step(s, version=6), "field 'enable_2pc' is missing: version 6 has it"),
    (
        "a name of nothing",
        lambda s: with_request(s, {"pid": "p7"}),
        "step 1: p7 stands for no producer id: the answers",
    ),
    ("an odd name", lambda s: with_request(s, {"pid": "q7"}), "step 1, request.pid"),
    (
        "users",
        lambda s: s | {"security": {"mechanism": "PLAIN"}},
        "security.super: field required",
    ),
)


def with_config(sequence: Json, name: str, value: object) -> Json:
    return sequence | {"config": sequence["config"] | {name: value}}


def with_step(sequence: Json, **changes: object) -> Json:
    first, *rest = sequence["steps"]
    return sequence | {"steps": [first | changes, *rest]}


def with_request(sequence: Json, changes: Json) -> Json:
    return with_step(sequence, request=sequence["steps"][0]["request"] | changes)


def with_fault(sequence: Json, api: str, **request: object) -> Json:
    step = {"client": "-", "api": api, "version": 0, "request": request, "answer": {}, "settled": True}
    return sequence | {"steps": [step]}


@pytest.mark.parametrize(("change", "told"), [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED])
def test_a_malformed_line_is_refused_by_its_place(one: Json, tmp_path: Path, change: Any, told: str) -> None:
    assert one["steps"][0]["api"] == "InitProducerId"
    assert 3 <= one["steps"][0]["version"] <= 5
    said = refusal(written(tmp_path, one, change(one)))
    assert said.startswith(str(tmp_path / "recording.jsonl")), said
    assert told in said, said


def test_a_partition_that_is_no_number_is_refused(one: Json, tmp_path: Path) -> None:
    step = {
        "client": "-",
        "api": "DescribeProducers",
        "version": 0,
        "request": {"partitions": [["t0", "g0"]]},
        "answer": {},
        "settled": True,
    }
    said = refusal(written(tmp_path, one | {"steps": [step]}))
    assert "'g0' is no partition of t0: only those of __consumer_offsets are named after groups" in said


def test_nothing_to_read_is_refused(tmp_path: Path) -> None:
    assert (
        refusal(written(tmp_path))
        == f"{tmp_path / 'recording.jsonl'}: is empty; a recording holds one sequence in each line"
    )
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b'{"id": 1}' * 100)[:-20])
    assert "cut.jsonl.gz, line 1: cannot be read on: " in refusal(tmp_path / "cut.jsonl.gz")
    with pytest.raises(RecordingError, match="there is no such file"):
        files_of([tmp_path / "nowhere"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordingError, match="the folder holds no recording"):
        files_of([tmp_path / "empty"])


SECURITY: Json = {"mechanism": "PLAIN", "super": ["root"], "acls": []}


def test_whoever_has_no_rights_is_no_sender_of_a_step(one: Json, tmp_path: Path) -> None:
    with_root = with_step(one, principal="root")
    assert "names a principal or a connection, and `security` is not there" in refusal(written(tmp_path, with_root))
    assert list(read(written(tmp_path, with_root | {"security": SECURITY})))
    both = with_step(one, principal="root", connection="c0") | {"security": SECURITY}
    assert "a step is sent by a principal or over a connection" in refusal(written(tmp_path, both))


@pytest.mark.parametrize(
    ("acls", "fault"),
    [
        ([["u0", "PERMIT", "READ", "Topic", "t0"]], "'ALLOW' or 'DENY'"),
        ([["u0", "ALLOW", "PEEK", "Topic", "t0"]], "match pattern"),
        ([["u0", "ALLOW", "READ", "topic", "t0"]], "'Topic'"),
        ([["u0", "ALLOW", "READ", "Topic"]], "field required"),
        ([["u0", "ALLOW", "READ", "Topic", "t0", "MATCH"]], "at most 5"),
    ],
)
def test_rights_that_are_none_are_refused(acls: Any, fault: str, one: Json, tmp_path: Path) -> None:
    assert fault in refusal(written(tmp_path, one | {"security": SECURITY | {"acls": acls}}))


def test_a_step_of_authentication_needs_a_connection(one: Json, tmp_path: Path) -> None:
    step = {"client": "-", "api": "SaslHandshake", "version": 1, "request": {"mechanism": "PLAIN"}}
    told = one | {"security": SECURITY, "steps": [step | {"answer": {}, "settled": True}]}
    assert "it says nothing without a connection" in refusal(written(tmp_path, told))
    newer = told | {"steps": [told["steps"][0] | {"version": 2, "connection": "c0"}]}
    assert "version 2 is not described here; legal are 0 to 1" in refusal(written(tmp_path, newer))


OF_ONE_API: tuple[tuple[str, int, Json, str], ...] = (
    (
        "AddPartitionsToTxn",
        4,
        {"transactional_id": "x0", "pid": 1, "epoch": 0, "partitions": []},
        "version 4 has no field 'transactional_id': it exists until 3",
    ),
    ("AddPartitionsToTxn", 3, {"transactions": []}, "field 'transactional_id' is missing: version 3 has it"),
    (
        "AddPartitionsToTxn",
        4,
        {
            "transactions": [
                {"transactional_id": "x0", "pid": 1, "epoch": 0, "verify_only": True, "partitions": [[1, 0]]}
            ]
        },
        "request.transactions[0], partitions[0][0]: input should be a valid string",
    ),
    (
        "AddPartitionsToTxn",
        4,
        {"transactions": [{"colour": 1}]},
        "request.transactions[0], transactional_id: field required",
    ),
    ("LeaveGroup", 2, {"group": "g0", "members": []}, "field 'member' is missing: version 2 has it"),
    ("LeaveGroup", 3, {"group": "g0", "members": [["m0"]]}, "request.members[0][1]: field required"),
    ("LeaveGroup", 6, {"group": "g0", "member": "m0"}, "version 6 is not described here; legal are 0 to 5"),
    ("TxnOffsetCommit", 2, {}, "request.transactional_id: field required"),
    (
        "OffsetCommit",
        8,
        {"group": "g0", "generation": -1, "member": "", "offsets": [["t0", 0, 5, True]]},
        "request.offsets[0][3]",
    ),
    (
        "OffsetCommit",
        8,
        {"group": "g0", "generation": -1, "member": "", "offsets": [["t0", 0, 5, 1 << 21]]},
        "request.offsets[0][3]",
    ),
    (
        "ListOffsets",
        5,
        {"isolation": "read", "partitions": []},
        "input should be 'read_uncommitted' or 'read_committed'",
    ),
    (
        "Fetch",
        11,
        {"isolation": "read_committed", "partitions": [["t0", 0]]},
        "request.partitions[0][2]: field required",
    ),
    ("EndTxn", 3, {"transactional_id": "x0", "pid": 1, "epoch": 1 << 15, "committed": True}, "less than 32768"),
    ("DeleteGroups", 4, {"groups": []}, "version 4 is not described here; legal are 0 to 3"),
    ("DeleteGroups", 2, {"groups": "g0"}, "request.groups: input should be a valid array"),
    ("DeleteGroups", 2, {"group": "g0"}, "request.groups: field required"),
    ("AllocateProducerIds", 0, {"broker": 1, "broker_epoch": 0}, "input tag 'AllocateProducerIds' found using 'api'"),
)
"""API, version, request, and what is said: forms are made of messages, and refuse what is not in them."""


@pytest.mark.parametrize(("api", "version", "request_", "told"), OF_ONE_API, ids=[f"{r[0]} {r[3]}" for r in OF_ONE_API])
def test_a_request_that_its_message_does_not_know_is_refused(
    one: Json, tmp_path: Path, api: str, version: int, request_: Json, told: str
) -> None:
    step = {"client": "-", "api": api, "version": version, "request": request_, "answer": {}, "settled": True}
    said = refusal(written(tmp_path, one | {"steps": [step]}))
    assert said.startswith(f"{tmp_path / 'recording.jsonl'}, line 1: step 1"), said
    assert told in said, said
