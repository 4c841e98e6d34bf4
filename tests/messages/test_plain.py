"""Messages as plain JSON values: each is read back as it was, and what is no message is refused."""

import dataclasses
import json
import typing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zombieproof.formats.batches import Batch, Record
from zombieproof.messages.partitions import Produce, SentBatch
from zombieproof.messages.plain import NotPlain, as_plain, from_plain
from zombieproof.messages.registry import APIS

st.register_type_strategy(Batch, st.builds(Batch, records=st.lists(st.from_type(Record), max_size=3).map(tuple)))

MESSAGES = [side for api in APIS for side in (api.request, api.answer)]


def _back(message: object) -> object:
    return from_plain(json.loads(json.dumps(as_plain(message))))


@pytest.mark.share(2)
@pytest.mark.sample("EndTxn", "JoinGroup")
@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: each.__name__)
@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=25)
@given(data=st.data())
def test_every_message_is_read_back_as_it_was(message: type, data: st.DataObject) -> None:
    hints = typing.get_type_hints(message)
    drawn = {each.name: data.draw(st.from_type(hints[each.name])) for each in dataclasses.fields(message)}
    made = message(**drawn)
    assert _back(made) == made


def test_the_bytes_of_a_record_are_kept() -> None:
    batch = Batch(1, 0, 0, transactional=True, records=(Record(b"\x00\xff", None), Record(None, "é".encode())))
    sent = Produce(12, "x", -1, {("t", 0): (SentBatch(batch),)})
    assert _back(sent) == sent


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"is": "Nobody"}, "'Nobody' is no message nor a part of one"),
        ({"is": "EndTxn", "colour": 1}, "no EndTxn is made of colour"),
        ({"bytes": "@"}, "'@' is no base64"),
        ({"uuid": "17"}, "'17' is no UUID"),
        ({"bytes": "QQ==", "set": []}, "is no part of a message"),
        ({"pairs": [[1, 2, 3]]}, "are no pairs of a key and a value"),
        ({}, "an object says what it is under 'is'"),
        ([{"is": 7}], "is no part of a message"),
    ],
)
def test_what_is_no_message_is_refused(value: typing.Any, says: str) -> None:
    with pytest.raises(NotPlain, match=says):
        from_plain(value)


def test_what_no_message_holds_is_no_plain_value() -> None:
    with pytest.raises(TypeError, match="is no part of a message"):
        as_plain(1.5)
