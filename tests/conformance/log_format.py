"""The format of the transaction log: words of the request layer's cases."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from struct import pack

from tests.conformance.cases import Case, Failed, NotRunnable
from tests.conformance.phrases import STATES, Fields, check, matched, state_of
from zombieproof.formats.batches import TransactionValue
from zombieproof.formats.faults import Unwritable
from zombieproof.formats.schema import UNKNOWN_TAGS, read_message
from zombieproof.formats.transaction_log import (
    FLEXIBLE_VERSION,
    read_value,
    value_version,
    write_value,
)
from zombieproof.formats.transaction_log import (
    VALUE as VALUE_SCHEMA,
)
from zombieproof.model.vocabulary import NONE, TransactionState
from zombieproof.traces.readers.internal_text import transaction_record
from zombieproof.traces.readers.transaction_log import shown

ID = "transactional-id"
VALUE = TransactionValue(
    producer_id=4000,
    previous_producer_id=3999,
    next_producer_id=4001,
    producer_epoch=7,
    last_producer_epoch=NONE,
    timeout_ms=60_000,
    state=TransactionState.ONGOING,
    partitions=frozenset({("topic1", 0)}),
    last_update_ms=1_700_000_000_500,
    start_ms=1_700_000_000_000,
    client_transaction_version=2,
)
SHOWN = {
    "id": ID,
    "pid": f"producerId:{VALUE.producer_id},",
    "epoch": f"producerEpoch:{VALUE.producer_epoch},",
    "state": "state=Ongoing,",
    "partitions": "partitions=[topic1-0],",
    "update time": f"txnLastUpdateTimestamp={VALUE.last_update_ms},",
    "timeout": f"txnTimeoutMs={VALUE.timeout_ms}",
}
"""What a case calls a field -> how the tool shows it."""


def _entry(phrase: object) -> TransactionValue:
    match = matched(r"(?P<state>\w+) with (?:a|one) partition", phrase, "entry")
    return replace(VALUE, state=state_of(match["state"]))


def _serialise(case: Case) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    if "entry" in given:
        entry, raises = _entry(given.take("entry")), expect.take("raises", "nothing")
        for version in (0, FLEXIBLE_VERSION):
            got = "nothing"
            try:
                write_value(entry, version)
            except Unwritable:
                got = "IllegalStateException"
            check(f"raises, version {version}", raises, got)
    else:
        version = int(matched(r"highest known \((\d+)\)", expect.take("value_version"))[1])
        written = write_value(VALUE, value_version(int(given.take("tv"))))
        check("value version", version, int.from_bytes(written[:2], "big"))
        check("highest known version", version, _highest_known())
    given.done()
    expect.done()


def _highest_known() -> int:
    """The highest version that can be written."""
    version = 0
    while True:
        try:
            write_value(VALUE, version + 1)
        except Unwritable:
            return version
        version += 1


def _show(case: Case) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    is_tombstone = "value" in given
    if is_tombstone and given.take("value") is not None:
        raise NotRunnable("a value that is shown is an entry or none")
    value = None if is_tombstone else _entry(given.take("entry"))
    given.done()
    text = shown(ID, value)
    wanted = expect.take("shows")
    expect.done()
    check("read again", ID, (transaction_record(text.split("::", 1)[1]) or ("",))[0])
    if is_tombstone:
        check("shows", matched("<DELETE>", wanted, "shows")[0], text.rsplit(" ", 1)[1])
        return
    for name in str(wanted).split(", "):
        if name not in SHOWN:
            raise NotRunnable(f"field {name!r} is not understood")
        said = SHOWN[name].replace("Ongoing", next(k for k, s in STATES.items() if value and s == value.state))
        if said not in text:
            raise Failed(f"{said!r} is not in {text!r}")


def _read(case: Case) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    version = int(matched(r"version (\d+)", given.take("value"))[1])
    given.done()
    matched("kept", expect.take("all_fields"))
    expect.done()
    check("all fields", VALUE, read_value(write_value(VALUE, version)))


def _read_future(case: Case) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    phrase = "flexible version with tagged fields of a future release, at the top and per partition"
    matched(phrase, given.take("value"))
    given.done()
    version = int(matched(r"read as version (\d+)", case.when)[1])
    matched("kept", expect.take("known_fields"))
    matched("kept aside without an error", expect.take("unknown_tags"))
    expect.done()
    written = _with_tags(write_value(VALUE, version))
    check("known fields", VALUE, read_value(written))
    fields = read_message(VALUE_SCHEMA, written).fields
    of_topics = {topic["Topic"]: topic[UNKNOWN_TAGS] for topic in fields["TransactionPartitions"]}
    check("unknown tags", ({100: b"later"}, {"topic1": {9: b"per topic"}}), (fields[UNKNOWN_TAGS], of_topics))


def _with_tags(written: bytes) -> bytes:
    """The value with a tagged field more in its topic and at its end."""
    times = pack(">qq", VALUE.last_update_ms, VALUE.start_ms)
    head, tail = written.split(times)
    assert head[-1] == 0, "a topic without tagged fields ends with their number"
    return head[:-1] + bytes([1, 9, 9]) + b"per topic" + times + bytes([tail[0] + 1]) + tail[1:] + b"\x64\x05later"


HANDLERS: Mapping[str, Callable[[Case], None]] = {
    r"serialise": _serialise,
    r"format": _show,
    r"read": _read,
    r"read as version \d+": _read_future,
}
