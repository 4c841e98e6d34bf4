"""Keys and values of internal topics: every schema, in every version, with what later releases may add."""

import contextlib
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zombieproof.formats import consumer_group_records, offsets_log, transaction_log
from zombieproof.formats.batches import ConsumerMemberValue, GroupKey, GroupValue, OffsetKey, OffsetValue, Record
from zombieproof.formats.consumer_group_records import GroupRecord, GroupRecordType, groups_of, read_record, records_of
from zombieproof.formats.faults import Undecodable, Unwritable
from zombieproof.formats.schema import UNKNOWN_TAGS, Array, Field, Message, Schema, Struct, read_message, write_message
from zombieproof.formats.topics import UnnamedTopic

SCHEMAS = {
    "transaction": transaction_log.VALUE,
    "offset": offsets_log.OFFSET_VALUE,
    "classic group": offsets_log.GROUP_VALUE,
    **{f"key of {kind.name}": schema for kind, schema in consumer_group_records.KEYS.items()},
    **{f"value of {kind.name}": schema for kind, schema in consumer_group_records.VALUES.items()},
}
NUMBERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
TEXT = st.text(max_size=5)
FROM_LATER = st.dictionaries(st.integers(100, 2**31), st.binary(max_size=4), min_size=1, max_size=2)


def values_of(field: Field, version: int, flexible: bool) -> st.SearchStrategy[object]:
    kind = field.type
    if isinstance(kind, Array):
        element = values_of(Field("", kind.of), version, flexible)
        values: st.SearchStrategy[object] = st.lists(element, max_size=2)
    elif isinstance(kind, tuple):
        values = structs(kind, version, flexible)
    elif kind in NUMBERS:
        half = 1 << (NUMBERS[kind] - 1)
        values = st.integers(-half, half - 1)
    else:
        values = {"string": TEXT, "bytes": st.binary(max_size=5), "uuid": st.uuids()}[kind]
    return st.none() | values if field.nullable else values


@st.composite
def structs(draw: st.DrawFn, fields: tuple[Field, ...], version: int, flexible: bool) -> Struct:
    struct: Struct = {}
    for field in fields:
        if field.since <= version <= field.until and (field.tag is None or draw(st.booleans())):
            struct[field.name] = draw(values_of(field, version, flexible))
    if flexible and draw(st.booleans()):
        struct[UNKNOWN_TAGS] = draw(FROM_LATER)
    return struct


@st.composite
def messages(draw: st.DrawFn, schema: Schema) -> Message:
    version = draw(st.integers(*schema.versions))
    fields = draw(structs(schema.fields, version, version >= schema.flexible))
    return Message(version, fields, draw(st.binary(max_size=3)))


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_message_of_every_version_is_read_as_it_was_written(name: str) -> None:
    schema = SCHEMAS[name]
    seen = set()

    @settings(max_examples=100)
    @given(messages(schema))
    def check(message: Message) -> None:
        seen.add(message.version)
        data = write_message(schema, message)
        found = read_message(schema, data)
        assert found == message
        assert write_message(schema, found) == data

    check()
    assert seen == set(range(schema.versions[0], schema.versions[1] + 1))


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_message_that_is_cut_or_altered_is_refused_or_another_message(name: str) -> None:
    schema = SCHEMAS[name]

    @given(messages(schema), st.integers(0, 60), st.integers(0, 255))
    def check(message: Message, at: int, byte: int) -> None:
        data = write_message(schema, message._replace(rest=b""))
        altered = bytearray(data)
        altered[at % len(data)] = byte
        for end in range(len(data)):
            with pytest.raises(Undecodable):
                read_message(schema, data[:end])
        with contextlib.suppress(Undecodable):
            assert isinstance(read_message(schema, bytes(altered)), Message)

    check()


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("beyond", [-1, 1])
def test_a_version_that_is_unknown_is_refused_both_ways(name: str, beyond: int) -> None:
    schema = SCHEMAS[name]
    version = schema.versions[0] - 1 if beyond < 0 else schema.versions[1] + 1
    with pytest.raises(Undecodable, match=f"version {version} of {schema.name} is unknown"):
        read_message(schema, version.to_bytes(2, signed=True) + bytes(50))
    with pytest.raises(Unwritable, match=f"version {version} of {schema.name} is unknown"):
        write_message(schema, Message(version, {}))


def offset_fields(**fields: object) -> Struct:
    plain: Struct = {"offset": 1, "leaderEpoch": 2, "metadata": "", "commitTimestamp": 3}
    return plain | fields


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"offset": 1}, "'leaderEpoch'"),
        (offset_fields(offset=1 << 63), "does not fit"),
        (offset_fields(metadata=None), "null"),
        (offset_fields(metadata="x" * 40_000), "40000 bytes"),
        (offset_fields(metadata="\ud800"), "does not fit"),
    ],
)
def test_a_value_that_does_not_fit_its_schema_is_refused(fields: Struct, fault: str) -> None:
    with pytest.raises(Unwritable, match=fault):
        write_message(offsets_log.OFFSET_VALUE, Message(3, fields))


@pytest.mark.parametrize(
    ("schema", "data", "fault"),
    [
        (offsets_log.OFFSET_VALUE, b"\0\4" + bytes(12) + b"\1" + bytes(8) + b"\1\0\x0f" + bytes(15), "tagged field 0"),
        (offsets_log.OFFSET_VALUE, b"\0\4" + bytes(12) + b"\1" + bytes(8) + b"\1\0\x11" + bytes(17), "tagged field 0"),
        (offsets_log.OFFSET_VALUE, b"\0\0" + bytes(8) + b"\xff\xff" + bytes(8), "null"),
        (offsets_log.GROUP_VALUE, b"\0\0\0\0" + bytes(4) + b"\xff\xff\xff\xff" + b"\xff\xff\xff\xff", "array"),
        (offsets_log.GROUP_VALUE, b"\0\0\0\0" + bytes(4) + b"\xff\xff\xff\xff" + b"\x7f\xff\xff\xff", "does not fit"),
        (offsets_log.GROUP_VALUE, b"\0\4\1" + bytes(4) + b"\0\0" + bytes(8) + b"\xff" * 6, "longer than 5"),
    ],
)
def test_bytes_that_contradict_their_schema_are_refused(schema: Schema, data: bytes, fault: str) -> None:
    with pytest.raises(Undecodable, match=fault):
        read_message(schema, data)


# ---------------------------------------------------------------- typed records

GROUPS = st.builds(
    GroupValue,
    generation=st.integers(0, 99),
    members=st.just((("m-1", 7), ("m-2", 7))),
    leader=st.sampled_from(["", "m-1"]),
    instances=st.sampled_from([(), (("m-2", "static"),)]),
)


@given(GROUPS, st.integers(0, 4))
def test_a_classic_group_is_read_as_it_was_written(group: GroupValue, version: int) -> None:
    found = offsets_log.read_group(offsets_log.write_group(group, version))
    assert (found.generation, found.leader) == (group.generation, group.leader)
    assert found.members == (("m-1", group.generation), ("m-2", group.generation))
    assert found.instances == (group.instances if version >= 3 else ())


@given(
    st.builds(OffsetValue, st.integers(-1, 2**62), TEXT, st.integers(-1, 2**62), st.integers(-1, 99)),
    st.none() | st.uuids(),
)
def test_an_offset_is_read_as_it_was_written(value: OffsetValue, topic_id: UUID | None) -> None:
    plain = OffsetValue(value.offset, value.metadata, value.committed_ms)
    for version, expected in enumerate((plain, plain, plain, value, replace(value, topic_id=topic_id))):
        written = offsets_log.write_offset(replace(value, topic_id=topic_id), version)
        assert offsets_log.read_offset(written) == expected


@pytest.mark.parametrize("key", [OffsetKey("g", "t", 3), OffsetKey("größer", "t", 0), GroupKey("g")])
def test_a_key_is_read_as_it_was_written(key: OffsetKey | GroupKey) -> None:
    assert offsets_log.read_key(offsets_log.write_key(key)) == key


# ---------------------------------------------------------------- consumer groups

IDS = {"t": UUID(int=1), "u": UUID(int=2)}
NAMES = {identity: name for name, identity in IDS.items()}
GROUP = GroupValue(
    generation=5,
    members=(("m-1", 5), ("m-2", 4)),
    assignment_epoch=5,
    consumers=(
        (
            "m-1",
            ConsumerMemberValue(
                previous_epoch=4,
                state=2,
                partitions=((("t", 0), 5), (("t", 1), 3), (("u", 0), 5)),
                revoking=((("u", 1), 2),),
                target=(("t", 0), ("t", 1), ("u", 0), ("u", 2)),
                topics=("t", "u"),
                topic_pattern="u.*",
                instance="i",
                rebalance_timeout_ms=1000,
                assignor="range",
            ),
        ),
        ("m-2", ConsumerMemberValue(4)),
    ),
    patterns=(("u.*", ("u",)),),
)


def group_records(records: tuple[Record, ...]) -> list[GroupRecord]:
    found = []
    for record in records:
        assert isinstance(record.key, bytes)
        assert record.value is None or isinstance(record.value, bytes)
        read = read_record(record.key, record.value)
        assert read is not None
        found.append(read)
    return found


def test_a_consumer_group_is_what_its_records_tell() -> None:
    records = group_records(records_of("g", GROUP, IDS))
    assert groups_of(records, NAMES) == {"g": GROUP}
    assert [record.type.name for record in records] == [
        "GROUP",
        "REGULAR_EXPRESSION",
        *(["MEMBER", "TARGET_OF_MEMBER", "CURRENT_OF_MEMBER"] * 2),
        "TARGET",
    ]


def test_tombstones_take_members_and_groups_back() -> None:
    records = group_records(records_of("g", GROUP, IDS))
    gone = GroupRecord(GroupRecordType.MEMBER, Message(5, {"GroupId": "g", "MemberId": "m-1"}), None)
    assert [name for name, _ in groups_of([*records, gone], NAMES)["g"].members] == ["m-2"]
    unread = GroupRecord(
        GroupRecordType.REGULAR_EXPRESSION, Message(16, {"GroupId": "g", "RegularExpression": "u.*"}), None
    )
    assert groups_of([*records, unread], NAMES)["g"].patterns == ()
    assert groups_of([*records, records[0]._replace(value=None)], NAMES) == {}


def test_a_partition_of_which_no_epoch_is_told_is_there_since_the_members_epoch() -> None:
    records = group_records(records_of("g", GROUP, IDS))
    for record in records:
        if record.type is GroupRecordType.CURRENT_OF_MEMBER and record.value is not None:
            for topic in record.value.fields["AssignedPartitions"]:
                del topic["AssignmentEpochs"]
    read = dict(groups_of(records, NAMES)["g"].consumers)["m-1"]
    assert read.partitions == ((("t", 0), 5), (("t", 1), 5), (("u", 0), 5))


def test_a_deleted_topic_keeps_its_id_in_the_assignments_of_a_group() -> None:
    records = group_records(records_of("g", GROUP, IDS))
    read = dict(groups_of(records, {})["g"].consumers)["m-1"]
    assert {topic for (topic, _), _ in read.partitions} == {UnnamedTopic.of(IDS["t"]), UnnamedTopic.of(IDS["u"])}
    written_again = records_of("g", groups_of(records, {})["g"], {})
    assert groups_of(group_records(written_again), NAMES) == groups_of(records, NAMES)


def test_epochs_that_do_not_match_their_partitions_are_refused() -> None:
    records = group_records(records_of("g", GROUP, IDS))
    current = next(record for record in records if record.type is GroupRecordType.CURRENT_OF_MEMBER)
    assert current.value is not None
    current.value.fields["AssignedPartitions"][0]["AssignmentEpochs"].append(1)
    with pytest.raises(Undecodable, match="2 partitions have 3 assignment epochs"):
        groups_of(records, NAMES)


@pytest.mark.parametrize("kind", [0, 1, 2, 9, 15, 17, -1])
def test_records_of_other_types_are_none_of_a_consumer_group(kind: int) -> None:
    assert read_record(kind.to_bytes(2, signed=True) + b"\0\1g", b"") is None


def test_a_group_record_that_is_cut_is_refused() -> None:
    for record in records_of("g", GROUP, IDS):
        assert isinstance(record.key, bytes)
        assert isinstance(record.value, bytes)
        for end in range(len(record.value)):
            with pytest.raises(Undecodable):
                read_record(record.key, record.value[:end])
        for end in range(len(record.key)):
            with pytest.raises(Undecodable):
                read_record(record.key[:end], record.value)
