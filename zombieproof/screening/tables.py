"""Packed segments for whoever collects evidence (`traces.readers.collect.Tables`); nothing is loaded without need."""

from importlib.util import find_spec
from pathlib import Path

from zombieproof.formats.faults import Undecodable
from zombieproof.traces.readers.lines import Reached
from zombieproof.traces.readers.segment_content import SegmentContent
from zombieproof.traces.readers.segments import Keep


def read_table(path: Path, keep: Keep, reached: Reached) -> SegmentContent:
    """Read a packed segment.

    Raises:
        OSError: it cannot be opened.
        Undecodable: it is no packed segment, or damaged, or pyarrow is missing.
    """
    if find_spec("pyarrow") is None:
        raise Undecodable("packed segments need pyarrow, which is not installed: pip install 'zombieproof[audit]'")
    from zombieproof.screening.packed.contents import packed_content  # noqa: PLC0415  # loads pyarrow and the compiler

    return packed_content(path, keep, reached)
