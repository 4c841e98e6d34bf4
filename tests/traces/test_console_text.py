"""What a console consumer prints of Kafka's internal topics: forms of the reference §9.4, and as people keep them."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zombieproof.model.vocabulary import NONE, TransactionState
from zombieproof.traces.evidence import Damage, TransactionLogValue, TransactionStateRecord, Unit
from zombieproof.traces.readers.console_text import ID_FIELD, VALUE, looks_like_console, read_console
from zombieproof.traces.replay import replay
from zombieproof.traces.tool_reports import GroupRow, ToolReports
from zombieproof.traces.verdict.report import Gap

TIME = 1_700_000_000_000


def value(*, newest: bool, has_start: bool = True) -> TransactionLogValue:
    return TransactionLogValue(
        producer_id=4000,
        previous_producer_id=4000 if newest else None,
        next_producer_id=-1 if newest else None,
        producer_epoch=1,
        timeout_ms=60000,
        state=TransactionState.PREPARE_COMMIT,
        partitions=frozenset({("t", 0), ("t", 1)}),
        last_update_ms=TIME + 500,
        start_ms=TIME if has_start else None,
        client_transaction_version=2 if newest else None,
    )


FIELDS = (
    '"producerEpoch":1,"transactionTimeoutMs":60000,"transactionStatus":STATUS,'
    '"transactionPartitions":[{"topic":"t","partitionIds":[0,1]}],'
    f'"transactionLastUpdateTimestampMs":{TIME + 500},"transactionStartTimestampMs":{TIME}'
)
NEWEST = (
    '{"key":{"type":0,"data":{"transactionalId":"ID"}},"value":{"version":1,"data":{"producerId":4000,'
    f'"previousProducerId":4000,{FIELDS},"clientTransactionVersion":2}}}}}}'
)
KAFKA_3_9 = (
    '{"key":{"version":0,"data":{"transactionalId":"ID"}},"value":{"version":0,"data":{"producerId":4000,'
    f"{FIELDS}}}}}}}"
)
KAFKA_3_8 = (
    "ID::TransactionMetadata(transactionalId=ID, producerId=4000, producerEpoch=1, txnTimeoutMs=60000, "
    "state=PrepareCommit, pendingState=None, topicPartitions=HashSet(t-0, t-1), "
    f"txnStartTimestamp={TIME}, txnLastUpdateTimestamp={TIME + 500})\n"
)
FORMS = {
    "4.4": (NEWEST.replace("STATUS", '"PrepareCommit"'), value(newest=True)),
    "4.3": (NEWEST.replace("STATUS", "2"), value(newest=True)),
    "3.9": (KAFKA_3_9.replace("STATUS", "2"), value(newest=False)),
    "3.8": (KAFKA_3_8, value(newest=False)),
    "3.7": (
        KAFKA_3_8.replace("producerId=4000,", "producerId=4000, lastProducerId=4000,").replace("HashSet", "Set"),
        value(newest=False),
    ),
}
TOMBSTONES = {
    "4.3": '{"key":{"type":0,"data":{"transactionalId":"ID"}},"value":null}',
    "3.8": "ID::NULL\n",
}


def read(text: str) -> tuple[list[TransactionStateRecord], list[Damage]]:
    return read_console(memoryview(text.encode()), "f")


@pytest.mark.parametrize("release", FORMS)
def test_every_form_tells_the_same(release: str) -> None:
    text, expected = FORMS[release]
    records, damage = read(text.replace("ID", "a") + text.replace("ID", "b"))
    assert damage == []
    assert [(record.transactional_id, record.value, record.order) for record in records] == [
        ("a", expected, 0),
        ("b", expected, 1),
    ]
    assert {(record.partition, record.offset, record.timestamp_ms) for record in records} == {(NONE, NONE, NONE)}


@pytest.mark.parametrize("release", TOMBSTONES)
def test_a_tombstone_is_read(release: str) -> None:
    records, damage = read(TOMBSTONES[release])
    assert [(record.transactional_id, record.value) for record in records] == [("ID", None)]
    assert damage == []


@pytest.mark.parametrize("name", ["a, producerId=7", "x::y", "(", "TransactionMetadata(transactionalId=z"])
def test_an_id_that_looks_like_fields_is_read_in_the_old_form(name: str) -> None:
    records, damage = read(KAFKA_3_8.replace("ID", name))
    assert damage == []
    assert [record.transactional_id for record in records] == [name]


def test_messages_of_the_tool_stand_between_records() -> None:
    text = FORMS["4.3"][0]
    noise = "2026-11-21T13:52:27.06Z main ERROR Error processing message, terminating consumer process: \n"
    records, damage = read(f"{noise}{text}\n\n{text}{noise}org.apache.kafka.common.errors.TimeoutException\n")
    assert len(records) == 2
    assert damage == []


def test_what_the_formatter_did_not_know_is_passed_over_or_named() -> None:
    unknown_key = '{"key":{"type":7,"data":"unknown"},"value":{"version":0,"data":{}}}'
    assert read(unknown_key + '{"key":null,"value":null}') == ([], [])
    unknown_value = '{"key":{"type":0,"data":{"transactionalId":"a"}},"value":{"version":9,"data":"unknown"}}'
    records, damage = read(unknown_value)
    assert records == []
    assert [(place.position, place.unit) for place in damage] == [(0, Unit.BYTE)]


@pytest.mark.parametrize("release", ["4.3", "3.9"])
def test_a_json_record_cut_anywhere_is_named(release: str) -> None:
    text = FORMS[release][0]
    for end in range(3, len(text)):
        records, damage = read(text + "\n" + text[:end])
        assert len(records) == 1
        assert [place.position for place in damage] == [len(text) + 1], text[:end]


def test_a_json_record_whose_beginning_is_lost_is_named() -> None:
    text = FORMS["4.3"][0]
    records, damage = read(text[9:] + text)
    assert len(records) == 1
    assert len(damage) == 1


def test_a_cut_line_of_the_old_form_is_named() -> None:
    lines = KAFKA_3_8 + KAFKA_3_8[:60] + "\n" + KAFKA_3_8
    records, damage = read(lines)
    assert len(records) == 2
    assert [(place.position, place.unit) for place in damage] == [(2, Unit.LINE)]


@pytest.mark.parametrize(
    ("change", "release"),
    [
        (lambda text: text.replace("PrepareCommit", "Sideways"), "4.4"),
        (lambda text: text.replace('"transactionStatus":2', '"transactionStatus":true'), "4.3"),
        (lambda text: text.replace('"producerId":4000,', ""), "4.3"),
        (lambda text: text.replace("producerEpoch=1", "producerEpoch=x"), "3.8"),
        (lambda text: text.replace("HashSet(t-0, t-1)", "HashSet(t-0; t-1)"), "3.8"),
        (lambda text: text.replace(", txnTimeoutMs=60000", ""), "3.8"),
    ],
)
def test_a_garbled_record_is_named(change: Callable[[str], str], release: str) -> None:
    records, damage = read(change(FORMS[release][0]))
    assert records == []
    assert len(damage) == 1


@pytest.mark.parametrize("release", FORMS)
def test_each_form_is_known_by_its_beginning(release: str) -> None:
    assert looks_like_console(FORMS[release][0])
    assert not looks_like_console("[2026-11-21] INFO nothing of the kind\n")
    assert not looks_like_console('{"partitions": {"t-0": {"read": [{"offset": 0, "key": "k"}]}}}')


# ---------------------------------------------------------------- as people keep it

OUTPUT = Path(__file__).parent / "tool_output"
VENDOR = (
    "ID::TransactionMetadata(transactionalId=ID, producerId4000, producerEpoch=1, txnTimeoutMs=60000, "
    f"state=PrepareCommit, pendingState=None, txnStartTimestamp={TIME}, txnLastUpdateTimestamp={TIME + 500}, "
    "partitions=[t-0, t-1])\n"
)
LAST = (
    f"ID::TransactionMetadata(state=PrepareCommit, partitions=[t-1,t-0], txnStartTimestamp={TIME}, txnTimeoutMs=60000, "
    f"txnLastUpdateTimestamp={TIME + 500}, producerEpoch=1, producerId=4000, transactionalId=ID)\n"
)


@pytest.mark.parametrize("form", [VENDOR, LAST, KAFKA_3_8], ids=["vendor", "id last", "3.8"])
@pytest.mark.parametrize(
    "wrap",
    [
        "{}",
        "      {}   ",
        "// {}",
        "# {} // after a flush (the first)",
        "{} <- it hangs here, why? see KAFKA-1 :)",
        "CreateTime:1700000000000\tPartition:3\tOffset:12\t{}",
        "pod-1 | {}",
        "- `{}`",
    ],
)
def test_what_stands_around_a_line_changes_nothing(form: str, wrap: str) -> None:
    for name in ("pay-1", "a, producerId=7", "x::y", "("):
        text = wrap.format(form.replace("ID", name).strip()) + "\n"
        records, damage = read(text)
        assert damage == []
        assert [(record.transactional_id, record.value) for record in records] == [(name, value(newest=False))]
        assert looks_like_console(text)


def test_a_tombstone_may_have_a_remark() -> None:
    text = "# pay-1::NULL   // expired\n"
    assert [(record.transactional_id, record.value) for record in read(text)[0]] == [("pay-1", None)]


def test_a_line_whose_fields_name_another_id_is_named() -> None:
    records, damage = read(KAFKA_3_8.replace("ID::", "my-ID::"))
    assert (records, len(damage)) == ([], 1)


@pytest.mark.parametrize("width", [71, 80, 132])
def test_a_line_that_a_terminal_wrapped_is_put_together(width: int) -> None:
    line = KAFKA_3_8.strip()
    pieces = [line[at : at + width] for at in range(0, len(line), width)]
    records, damage = read("\n".join([*pieces, KAFKA_3_8]))
    assert (len(records), damage) == (2, [])


def test_an_old_line_cut_anywhere_is_named() -> None:
    for form in (KAFKA_3_8, VENDOR):
        line = form.strip()
        for end in range(len("ID::T"), len(line)):
            records, damage = read(KAFKA_3_8 + line[:end])
            assert (len(records), [place.position for place in damage]) == (1, [2]), line[:end]


@pytest.mark.parametrize(
    "code", ["return Response::TransactionMetadata(expected);", "m::TransactionMetadata::Ptr f() {", "a::b"]
)
def test_code_is_not_taken_for_it(code: str) -> None:
    assert not looks_like_console(code)
    assert read(f"{KAFKA_3_8}{code}\n{KAFKA_3_8}")[1] == []


# ---------------------------------------------------------------- positions of groups

COMMITTED = {
    "0.11": f"[g,in,0]::[OffsetMetadata[20,NO_METADATA],CommitTime {TIME},ExpirationTime {TIME + 1}]",
    "2.0": f"[g,in,0]::OffsetAndMetadata(offset=20, leaderEpoch=Optional.empty, metadata=, commitTimestamp={TIME}, "
    f"expireTimestamp=Some({TIME + 1}))",
    "3.8": "[g,in,0]::OffsetAndMetadata(offset=20, leaderEpoch=Optional[0], metadata=a, b=(c), "
    f"commitTimestamp={TIME}, expireTimestamp=None)",
    "3.9": '{"key":{"version":1,"data":{"group":"g","topic":"in","partition":0}},"value":{"version":3,"data":'
    f'{{"offset":20,"leaderEpoch":-1,"metadata":"","commitTimestamp":{TIME}}}}}}}',
    "4.0": '{"key":{"type":1,"data":{"group":"g","topic":"in","partition":0}},"value":{"version":3,"data":'
    f'{{"offset":20,"leaderEpoch":-1,"metadata":"","commitTimestamp":{TIME}}}}}}}',
}
DELETED = {
    "3.8": "[g,in,0]::NULL",
    "4.0": '{"key":{"type":1,"data":{"group":"g","topic":"in","partition":0}},"value":null}',
}
OF_GROUPS = (
    (
        "g::GroupMetadata(groupId=g, generation=1, protocolType=Some(consumer), currentState=Stable, "
        "members=Map())\ng::NULL"
    ),
    "g::[g,Some(consumer),Stable,Map(m -> [m,c,/127.0.0.1,10000])]",
    '{"key":{"type":2,"data":{"group":"g"}},"value":{"version":3,"data":{"protocolType":"consumer","members":[]}}}',
    "unknown::version=9",
)


def positions(text: str) -> tuple[ToolReports, list[Damage]]:
    reports = ToolReports()
    records, damage = read_console(memoryview(text.encode()), "f", reports)
    assert records == []
    return reports, damage


@pytest.mark.parametrize("release", COMMITTED)
@pytest.mark.parametrize("wrap", ["{}\n", "// {} # remark\n", "  {}", "CreateTime:1\tPartition:3\tOffset:1\t{}\n"])
def test_positions_of_groups_are_read(release: str, wrap: str) -> None:
    text = wrap.format(COMMITTED[release])
    reports, damage = positions(text)
    [row] = reports.groups
    assert row == GroupRow("g", ("in", 0), 20, row.told, committed_ms=TIME, is_record=True)
    assert (row.told.line, damage) == (1, [])
    assert looks_like_console(text)


@pytest.mark.parametrize(
    "text",
    [
        f"[g,in,0]::[OffsetMetadata[20,NO_METADATA]\nCommitTime {TIME} ExpirationTime {TIME}]\nProcessed 1\n",
        f"[g,in,0]::[OffsetMetadata[20,NO_METADATA]\n  ,CommitTime {TIME},ExpirationTime {TIME + 1}]\n",
        f"[g,in,0]::OffsetAndMetadata(offset=20, \nmetadata=, commitTimestamp={TIME}, \nexpireTimestamp=None)",
        f"[g,in,0]::OffsetAndMetadata(offset=20, metadata=,\ncommitTimestamp={TIME}, expireTimestamp=None)",
        f"[g,in,0]::OffsetAndMetadata(offset=20, metadata=, commitTimes\ntamp={TIME}, expireTimestamp=None)",
    ],
)
def test_a_position_that_was_wrapped_is_put_together(text: str) -> None:
    reports, damage = positions(text)
    assert ([(row.offset, row.committed_ms) for row in reports.groups], damage) == ([(20, TIME)], [])


@pytest.mark.parametrize("name", ["a,b", "[x]", "g::h", "группа"])
def test_a_group_may_have_any_name(name: str) -> None:
    reports, damage = positions(COMMITTED["3.8"].replace("[g,", f"[{name},"))
    assert ([row.group for row in reports.groups], damage) == ([name], [])


@pytest.mark.parametrize("release", DELETED)
def test_a_deleted_position_is_none(release: str) -> None:
    reports, damage = positions(COMMITTED[release] + "\n" + DELETED[release])
    assert ([row.offset for row in reports.groups], damage) == ([20, None], [])
    assert reports.positions() == {}


@pytest.mark.parametrize("text", OF_GROUPS)
def test_metadata_of_groups_is_counted_and_no_damage(text: str) -> None:
    reports, damage = positions(text)
    assert (reports.groups, damage) == ([], [])
    assert sum(reports.rows.values()) == text.count("\n") + 1
    assert looks_like_console(text)


@pytest.mark.parametrize("release", ["0.11", "2.0", "3.8"])
def test_a_position_cut_anywhere_is_named(release: str) -> None:
    line = COMMITTED[release]
    for end in range(line.index("::") + 2, len(line)):
        reports, damage = positions(f"{line}\n{line[:end]}\n{line}")
        assert (len(reports.groups), [place.position for place in damage]) == (2, [2]), line[:end]


@pytest.mark.parametrize("release", ["3.9", "4.0"])
def test_a_position_in_json_cut_anywhere_is_named(release: str) -> None:
    text = COMMITTED[release]
    for end in range(3, len(text)):
        reports, damage = positions(f"{text}\n{text[:end]}")
        assert (len(reports.groups), len(damage)) == (1, 1), text[:end]


@pytest.mark.parametrize("release", ["3.5.2", "3.9.1", "4.3.1"])
def test_real_tools_print_what_is_read(release: str) -> None:
    reports, damage = positions((OUTPUT / release / "console-OffsetsMessageFormatter.txt").read_text())
    found = {(row.group, row.place): row.offset for row in reports.groups}
    # A position inside an open transaction is printed as well.
    assert found["movers", ("in", 1)] == 7
    assert (found["readers", ("orders", 0)], len(found), damage) == (2, 6, [])
    records, damage = read((OUTPUT / release / "console-transactions.txt").read_text())
    assert {record.transactional_id for record in records} == {"orders-1", "bill-1", "late-1"}
    assert (len(records), damage) == (13, [])


def test_both_topics_and_forms_stand_in_one_file() -> None:
    reports = ToolReports()
    text = f"{KAFKA_3_8}{COMMITTED['2.0']}\n{FORMS['4.3'][0]}{COMMITTED['4.0']}\n"
    records, damage = read_console(memoryview(text.encode()), "f", reports)
    assert (len(records), len(reports.groups), damage) == (2, 2, [])


@given(cut=st.integers(0, 2000), at=st.integers(0, 2000), junk=st.text(max_size=4))
def test_no_mutilation_raises(cut: int, at: int, junk: str) -> None:
    for text, _ in FORMS.values():
        whole = text * 2
        place = at % len(whole)
        for changed in (whole[: cut % len(whole)], whole[:place] + junk + whole[place + len(junk) :]):
            records, _ = read(changed)
            assert len(records) <= 2
    for text in COMMITTED.values():
        place = at % len(text)
        reports, _ = positions(text[:place] + junk + text[place + len(junk) :])
        assert len(reports.groups) <= 1


# ---------------------------------------------------------------- long lines

RUNS = (*" \t,([a-1", "[]", ", a=", "a,1]::", "::NULL ", ID_FIELD, VALUE, '{"key":')
LONG = 200_000


@pytest.mark.deep
@pytest.mark.parametrize("run", RUNS)
def test_a_long_line_is_read_in_linear_time(run: str) -> None:
    for form, mark in ((KAFKA_3_8, "Set("), (KAFKA_3_8, ID_FIELD), (COMMITTED["0.11"], "]"), (COMMITTED["3.8"], "::")):
        at = form.index(mark) + len(mark)
        text = form[:at] + run * (LONG // len(run)) + form[at:]
        started = time.process_time()
        looks_like_console(text)
        read_console(memoryview(text.encode()), "f")
        assert time.process_time() - started < 1.2


@pytest.mark.parametrize("code", ["std::map::NULL\n", "return Foo::NULL;\nreturn Foo::NULL\n", "a::NULL\nplain text\n"])
def test_code_with_null_is_no_tombstone(code: str) -> None:
    assert not looks_like_console(code)
    records, damage = read(f"{KAFKA_3_8}std::map::NULL\n")
    assert ([record.transactional_id for record in records], damage) == (["ID"], [])


def test_text_before_a_null_that_is_no_id_is_counted() -> None:
    reports = ToolReports()
    read_console(memoryview(f"{KAFKA_3_8}std::map::NULL\nID::NULL\nreturn x::NULL\n".encode()), "f", reports)
    [note] = reports.notes
    assert "2 lines not used, the first is line 2" in note


def test_tombstones_beside_positions_are_of_groups() -> None:
    for release in ("0.11", "2.0", "3.8"):
        reports, damage = positions(f"{COMMITTED[release]}\ng::NULL\n")
        assert (sum(reports.rows.values()), damage) == (2, [])


@pytest.mark.parametrize("text", ["pay-1::NULL\n", TOMBSTONES["4.3"], "g::NULL\ng2::NULL\n"])
def test_tombstones_alone_judge_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "console.txt").write_text(text)
    report = replay([tmp_path])
    assert [gap.gap for gap in report.not_judged] == [Gap.EVERYTHING]


def test_an_id_may_repeat_its_own_beginning() -> None:
    for name in ("aab,aab", "abcabdabcabc", "x,x,x"):
        assert [record.transactional_id for record in read(KAFKA_3_8.replace("ID", name))[0]] == [name]
