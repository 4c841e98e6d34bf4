"""How records declare their fields."""

from dataclasses import dataclass, fields

import pytest

from zombieproof.model.fields import WIDTHS, array, integer
from zombieproof.model.records import CachedBatch, PendingOffset, ProducerEntry, Transaction
from zombieproof.model.vocabulary import CACHED_BATCHES


@dataclass(slots=True)
class Log:
    end: int = integer(3, width="u2")
    batches: list[CachedBatch] = array(CachedBatch, 2)
    epochs: list[int] = array(int, 3, width="i4")


def test_a_new_record_has_its_defaults_and_lists_of_its_own() -> None:
    one, other = Log(), Log()
    assert (one.end, one.epochs, one.batches) == (3, [0, 0, 0], [CachedBatch(), CachedBatch()])
    one.batches[0].last_sequence = 7
    one.epochs[1] = 5
    assert other == Log()
    assert one.batches[0] is not one.batches[1]


def test_a_host_that_packs_records_finds_lengths_and_widths() -> None:
    said = {field.name: dict(field.metadata) for field in fields(Log)}
    assert said["end"] == {"width": "u2"}
    assert said["batches"] == {"length": 2, "of": CachedBatch, "width": "i1"}
    assert said["epochs"] == {"length": 3, "of": int, "width": "i4"}


@pytest.mark.parametrize("width", ["i3", "", "int", "f8"])
def test_an_unknown_width_is_refused_with_those_that_exist(width: str) -> None:
    for declare in (lambda: integer(width=width), lambda: array(int, 1, width=width)):
        with pytest.raises(ValueError, match=f"width {width!r} is unknown; give one of {', '.join(WIDTHS)}"):
            declare()


def test_a_negative_length_is_refused() -> None:
    with pytest.raises(ValueError, match="array of CachedBatch: length -1 is negative"):
        array(CachedBatch, -1)


@pytest.mark.parametrize("record", [Transaction, ProducerEntry, PendingOffset, CachedBatch])
def test_a_record_of_the_model_is_slotted_and_declares_every_field(record: type) -> None:
    assert not hasattr(record(), "__dict__")
    assert all(isinstance(field.default, bool) or field.metadata.get("width") in WIDTHS for field in fields(record))


def test_a_leader_has_room_for_the_batches_that_kafka_remembers() -> None:
    assert len(ProducerEntry().batches) == CACHED_BATCHES == 5
