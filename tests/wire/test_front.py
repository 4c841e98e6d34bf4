"""Who speaks for a broker offers what its release understands, and ends the connection of whatever else is asked."""

import json
import struct
from dataclasses import replace
from pathlib import Path

import crc32c
import pytest

from tests.wire.fronts import CLIENT, fronted
from tests.wire.raw import CLUSTER_ID, Ours, ask
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.store.config import Durability, LogConfig
from zombieproof.formats.batches import Batch, Record
from zombieproof.formats.compression import Codec, pack_records
from zombieproof.formats.encoding import write_batch
from zombieproof.formats.record_batch import CHECKSUMMED_FROM, CRC_AT, HEADER, header_at, sealed
from zombieproof.messages.partitions import Fetch, FetchAnswer, Produce, ProduceAnswer, SentBatch
from zombieproof.messages.transactions import EndTxn, EndTxnAnswer, InitProducerId, InitProducerIdAnswer
from zombieproof.model.api_versions import offered_versions, understood_versions
from zombieproof.model.releases import RELEASES
from zombieproof.model.vocabulary import ApiKey, Error, Isolation
from zombieproof.wire.apis import WIRE_APIS
from zombieproof.wire.asking import answer_in
from zombieproof.wire.batches import sent_batches
from zombieproof.wire.entities import entity_class, read
from zombieproof.wire.faults import Malformed
from zombieproof.wire.not_served import NOT_SERVED

T = ("t0", 1)
OF_BROKERS = Path(__file__).parents[1] / "model" / "versions_of_brokers.json"
BATCH = Batch(records=(Record(b"k", b"v"), Record(None, b"w")), last_offset_delta=1, timestamp_ms=5)
BYTES = write_batch(BATCH)


def versions_asked(version: int, body: bytes = b"") -> bytes:
    tags = b"\x00" if version >= 3 else b""
    return struct.pack(">hhih2s", ApiKey.API_VERSIONS, version, 7, 2, CLIENT.encode()) + tags + body


def ranges(answer: bytes, version: int) -> dict[int, tuple[int, int]]:
    entity, end = read(entity_class(ApiKey.API_VERSIONS, version, "response"), answer, 4)
    assert end == len(answer)
    return {int(row.api_key): (row.min_version, row.max_version) for row in entity.api_keys}


@pytest.mark.parametrize("release", ["4.3.1", "4.4.0"])
def test_a_broker_offers_exactly_what_a_real_one_of_its_release_does_of_the_apis_that_are_here(release: str) -> None:
    """As two real brokers answered; the rest of what they offered is listed as not served."""
    real = {int(key): tuple(versions) for key, versions in json.loads(OF_BROKERS.read_text())[release].items()}
    here = ranges(fronted(release).answer(versions_asked(0)), 0)
    assert {key: real[key] for key in here} == here
    rest = set(real) - set(here)
    assert rest <= set(NOT_SERVED)
    assert len(here) > 40


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_broker_offers_what_its_release_understands(version: int) -> None:
    newest = ranges(fronted("4.4").answer(versions_asked(version)), version)
    assert newest[ApiKey.END_TXN] == (0, 5)
    assert newest[ApiKey.PRODUCE] == (0, 13), "librdkafka takes it for a broker without record batches otherwise"
    assert newest[ApiKey.INIT_PRODUCER_ID] == (0, 5)
    older = ranges(fronted("3.9").answer(versions_asked(version)), version)
    assert (older[ApiKey.END_TXN], older[ApiKey.PRODUCE]) == ((0, 4), (3, 11))


@pytest.mark.parametrize(
    ("release", "version", "newest"), [("4.4", 99, 5), ("4.4", 6, 5), ("4.3", 5, 4), ("3.8", 4, 3)]
)
def test_a_version_of_api_versions_that_a_release_lacks_is_answered_in_version_0(
    release: str, version: int, newest: int
) -> None:
    answer = fronted(release).answer(versions_asked(version, b"anything"))
    entity, _ = read(entity_class(ApiKey.API_VERSIONS, 0, "response"), answer, 4)
    assert int(entity.error_code.value) == Error.UNSUPPORTED_VERSION
    assert ranges(answer, 0) == {ApiKey.API_VERSIONS: (0, newest)}


@pytest.mark.parametrize(
    ("cluster", "node", "error"),
    [
        (None, -1, Error.NONE),
        (CLUSTER_ID, 1, Error.NONE),
        ("wrong", 1, Error.REBOOTSTRAP_REQUIRED),
        ("", 1, Error.REBOOTSTRAP_REQUIRED),
        (CLUSTER_ID, 2, Error.REBOOTSTRAP_REQUIRED),
        (CLUSTER_ID, -2, Error.REBOOTSTRAP_REQUIRED),
        ("wrong", 2, Error.REBOOTSTRAP_REQUIRED),
        (CLUSTER_ID, -1, Error.INVALID_REQUEST),
        ("wrong", -1, Error.INVALID_REQUEST),
        (None, 1, Error.INVALID_REQUEST),
        (None, 2, Error.INVALID_REQUEST),
    ],
)
def test_a_client_names_the_cluster_and_node_that_it_means_since_4_4(
    cluster: str | None, node: int, error: Error
) -> None:
    """As a real 4.4.0 answered, in this order."""
    named = {"client_software_name": "a", "client_software_version": "1", "cluster_id": cluster, "node_id": node}
    told = ask(Ours(fronted("4.4").cluster), ApiKey.API_VERSIONS, 5, named)
    assert told["error_code"] == error
    assert bool(told["api_keys"]) == (error == Error.NONE)


@pytest.mark.parametrize(("name", "error"), [(b"librdkafka", 0), (b"a-b.c", 0), (b"-a", 42), (b"", 42), (b"a b", 42)])
def test_software_has_a_name(name: bytes, error: int) -> None:
    body = bytes((len(name) + 1,)) + name + b"\x021\x00"
    answer = fronted().answer(versions_asked(3, body))
    entity, _ = read(entity_class(ApiKey.API_VERSIONS, 3, "response"), answer, 4)
    assert int(entity.error_code.value) == error
    assert bool(entity.api_keys) == (error == 0)


@pytest.mark.parametrize(("level", "finalized"), [(0, ()), (1, (1,)), (2, (2,))])
def test_the_transaction_version_is_told_as_a_feature(level: int, finalized: tuple[int, ...]) -> None:
    here = fronted()
    here.cluster.rules.transaction_version = level
    answer = here.answer(versions_asked(3, b"\x02a\x021\x00"))
    entity, _ = read(entity_class(ApiKey.API_VERSIONS, 3, "response"), answer, 4)
    told = {row.name: row.max_version_level for row in entity.finalized_features}
    assert tuple(each for name, each in told.items() if name == "transaction.version") == finalized
    assert entity.finalized_features_epoch >= 0


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        struct.pack(">hhih", 999, 0, 7, -1),
        struct.pack(">hhih", ApiKey.PRODUCE, 99, 7, -1),
        struct.pack(">hhih", ApiKey.PRODUCE, 2, 7, -1),
        struct.pack(">hhih", ApiKey.END_TXN, 3, 7, -1),
        struct.pack(">hhih", ApiKey.METADATA, 1, 7, -1) + struct.pack(">i", (1 << 31) - 1),
        struct.pack(">hhih", ApiKey.METADATA, 1, 7, -1) + struct.pack(">i", -2),
    ],
)
def test_what_is_no_request_that_it_understands_is_refused(frame: bytes) -> None:
    with pytest.raises(Malformed):
        fronted().front.ask(frame)


def test_bytes_behind_the_fields_of_a_request_are_not_looked_at() -> None:
    """Apache Kafka 4.3.1 answers these as it does without them; the second is librdkafka's 2.16, for all topics."""
    here = fronted()
    frame = here.frame(EndTxn(5, "x", 1, 0, committed=True))
    assert here.front.ask(frame + b"\x00") == here.front.ask(frame)
    all_topics = struct.pack(">hhih7sx", ApiKey.METADATA, 13, 4, 7, b"rdkafka") + bytes(4)
    assert here.front.ask(all_topics + b"\x01\x00\x00") == here.front.ask(all_topics)


def test_a_newer_request_ends_the_connection_to_an_older_broker() -> None:
    frame = fronted("4.4").frame(EndTxn(5, "x", 1, 0, committed=True))
    with pytest.raises(Malformed, match=r"EndTxn 5 is not understood by Kafka 3\.9"):
        fronted("3.9").front.ask(frame)


def test_an_answer_has_the_number_of_its_request_and_the_fields_of_its_version() -> None:
    here = fronted()
    told = here.answer(here.frame(InitProducerId(4, "x", 60_000), 1234))
    assert told[:4] == struct.pack(">i", 1234)
    granted = answer_in(told, InitProducerId(4, "x", 60_000), here.names)
    assert isinstance(granted, InitProducerIdAnswer)
    end = EndTxn(1, "x", granted.producer_id, granted.producer_epoch, committed=True)
    assert answer_in(here.answer(here.frame(end)), end, here.names) == EndTxnAnswer(int(Error.INVALID_TXN_STATE))


@pytest.mark.parametrize("version", [3, 9, 12, 13])
def test_the_bytes_of_a_batch_come_back_as_they_went(version: int) -> None:
    here = fronted()
    request = Produce(version, None, -1, {T: (SentBatch(BATCH),)})
    produced = answer_in(here.answer(here.frame(request)), request, here.names)
    assert isinstance(produced, ProduceAnswer)
    assert (produced.partitions[T].error, produced.partitions[T].base_offset) == (0, 0)
    for fetch in (Fetch(4, Isolation.READ_COMMITTED, {T: 0}), Fetch(17, Isolation.READ_COMMITTED, {T: 0})):
        fetched = answer_in(here.answer(here.frame(fetch)), fetch, here.names)
        assert isinstance(fetched, FetchAnswer)
        (batch,) = fetched.partitions[T].batches
        assert batch.encoded is not None
        assert batch.encoded.data[21:] == BYTES[21:], "but for base offset and leader epoch"


def test_a_session_that_was_never_granted_does_not_exist() -> None:
    here = fronted()
    kind = entity_class(ApiKey.FETCH, 12, "request")
    asked = here.front.ask(here.frame(Fetch(12, Isolation.READ_COMMITTED, {T: 0})))
    assert type(asked.entity) is kind
    assert here.front.answered(asked, ())[4:8] == struct.pack(">i", 7)
    entity, _ = read(entity_class(ApiKey.FETCH, 12, "response"), here.front.answered(asked, ()), 4 + 5)
    assert int(entity.error_code.value) == Error.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize(
    ("data", "count", "corrupt"),
    [
        (b"", 0, []),
        (BYTES, 1, [False]),
        (BYTES + BYTES, 2, [False, False]),
        (BYTES[:-1], 0, []),
        (BYTES + BYTES[:30], 1, [False]),
        (BYTES[:-1] + b"x", 1, [True]),
        (BYTES[:8] + struct.pack(">i", 13) + BYTES[12:], 1, [True]),
        (BYTES[:8] + struct.pack(">i", 20) + BYTES[12:40], 1, [True]),
        (BYTES[:16] + b"\x01" + BYTES[17:], 0, []),
        (BYTES[:16] + b"\x03" + BYTES[17:], 1, [True]),
    ],
    ids=["nothing", "one", "two", "cut", "second-cut", "changed", "too-short", "no-header", "old-format", "no-format"],
)
def test_batches_are_found_in_whatever_is_sent(data: bytes, count: int, corrupt: list[bool]) -> None:
    found = sent_batches(data, "t0")
    assert len(found) == count
    assert [each.is_corrupt for each in found] == corrupt


def test_a_batch_that_does_not_hold_what_it_says_has_no_records() -> None:
    whole = write_batch(Batch(records=(Record(None, b"a" * 40), Record(None, b"b")), last_offset_delta=1))
    records = bytearray(whole[HEADER.size :])
    records[0] ^= 2  # the length of the first record
    forged, untouched = (sealed(header_at(whole, 0), bytes(each)) for each in (records, whole[HEADER.size :]))
    assert [len(each.batch.records) for each in sent_batches(untouched + forged, "t0")] == [2, 0]
    assert not any(each.is_corrupt for each in sent_batches(untouched + forged, "t0"))


@pytest.mark.parametrize(
    "changed",
    [
        {"attributes": 1 << 5},
        {"attributes": 7},
        {"last_offset_delta": -1},
        {"record_count": -5},
        {"producer_epoch": -2},
    ],
    ids=["control", "codec", "offsets", "count", "epoch"],
)
def test_a_batch_with_its_checksum_that_makes_no_sense_is_an_invalid_record(changed: dict[str, int]) -> None:
    forged = bytearray(BYTES)
    HEADER.pack_into(forged, 0, *header_at(BYTES, 0)._replace(**changed))
    forged[CRC_AT : CRC_AT + 4] = crc32c.crc32c(bytes(forged[CHECKSUMMED_FROM:])).to_bytes(4, "big")
    with Embedded(durability=Durability.MEMORY) as embedded:
        embedded.create_topic("t")
        answer = embedded.ask(Produce(9, None, -1, {("t", 0): sent_batches(bytes(forged), "t")}))
        assert isinstance(answer, ProduceAnswer)
        assert answer.partitions["t", 0].error == Error.INVALID_RECORD


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec is not Codec.NONE])
def test_a_batch_whose_packed_records_cannot_be_read_has_none(codec: Codec) -> None:
    batch = Batch(records=(Record(None, b"a" * 40), Record(None, b"b")), last_offset_delta=1, codec=codec)
    section = pack_records(Codec.NONE, write_batch(replace(batch, codec=Codec.NONE))[HEADER.size :])
    whole = write_batch(batch)
    bad = [
        b"\xff" * 20,
        pack_records(codec, b"\xff" * 20),
        pack_records(codec, section + b"z"),
        whole[HEADER.size : -3],
    ]
    forged = [sealed(header_at(whole, 0), each) for each in bad]
    assert [len(each.batch.records) for each in sent_batches(whole + b"".join(forged), "t0")] == [2, 0, 0, 0, 0]


@pytest.mark.parametrize("kept", [None, *Codec])
def test_packed_rubbish_is_refused_whatever_codec_the_topic_has(kept: Codec | None) -> None:
    whole = write_batch(Batch(records=(Record(b"k", b"a"),), timestamp_ms=5, codec=Codec.GZIP))
    rubbish = sent_batches(sealed(header_at(whole, 0), pack_records(Codec.GZIP, b"\xff" * 20)), "t")
    with Embedded(durability=Durability.MEMORY) as embedded:
        embedded.create_topic("t", config=LogConfig(compression_type=kept))
        for sent, error in ((rubbish, Error.INVALID_RECORD), (sent_batches(whole, "t"), Error.NONE)):
            answer = embedded.ask(Produce(9, None, -1, {("t", 0): sent}))
            assert isinstance(answer, ProduceAnswer)
            assert answer.partitions["t", 0].error == error


@pytest.mark.parametrize("release", RELEASES)
def test_a_broker_of_any_release_offers_what_both_sides_know_and_no_empty_range(release: str) -> None:
    told = ranges(fronted(release).answer(versions_asked(0)), 0)
    assert {*OF_TRANSACTIONS} <= set(told)
    for key, (least, most) in told.items():
        assert least <= most, ApiKey(key)
    for api in WIRE_APIS.values():
        common = set(api.versions) & set(understood_versions(release, api.key) or ())
        common &= set(offered_versions(release, api.key) or ())
        assert (api.key in told) == bool(common), api.key
        assert not common or max(common) == told[api.key][1]


OF_TRANSACTIONS = (
    *(ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.INIT_PRODUCER_ID),
    *(ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.TXN_OFFSET_COMMIT, ApiKey.END_TXN),
)
