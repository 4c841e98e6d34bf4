"""Keys and values of Kafka's internal topics as its tools print them (reference §9.3, §9.4): JSON, older Scala text.

Transactional ids and group names may hold any text: JSON is parsed from the left, the older forms are anchored at both
ends.
"""

import json
import re
from collections.abc import Mapping

from zombieproof.formats.batches import OffsetKey, OffsetValue
from zombieproof.formats.faults import Undecodable
from zombieproof.formats.topics import TopicPartition
from zombieproof.formats.transaction_log import durable_state
from zombieproof.model.vocabulary import NONE, TransactionState
from zombieproof.traces.evidence import TransactionLogValue

Json = Mapping[str, object]

DELETE = "<DELETE>"
DECODER = json.JSONDecoder()

STATE_NAMES = {state.name.replace("_", ""): state for state in TransactionState}

OLD_TRANSACTION = re.compile(
    r"(?:transaction_metadata::)?transactionalId=(?P<id>.*) payload: "
    r"(?:<DELETE>|producerId:(?P<producer_id>-?\d{1,19}),producerEpoch:(?P<epoch>-?\d{1,19}),state=(?P<state>\w+),"
    r"partitions=(?P<partitions>[^=]*),txnLastUpdateTimestamp=(?P<updated>-?\d{1,19}),txnTimeoutMs=(?P<timeout>-?\d{1,19}))",
    re.DOTALL | re.ASCII,
)
OLD_OFFSET = re.compile(
    r"offset_commit::group=(?P<group>.*?),partition=(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>\d{1,10}) payload: "
    r"(?:<DELETE>|offset=(?P<offset>-?\d{1,19})(?:,metadata=(?P<metadata>.*))?)",
    re.DOTALL | re.ASCII,
)
OLDEST_OFFSET = re.compile(
    r"offset::(?P<group>.*):(?P<topic>[a-zA-Z0-9._-]+):(?P<partition>\d{1,10}) payload: "
    r"(?P<offset>-?\d{1,19})(?::(?P<metadata>.*))?",
    re.DOTALL | re.ASCII,
)
IN_A_LIST = re.compile(r"([a-zA-Z0-9._-]+)-(\d{1,10})(?:, ?|$)", re.ASCII)
COLLECTION = re.compile(r"\w*[(\[](?P<inside>.*)[)\]]", re.DOTALL)
NOT_DECODED = ("unknown::", "Unknown record type", "group_metadata::", "metadata::")


def state_named(name: str) -> TransactionState:
    """The state that a tool prints as ``PrepareCommit`` or ``PREPARE_COMMIT``.

    Raises:
        Undecodable: no state has that name.
    """
    state = STATE_NAMES.get(name.replace("_", "").upper())
    if state is None:
        raise Undecodable(f"{name!r} is no state of a transaction")
    return state


def partitions_in(text: str) -> frozenset[TopicPartition]:
    """Partitions in ``[t-1, t-0]``, ``Set(t-0)``, ``HashSet(…)``: topic and number part at the last dash.

    Raises:
        Undecodable: it is no list of partitions.
    """
    found = COLLECTION.fullmatch(text)
    inside = found["inside"] if found else None
    if inside is None:
        raise Undecodable(f"{text!r} is no list of partitions")
    partitions = set()
    at = 0
    while at < len(inside):
        part = IN_A_LIST.match(inside, at)
        if part is None:
            raise Undecodable(f"{inside[at:]!r} is no list of partitions")
        partitions.add((part[1], int(part[2])))
        at = part.end()
    return frozenset(partitions)


def integer(data: Json, name: str, default: int | None = None) -> int:
    """The number in field `name` of a JSON object.

    Raises:
        Undecodable: it is missing without a default, or no whole number.
    """
    value = data.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Undecodable(f"{name} is {value!r} where a whole number is expected")
    return value


def mapping(value: object, name: str) -> Json:
    """A JSON object.

    Raises:
        Undecodable: `value` is something else.
    """
    if not isinstance(value, dict):
        raise Undecodable(f"{name} is {value!r} where an object is expected")
    return value


def text(data: Json, name: str) -> str:
    """The string in field `name` of a JSON object.

    Raises:
        Undecodable: it is missing or no string.
    """
    value = data.get(name)
    if not isinstance(value, str):
        raise Undecodable(f"{name} is {value!r} where text is expected")
    return value


def transaction_value(document: Json) -> TransactionLogValue:
    """The value in ``{"version": 1, "data": {…}}``; the version may be a string.

    Raises:
        Undecodable: it is not what a transaction log value looks like.
    """
    version = str(document.get("version"))
    if version not in ("0", "1"):
        raise Undecodable(f"version {version} of the value is unknown; versions 0 and 1 are read")
    data = mapping(document.get("data"), "data")
    status = data.get("transactionStatus")
    state = state_named(status) if isinstance(status, str) else durable_state(integer(data, "transactionStatus"))
    tagged = version == "1"
    return TransactionLogValue(
        producer_id=integer(data, "producerId"),
        previous_producer_id=integer(data, "previousProducerId", NONE) if tagged else None,
        next_producer_id=integer(data, "nextProducerId", NONE) if tagged else None,
        producer_epoch=integer(data, "producerEpoch"),
        timeout_ms=integer(data, "transactionTimeoutMs"),
        state=state,
        partitions=_listed(data.get("transactionPartitions")),
        last_update_ms=integer(data, "transactionLastUpdateTimestampMs"),
        start_ms=integer(data, "transactionStartTimestampMs", NONE),
        client_transaction_version=integer(data, "clientTransactionVersion", 0) if tagged else None,
    )


def _listed(value: object) -> frozenset[TopicPartition]:
    if value is None:
        return frozenset()
    if not isinstance(value, list):
        raise Undecodable(f"transactionPartitions is {value!r} where a list is expected")
    partitions: set[TopicPartition] = set()
    for entry in value:
        data = mapping(entry, "an entry of transactionPartitions")
        numbers = data.get("partitionIds")
        if not isinstance(numbers, list) or not all(isinstance(number, int) for number in numbers):
            raise Undecodable(f"partitionIds is {numbers!r} where a list of numbers is expected")
        partitions.update((text(data, "topic"), number) for number in numbers)
    return frozenset(partitions)


def transaction_record(body: str) -> tuple[str, TransactionLogValue | None] | None:
    """The transactional id and value in ``<key> payload: <value>``; None for what the tool itself could not decode.

    Raises:
        Undecodable: it is none of the known forms, or cut.
    """
    if body.startswith("{"):
        key, value = _json_pair(body)
        if str(key.get("type", "0")) != "0":
            return None
        transactional_id = text(mapping(key.get("data"), "data"), "transactionalId")
        return transactional_id, None if value is None else transaction_value(value)
    if body.startswith(NOT_DECODED):
        return None
    found = OLD_TRANSACTION.fullmatch(body)
    if found is None:
        raise Undecodable("it is no record of the transaction log")
    return found["id"], None if found["producer_id"] is None else _old_value(found)


def _old_value(found: re.Match[str]) -> TransactionLogValue:
    return TransactionLogValue(
        producer_id=int(found["producer_id"]),
        previous_producer_id=None,
        next_producer_id=None,
        producer_epoch=int(found["epoch"]),
        timeout_ms=int(found["timeout"]),
        state=state_named(found["state"]),
        partitions=partitions_in(found["partitions"]),
        last_update_ms=int(found["updated"]),
        start_ms=None,
        client_transaction_version=None,
    )


def offset_record(body: str) -> tuple[OffsetKey, OffsetValue | None] | None:
    """The offset commit in ``<key> payload: <value>``; None for group metadata and what the tool could not decode.

    Raises:
        Undecodable: it is none of the known forms, or cut.
    """
    if body.startswith("{"):
        key, value = _json_pair(body)
        if str(key.get("type")) not in ("0", "1"):
            return None
        data = mapping(key.get("data"), "data")
        owner = OffsetKey(text(data, "group"), text(data, "topic"), integer(data, "partition"))
        return owner, None if value is None else _offset_value(mapping(value.get("data"), "data"))
    if body.startswith(NOT_DECODED):
        return None
    found = OLD_OFFSET.fullmatch(body) or OLDEST_OFFSET.fullmatch(body)
    if found is None:
        raise Undecodable("it is no record of the offsets log")
    owner = OffsetKey(found["group"], found["topic"], int(found["partition"]))
    return owner, None if found["offset"] is None else OffsetValue(int(found["offset"]), found["metadata"] or "")


def _offset_value(data: Json) -> OffsetValue:
    return OffsetValue(integer(data, "offset"), text(data, "metadata"), integer(data, "commitTimestamp", NONE))


def _json_pair(body: str) -> tuple[Json, Json | None]:
    try:
        key, end = DECODER.raw_decode(body)
        behind = body[end:].removeprefix(" payload: ")
        if behind == DELETE:
            return mapping(key, "the key"), None
        value, rest = DECODER.raw_decode(behind)
    except (ValueError, RecursionError) as error:
        raise Undecodable(f"it is not JSON: {error}") from error
    if behind[rest:].strip():
        raise Undecodable(f"{behind[rest:]!r} follows the value")
    return mapping(key, "the key"), mapping(value, "the value")
