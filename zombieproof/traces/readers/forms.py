"""Plain lines from a text as people have it: quoted, indented, numbered, with the prefixes of whatever carried it.

Forms are tried on the first lines, and those are composed that make evidence of them (`marks.weight`); a form that
cannot be anything else is taken off in any case. The result has a line for each line of the file, so that numbers of
lines stay what they are; lines of somebody else are `lines.ELSEWHERE`. A file that is plain is not copied.
"""

import heapq
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, islice
from typing import NamedTuple

from zombieproof.formats.producer_snapshot import has_snapshot_form
from zombieproof.formats.segments import begins_with_batch
from zombieproof.traces.readers.exports import MOST_SOURCES, texts_by_source
from zombieproof.traces.readers.layouts import layout_of
from zombieproof.traces.readers.lines import ELSEWHERE, HEAD, NEARLY_ALL, WINDOW, decoded
from zombieproof.traces.readers.marks import PERHAPS, SURE, has_other_quotes, is_dump_line, weight
from zombieproof.traces.readers.newest_first import TURNED_ROUND, turned_round
from zombieproof.traces.readers.printed import is_changed
from zombieproof.traces.readers.wrapped_lines import joined_again
from zombieproof.traces.readers.wrappings import (
    COLOURS,
    ENTITIES,
    FENCES,
    LEARNERS,
    OVERWRITING,
    PROMPTS,
    QUOTES,
    WITH_ANY_PREFIX,
    Form,
    Learner,
    fitting,
    source_of_object,
)

SAMPLE = 80
"""Lines that forms are tried on."""

GLANCE = 30
"""Lines that tell whether a file is plain."""

MOST_FORMS = 8
HALF = (SAMPLE + 1) // 2
"""How much more a composition with rows of a table that has a heading is worth: half of a line."""
MOST_TRIALS = 200

DECODED = re.compile(r" key: (?:\{&quot;type&quot;:|\w+::.* payload: &lt;DELETE&gt;)")
"""What a decoder of kafka-dump-log printed, copied from the source of a page."""


class Plain(NamedTuple):
    """Lines of one source of a file. `source` is empty unless the file holds several. `forms` were removed."""

    data: memoryview
    forms: tuple[str, ...] = ()
    source: str = ""


def plain_parts(data: memoryview) -> Sequence[Plain]:
    """What a file holds, without the forms around its lines: one part, or one for each pod or container.

    A file of bytes, or a text that is plain already, comes back as it is. The oldest line is the first one.
    """
    return [_oldest_first(whole) for part in _without_forms(data) for whole in _with_whole_lines(part)]


def _with_whole_lines(part: Plain) -> Sequence[Plain]:
    joined = joined_again(part.data)
    if joined is None:
        return [part]
    forms = (*part.forms, joined[1])
    below = _without_forms(joined[0]) if joined[0] is not part.data else [Plain(part.data)]
    return [
        Plain(each.data, tuple(dict.fromkeys((*forms, *each.forms))), f"{part.source} {each.source}".strip())
        for each in below
    ]


def _oldest_first(part: Plain) -> Plain:
    turned = turned_round(part.data)
    return part if turned is None else part._replace(data=turned, forms=(*part.forms, TURNED_ROUND))


def _without_forms(data: memoryview) -> Sequence[Plain]:
    if begins_with_batch(data) or has_snapshot_form(data):
        return [Plain(data)]
    text, names = decoded(data)
    head = bytes(text[:HEAD])
    if head.count(0) > len(head) * (1 - NEARLY_ALL):
        return [Plain(data)]
    if b"\n" not in head and b"\r" in head:
        text, names = memoryview(bytes(text).replace(b"\r", b"\n")), [*names, "line ends of old Macs"]
        head = bytes(text[:HEAD])
    sample = _sample(head, len(text) > HEAD)
    if _is_plain(sample):
        return [Plain(text, tuple(names))]
    forms = _chosen(sample)
    shown = _applied(sample, forms)
    unfolding = next((at for at, form in enumerate(forms) if form.unfold is not None), None)
    if unfolding is not None:
        return _unfolded(text, names, forms[:unfolding], forms[unfolding])
    names += [form.name for form in forms]
    has_layout = any(layout_of(line) is not None for line in shown)
    if not forms and not has_layout:
        return [Plain(text, tuple(names))]
    return _taken_off(text, forms, names, has_layout=has_layout)


def _sample(head: bytes, is_cut: bool) -> list[str]:
    """Lines from the beginning that are not blank, without one that is cut, and some below that are changed."""
    lines = head.decode(errors="surrogateescape").split("\n")
    if is_cut and len(lines) > 1:
        lines.pop()
    filled = [line for line in lines if line.strip()]
    odd = (line for line in filled[SAMPLE:] if _is_odd(line))
    return [*filled[:SAMPLE], *islice(odd, GLANCE)]


def _is_odd(line: str) -> bool:
    return is_changed(line.removesuffix("\r")) or has_other_quotes(line) or ENTITIES.take(line) is not None


def _is_plain(sample: Sequence[str]) -> bool:
    """Whether the first lines are what a tool printed: then nothing is taken off."""
    if not sample or (is_dump_line(sample[0]) and weight(sample[0]) == SURE):
        return not any(_is_escaped(line) or has_other_quotes(line) for line in sample)
    glance = [*sample[:GLANCE], *filter(is_changed, sample[GLANCE:])]
    return not any(map(_is_escaped, sample[GLANCE:])) and all(
        weight(line) == SURE and layout_of(line) is None for line in glance
    )


# ---------------------------------------------------------------- choosing forms


def _chosen(sample: Sequence[str]) -> list[Form]:
    """The forms to take off, outermost first."""
    forms = _composed(sample, LEARNERS)
    if SURE not in map(weight, _applied(sample, forms)):
        forms = _composed(sample, WITH_ANY_PREFIX) or forms
    forms = forms or _certain(sample)
    shown = _applied(sample, forms)
    if SURE not in map(weight, shown):
        return forms
    for form in (FENCES, PROMPTS):
        if _stands_before(shown, form):
            forms.append(form)
            shown = _applied(sample, forms)
    of_dump = any(map(is_dump_line, shown))
    for form in () if of_dump else (COLOURS, OVERWRITING):
        if form not in forms and any(form.take(line) is not None for line in shown):
            forms.append(form)
            shown = _applied(shown, [form])
    for form, is_needed in ((ENTITIES, _is_escaped), (QUOTES, has_other_quotes)):
        if form not in forms and any(map(is_needed, shown)):
            forms.append(form)
    return forms


def _stands_before(shown: Sequence[str], form: Form) -> bool:
    """Whether a line of this form stands before the first line that is evidence."""
    first = next((at for at, line in enumerate(shown) if weight(line) == SURE), 0)
    return any(form.take(line) is not None for line in shown[:first])


def _is_escaped(line: str) -> bool:
    """Whether a line was copied from the source of a page: what its tool prints can only be meant so."""
    if "&" not in line or '"' in line or "<" in line or weight(line) != SURE:
        return False
    if is_dump_line(line):
        return DECODED.search(line) is not None
    return any(each in line for each in ("&quot;", "-&gt;", "&#x27;", "&#39;"))


def _certain(sample: Sequence[str]) -> list[Form]:
    """Forms that nearly all lines have, and that can be nothing else."""
    forms: list[Form] = []
    shown = list(sample)
    while shown and len(forms) < MOST_FORMS:
        is_sure = SURE in map(weight, shown)
        known = (form for form in fitting(shown) if form.is_certain and not (form.unfold and is_sure))
        found = next((form for form in known if _have(form, shown)), None)
        if found is None:
            break
        forms.append(found)
        shown = _applied(shown, [found])
    return forms


def _have(form: Form, sample: Sequence[str]) -> bool:
    return sum(form.take(line) is not None for line in sample) >= NEARLY_ALL * len(sample)


def _composed(sample: Sequence[str], learners: Sequence[Learner]) -> list[Form]:
    """The composition that makes evidence of most lines, with the fewest forms; none if the lines are best as they are.

    What gives most evidence is continued first.
    """
    start, order = tuple(sample), count()
    best_value = _value(start)
    best: list[Form] = []
    waiting: list[tuple[int, int, int, tuple[str, ...], list[Form]]] = [(0, -best_value, next(order), start, best)]
    seen = {start}
    for _ in range(MOST_TRIALS):
        if not waiting:
            break
        _, _, _, shown, forms = heapq.heappop(waiting)
        for form in fitting(shown, learners) if shown and len(forms) < MOST_FORMS else ():
            after = tuple(_applied(shown, [form]))
            if after in seen:
                continue
            seen.add(after)
            value = _value(after) + any(each.is_table for each in (*forms, form)) * HALF
            if value > best_value:
                best_value, best = value, [*forms, form]
            heapq.heappush(waiting, (len(forms) + 1, -value, next(order), after, [*forms, form]))
    return list(best) if best and _is_allowed(sample, best) else []


def _value(sample: Iterable[str]) -> int:
    """Lines that surely are evidence count; others decide where as many are."""
    weights = list(map(weight, sample))
    return weights.count(SURE) * (SAMPLE + 1) + weights.count(PERHAPS)


def _is_allowed(sample: Sequence[str], forms: Sequence[Form]) -> bool:
    """Whether the first evidence has the forms: payloads in a plain dump may look like evidence that has them."""
    leading = next((line for line in sample if SURE in map(weight, _applied([line], forms))), "")
    return not is_dump_line(leading) or _applied([leading], forms) != [leading]


def _applied(sample: Iterable[str], forms: Sequence[Form]) -> list[str]:
    """Lines without forms; those of which nothing is left are left out."""
    shown = []
    for line in sample:
        text = line
        for form in forms:
            piece = form.take(text)
            text = text if piece is None else piece.text
        if text.strip() and text != ELSEWHERE:
            shown.append(text)
    return shown


# ---------------------------------------------------------------- taking them off


class _Pending(NamedTuple):
    """A line of which the rest is still to come: its place among the lines, and what is there of it."""

    place: int
    text: str


class _Sorter:
    """Puts each line to its source, at its number."""

    def __init__(self, forms: Sequence[Form]) -> None:
        self._forms = forms
        self.lines: dict[str, list[tuple[int, str]]] = {}
        self._pending: dict[tuple[str, str], _Pending] = {}
        self._source = ""

    def take(self, index: int, line: str) -> None:
        text, source, stream, is_partial = line, "", "", False
        for form in self._forms:
            if (piece := form.take(text)) is not None:
                text = piece.text
                stream, is_partial = stream + piece.stream, is_partial or piece.is_partial
                source = f"{source} {piece.source}".strip() if piece.source else source
        self._source = source or source_of_object(text) or self._source
        if text == ELSEWHERE:
            return
        source = self._source
        begun = self._pending.pop((source, stream), None)
        if begun is not None:
            index, text = begun.place, begun.text + text
        if is_partial:
            self._pending[source, stream] = _Pending(index, text)
        else:
            self.lines.setdefault(source, []).append((index, text))

    def finish(self) -> None:
        """Take what nothing continued. Lines before the first that says whose it is belong to that one."""
        for (source, _), begun in self._pending.items():
            self.lines.setdefault(source, []).append(begun)
        if "" in self.lines and len(self.lines) > 1:
            remarks = self.lines.pop("")
            next(iter(self.lines.values())).extend(remarks)


def _taken_off(data: memoryview, forms: Sequence[Form], names: list[str], *, has_layout: bool) -> list[Plain]:
    sorter, total = _Sorter(forms), 0
    for index, line in enumerate(_text_lines(data)):
        sorter.take(index, line)
        total = index + 1
    sorter.finish()
    if len(sorter.lines) > MOST_SOURCES:
        together = [each for lines in sorter.lines.values() for each in lines]
        sorter.lines = {"": together}
    ends_open = bool(len(data)) and data[len(data) - 1] != 0x0A
    parts = []
    for source, lines in sorter.lines.items():
        layouts: dict[str, None] = {}
        text = _joined(sorted(lines), total, layouts if has_layout else None, ends_open=ends_open)
        kept = source if len(sorter.lines) > 1 else ""
        parts.append(Plain(memoryview(text), (*dict.fromkeys(names), *layouts), kept))
    return parts or [Plain(memoryview(b""), tuple(names))]


def _unfolded(data: memoryview, names: Sequence[str], outer: Sequence[Form], export: Form) -> list[Plain]:
    """What is in an export, which is a text with forms of its own."""
    assert export.unfold is not None
    parts = []
    for part in _taken_off(data, outer, [form.name for form in outer], has_layout=False):
        lines = list(_text_lines(part.data))
        is_cut = bool(lines) and part.data[-1] != 0x0A and lines[-1].count('"') % 2 == 1
        for source, text in texts_by_source(export.unfold(lines), is_cut=is_cut):
            for below in plain_parts(memoryview(text.encode(errors="surrogateescape"))):
                forms = tuple(dict.fromkeys((*names, *part.forms, export.name, *below.forms)))
                parts.append(Plain(below.data, forms, f"{part.source} {source} {below.source}".strip()))
    return parts if len({part.source for part in parts}) > 1 else [part._replace(source="") for part in parts]


def _joined(lines: Sequence[tuple[int, str]], total: int, layouts: dict[str, None] | None, *, ends_open: bool) -> bytes:
    """All lines at their numbers, in Kafka's layout of logs; `layouts` hears in which they were."""
    out: list[bytes] = [ELSEWHERE.encode()] * total
    for index, line in lines:
        text = line
        if layouts is not None and (found := layout_of(line)) is not None:
            layouts[found.name] = None
            text = found.text
        out[index] = text.encode(errors="surrogateescape")
    is_last = bool(lines) and lines[-1][0] == total - 1
    return b"\n".join(out) + (b"" if ends_open and is_last else b"\n")


def _text_lines(data: memoryview) -> Iterator[str]:
    """The lines of a text; bytes that are not UTF-8 come back the same when they are encoded."""
    rest = b""
    for start in range(0, len(data), WINDOW):
        parts = (rest + bytes(data[start : start + WINDOW])).split(b"\n")
        rest = parts.pop()
        for part in parts:
            yield part.decode(errors="surrogateescape")
    if rest:
        yield rest.decode(errors="surrogateescape")
