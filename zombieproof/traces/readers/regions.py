"""Parts of a text whose lines have other forms than those above: a quoted dump below a plain log.

Forms are chosen by the first lines of a text (`forms`). So what the first kind of evidence leaves over is looked at as
a text of its own, and put back to the numbers of its lines.
"""

import re
from collections.abc import Mapping, Sequence

from zombieproof.traces.readers.forms import Plain, plain_parts
from zombieproof.traces.readers.lines import ELSEWHERE
from zombieproof.traces.readers.recognise import Kind, by_content

IN_A_FORM = re.compile(rb"baseOffset: \d+ lastOffset: \d+ count: \d")
PATH = b"Dumping "
GLANCE = 1 << 12
LINES_ABOVE = 3
"""As many lines above its first batch a dump begins at most."""
OF_UNKNOWN_FORM = "a batch of a dump whose lines begin with something else"


def parts_of_others(others: Mapping[int, str], *, ends_open: bool) -> list[Plain]:
    """The lines that are left of a text, by number, as parts without their own forms."""
    numbers = list(others)
    compact = memoryview("\n".join(others.values()).encode())
    return [
        part._replace(data=_at_their_numbers(part.data, numbers, ends_open=ends_open)) for part in plain_parts(compact)
    ]


def _at_their_numbers(data: memoryview, numbers: Sequence[int], *, ends_open: bool) -> memoryview:
    lines = [ELSEWHERE.encode()] * max(numbers, default=0)
    for number, line in zip(numbers, bytes(data).split(b"\n"), strict=False):
        lines[number - 1] = line
    return memoryview(b"\n".join(lines) + (b"" if ends_open else b"\n"))


def cut_at_dump(part: Plain) -> list[Plain]:
    """A text that is not a dump, cut where the lines of one begin that have a form; else the text as it is."""
    found = IN_A_FORM.search(part.data)
    if found is None:
        return [part]
    above = bytes(part.data[: found.start()]).split(b"\n")
    first = next(
        (at for at in range(len(above) - 1, max(-1, len(above) - 2 - LINES_ABOVE), -1) if PATH in above[at]), -1
    )
    first = first if first >= 0 else len(above) - 1
    start = sum(len(line) + 1 for line in above[:first])
    below = plain_parts(memoryview(bytes(part.data[start:])))
    if not any(by_content(each.data) is Kind.DUMP for each in below):
        return [part]
    before = (ELSEWHERE.encode() + b"\n") * first
    return [
        part._replace(data=memoryview(bytes(part.data[:start]))),
        *(each._replace(data=memoryview(before + bytes(each.data))) for each in below),
    ]


def may_show_batches(data: memoryview) -> bool:
    """Whether a text, which holds no zero bytes, shows a batch anywhere."""
    return b"\0" not in bytes(data[:GLANCE]) and IN_A_FORM.search(data) is not None


def batches_in_a_form(data: memoryview) -> tuple[int, int]:
    """How many batches of dumps are shown behind something else, and the line of the first."""
    places = [found.start() for found in IN_A_FORM.finditer(data)]
    return len(places), bytes(data[: places[0]]).count(b"\n") + 1 if places else 0
