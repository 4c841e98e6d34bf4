"""What people's tools put around the lines of evidence: each a form that is taken off a line, whatever lies within.

A form is either fixed (the prefix of `docker compose logs`) or learned from the first lines (an indentation, the text
before each line). `forms.py` tries them, and composes those that help.
"""

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from zombieproof.traces.readers.exports import Document, Entry, Table, document_of, table_of
from zombieproof.traces.readers.lines import ELSEWHERE
from zombieproof.traces.readers.marks import CARRIED, COMMAND, INSIDE, SURE, has_other_quotes, weight
from zombieproof.traces.readers.printed import COLOURED, ESCAPE, OVERWRITTEN, as_shown, uncoloured
from zombieproof.traces.readers.timestamps import in_utc


class Piece(NamedTuple):
    """A line without a form. `source` is whose line it is, where the form says so.

    `is_partial` tells that the next line of the same source and stream continues it.
    """

    text: str
    source: str = ""
    is_partial: bool = False
    stream: str = ""


class Form(NamedTuple):
    """A form: `take` removes it from a line, and returns None for a line that does not have it.

    One that `is_certain` cannot be anything else when nearly all lines have it. One that may go over several lines, or
    have several in one, is taken off a whole text by `unfold`.
    """

    name: str
    take: Callable[[str], Piece | None]
    is_certain: bool = False
    unfold: Callable[[Sequence[str]], Iterator[Entry]] | None = None
    is_table: bool = False


Learner = Callable[[Sequence[str]], Form | None]
"""Makes a form that fits the first lines of a file; None where none does."""


def _by_pattern(name: str, pattern: str, *, is_certain: bool = False) -> Form:
    """A form with the groups `text`, and perhaps `time`, `source`, `partial` and `stream`."""
    compiled = re.compile(pattern, re.DOTALL)

    def take(line: str) -> Piece | None:
        found = compiled.fullmatch(line)
        if found is None:
            return None
        named = found.groupdict(default="")
        text = in_utc(named["text"], named.get("time", ""))
        return Piece(text, named.get("source", ""), bool(named.get("partial")), named.get("stream", ""))

    return Form(name, take, is_certain)


_NANOS = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"
_HOST = r"[\w.:-]+"
_TAG = r"[\w./@-]+"
_POD = r"(?=[\w.-]*[a-z])[a-z0-9][\w.-]*"
_DAY = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,6})?"


def _syslog(line: str) -> Piece | None:
    found = _SYSLOG.fullmatch(line)
    return Piece(in_utc(found["text"], found["time"] or ""), f"{found['host']}/{found['tag']}") if found else None


_SYSLOG = re.compile(
    rf"(?:<\d{{1,3}}>)?(?:{_DAY}|(?P<time>{_NANOS})|\w{{3}} \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d \S+|\d{{9,10}}\.\d{{6}})"
    rf" (?P<host>{_HOST}) (?P<tag>{_TAG})(?:\[\d+\])?: ?(?P<text>.*)",
    re.DOTALL | re.ASCII,
)


def _object(line: str) -> Mapping[str, object]:
    if not line.startswith("{"):
        return {}
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def learn_objects(sample: Sequence[str]) -> Form | None:
    """Lines of docker's json-file, ``journalctl -o json``, ``stern -o json`` or a collector.

    Docker ends a text with a line feed unless the next one continues it; others leave all line feeds out.
    """
    logs = [log for line in sample if isinstance(log := _object(line).get("log"), str)]
    has_ends = any(log.endswith("\n") for log in logs)

    def take(line: str) -> Piece | None:
        return _carried_in(_object(line), has_ends=has_ends)

    form = Form("lines as JSON of a container or of journald", take, is_certain=True)
    return form if any(form.take(line) is not None for line in sample) else None


def _carried_in(document: Mapping[str, object], *, has_ends: bool) -> Piece | None:
    if not document:
        return None
    source = _source_of(document)
    if isinstance(log := document.get("log"), str):
        stream = str(document.get("stream", ""))
        is_partial = document.get("logtag") == "P" or (has_ends and bool(stream) and not log.endswith("\n"))
        return Piece(in_utc(_one_line(log), str(document.get("time", ""))), source, is_partial, stream)
    message = document.get("MESSAGE", document.get("textPayload"))
    if message is None:
        other = next((document[name] for name in ("message", "msg", "line") if name in document), None)
        is_line = isinstance(other, str) and CARRIED.match(other) is not None and weight(other.rstrip("\n")) == SURE
        message = other if is_line or "podName" in document else None
    if isinstance(message, list) and all(isinstance(each, int) and 0 <= each < 256 for each in message):
        message = bytes(message).decode(errors="surrogateescape")
    return Piece(_one_line(message), source) if isinstance(message, str) else None


def _source_of(document: Mapping[str, object]) -> str:
    """The pod, container or service whose line an object holds, as collectors and journald name it."""
    inner = document.get("kubernetes")
    if isinstance(inner, dict):
        pod = inner.get("pod")
        name = inner.get("pod_name", pod.get("name") if isinstance(pod, dict) else None)
        if isinstance(name, str):
            return f"{name} {inner.get('container_name', '')}".strip()
    names = ("podName", "CONTAINER_NAME", "_SYSTEMD_UNIT", "SYSLOG_IDENTIFIER", "container_name")
    return next((str(document[name]) for name in names if name in document), "")


def source_of_object(line: str) -> str:
    """The pod whose line an object is that stays as it is, since its logger wrote it so."""
    return _source_of(_object(line)) if line.startswith("{") and '"kubernetes"' in line else ""


def _one_line(text: str) -> str:
    return text.removesuffix("\n").replace("\n", " ")


def _quoted(line: str) -> Piece | None:
    return Piece(line[2:] if line.startswith("> ") else line[1:]) if line.startswith(">") else None


_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#\d{1,6}|#x[0-9a-fA-F]{1,5});")


def _uncoloured(line: str) -> Piece | None:
    return Piece(uncoloured(line)) if ESCAPE in line else None


def _shown(line: str) -> Piece | None:
    return Piece(shown) if (shown := as_shown(line)) != line else None


def _unescaped(line: str) -> Piece | None:
    return Piece(_ENTITY.sub(_entity, line)) if "&" in line and _ENTITY.search(line) else None


def _entity(found: re.Match[str]) -> str:
    return html.unescape(found[0]).replace("\xa0", " ")


def _with_plain_quotes(line: str) -> Piece | None:
    """Objects with the quotation marks of JSON: pages of a word processor, cells and strings have others."""
    if not has_other_quotes(line):
        return None
    if any(quote in line for quote in _TYPOGRAPHIC):
        return Piece(re.sub(f"[{_TYPOGRAPHIC}]", '"', line))
    return Piece(line.replace('""', '"') if '{""' in line else re.sub(r'\\+"', '"', line))


_TYPOGRAPHIC = "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\uff02"


def _in_logfmt(line: str) -> Piece | None:
    found = _LOGFMT.match(line)
    return Piece(re.sub(r"\\(.)", r"\1", found["text"])) if found else None


_LOGFMT = re.compile(
    r'(?:[\w@.]+=(?:"(?:[^"\\]|\\.)*"|[^\s"]*) +)*(?:msg|message|log|line)="(?P<text>(?:[^"\\]|\\.)*)"', re.ASCII
)


def _with_plain_blanks(line: str) -> Piece | None:
    return Piece(line.translate(_BLANKS)) if any(blank in line for blank in "\xa0\u200b\ufeff") else None


_BLANKS = {0xA0: " ", 0x200B: None, 0xFEFF: None}

COLOURS = Form(COLOURED, _uncoloured, is_certain=True)
OVERWRITING = Form(OVERWRITTEN, _shown)
ENTITIES = Form("HTML entities", _unescaped)
QUOTES = Form("quotation marks that are not those of JSON", _with_plain_quotes)

FIXED = (
    _by_pattern(
        "prefixes of docker compose", r"(?!\d+ )(?P<source>[A-Za-z0-9][\w.-]*) *\|(?: (?P<text>.*))?", is_certain=True
    ),
    _by_pattern(
        "lines of containerd (CRI)",
        rf"(?P<time>{_NANOS}) (?P<stream>stdout|stderr) (?:F|(?P<partial>P))(?::\S*)?(?: (?P<text>.*))?",
        is_certain=True,
    ),
    _by_pattern("prefixes of kubectl logs", r"\[pod/(?P<source>[^\]\s]+)\](?: (?P<text>.*))?", is_certain=True),
    _by_pattern("prefixes of kubectl logs", r"\[(?P<source>[a-z0-9][\w.-]*[/ ][a-z0-9][\w.-]*)\] (?P<text>.*)"),
    _by_pattern("times of docker or kubectl logs", rf"(?P<time>{_NANOS})[ \t](?P<text>.*)"),
    _by_pattern(
        "syslog (RFC 5424)",
        rf"(?:<\d{{1,3}}>)?1 (?:(?P<time>{_NANOS})|-) (?P<source>\S+ \S+) \S+ \S+"
        r" (?:-|(?:\[(?:[^\]\\]|\\.)*\])+) ?\ufeff?(?P<text>.*)",
        is_certain=True,
    ),
    Form("syslog or journald", _syslog),
    _by_pattern("prefixes of stern", rf"(?P<source>(?:{_POD} )?{_POD} (?:› )?{_POD}) (?P<text>.*)"),
    _by_pattern("prefixes of kail", r"(?P<source>[\w.-]+/[\w.-]+\[[\w.-]+\]): (?P<text>.*)"),
    _by_pattern("lines of grep", r"(?P<source>(?=[^\s:]*[A-Za-z])[^\s:{\[|>]+?)(?::\d+:|-\d+-)(?P<text>.*)"),
    _by_pattern("lines of grep", r"(?P<source>(?=[^\s:]*[A-Za-z])(?=[^\s:]*[./])[^\s:{\[|>]+):(?P<text>\S.*)"),
    Form("quoted lines (>)", _quoted),
    COLOURS,
    OVERWRITING,
    ENTITIES,
    QUOTES,
    Form("messages of logfmt", _in_logfmt),
    Form("blanks of a web page", _with_plain_blanks),
    _by_pattern("list items", r"(?:[-*+•]|\d{1,6}[.)]) +(?P<text>.*)"),
    _by_pattern("inline code", r"`(?P<text>[^`]*)`(?:<br/?>)?"),
    _by_pattern("fences of code", r"(?:\{(?:code|noformat)[^}]*\}|<(?:pre|code)[^>]*>)+(?P<text>\S.*)"),
    _by_pattern("comments", r"(?://+|#+|\*+|--|;+) ?(?P<text>.*)"),
    _by_pattern("line breaks of HTML", r"(?P<text>(?:.*\S)?)\s*<br ?/?>"),
    _by_pattern("quotation marks", r'"(?P<text>.*)"[,;]?'),
    _by_pattern("lines of journalctl -o export", r"MESSAGE=(?P<text>.*)"),
    _by_pattern(
        "remarks behind the line", r"(?P<text>.*::TransactionMetadata\(.*\))(?:\s+|\s*(?:\s#|//|--|<-|←|\s;).*)"
    ),
)


def learn_line_ends(sample: Sequence[str]) -> Form | None:
    """CRLF: most lines have it, and the first one."""
    ends = sum(line.endswith("\r") for line in sample)
    if not ends or not sample[0].endswith("\r") or ends * 2 < len(sample):
        return None
    return _by_pattern("Windows line ends", r"(?P<text>.*)\r", is_certain=True)


def learn_indentation(sample: Sequence[str]) -> Form | None:
    """The blanks before most of the lines that have any; lines that have others are evidence without them."""
    blanks = Counter(line[: len(line) - len(line.lstrip(" \t"))] for line in sample)
    del blanks[""]
    if not blanks:
        return None
    known = [line for line in sample if line[0] in " \t" and weight(line.lstrip(" \t")) == SURE]
    prefix = known[0][: len(known[0]) - len(known[0].lstrip(" \t"))] if known else min(blanks, key=len)

    def take(line: str) -> Piece | None:
        if line.startswith(prefix):
            return Piece(line[len(prefix) :])
        if not line.strip(" \t"):
            return Piece("") if line else None
        bare = line.lstrip(" \t")
        return Piece(bare) if bare is not line and weight(bare) == SURE else None

    return Form("indentation", take)


_NUMBERED = re.compile(r"[ \t]*\d+(?P<between>[ \t]*(?:[:|.)\]][ \t]*|(?<=[ \t])))(?P<text>\S.*)", re.DOTALL)


def learn_line_numbers(sample: Sequence[str]) -> Form | None:
    """A number before each line, and what stands between both; ``cat -n``, ``nl``, editors, ``grep -n``."""
    found = [match for line in sample if (match := _NUMBERED.fullmatch(line))]
    if not found:
        return None
    narrowest = min(found, key=lambda match: len(match["between"]))
    known = next((match for match in found if weight(match["text"]) == SURE), narrowest)
    between = known["between"]
    bare = between.rstrip(" ")
    blanks = len(between) - len(bare)
    # A number that follows, as of `cat -n`, takes the place of blanks as it grows.
    narrow = re.escape(bare) + (rf" {{{0 if bare else 1},{blanks}}}" if blanks else "")
    pattern = rf"[ \t]*\d+(?:{narrow}(?P<text>.*)|{re.escape(between.rstrip())}[ \t]*)"
    compiled = re.compile(pattern, re.DOTALL)

    def take(line: str) -> Piece | None:
        numbered = compiled.fullmatch(line)
        return Piece(numbered["text"] or "") if numbered else None

    return Form("line numbers", take)


def learn_prefix(sample: Sequence[str]) -> Form | None:
    """Any other text before each line, if it has the same shape before all that are evidence behind it."""
    starts = ((line, next(filter(None, map(_evident, INSIDE.finditer(line))), None)) for line in sample)
    known = [(line[: found.start()], line) for line, found in starts if found is not None]
    in_quotes = all(prefix.endswith(',"') and line.endswith('"') for prefix, line in known)
    if not known or any(not prefix or (_has_open_quote(prefix) and not in_quotes) for prefix, _ in known):
        return None
    shapes = {_shape(prefix) for prefix, _ in known}
    if len(shapes) > 1:
        return None
    end = '"' if in_quotes else ""
    compiled = re.compile(rf"(?:{shapes.pop()})(?P<text>.*){end}", re.DOTALL)

    def take(line: str) -> Piece | None:
        found = compiled.fullmatch(line)
        return Piece(found["text"]) if found else None

    return Form("a prefix before each line", take)


def _evident(found: re.Match[str]) -> re.Match[str] | None:
    """The place in a line from which on it is evidence, or an object that may hold some."""
    rest = found.string[found.start() :]
    return found if weight(rest) == SURE or (rest.startswith('{"') and rest.rstrip().endswith("}")) else None


def _has_open_quote(prefix: str) -> bool:
    """Whether what follows a prefix is within a text of JSON or CSV."""
    return bool(prefix.replace("&quot;", '"').replace('\\"', "").count('"') % 2)


def _shape(prefix: str) -> str:
    """What a prefix has in common with that of other lines: numbers may differ, and how far they are indented."""
    return "".join(map(_shape_of, filter(None, re.split(r"(\s*\d+)", prefix))))


def _shape_of(part: str) -> str:
    if not part.strip().isdigit():
        return re.escape(part)
    return r"\d+" if part.isdigit() else r"\s+\d+"


def learn_table(sample: Sequence[str]) -> Form | None:
    """Cells of CSV."""
    table = table_of(sample)
    return None if table is None else _export("cells of CSV", table, is_certain=table.is_named)


def learn_document(sample: Sequence[str]) -> Form | None:
    """Strings of JSON."""
    document = document_of(sample)
    return None if document is None else _export("strings of JSON", document, is_certain=document.is_named)


def _export(name: str, export: Table | Document, *, is_certain: bool) -> Form:
    def take(line: str) -> Piece | None:
        text = export.text_in(line)
        return None if text is None else Piece(text)

    return Form(name, take, is_certain, export.entries, is_table=is_certain and isinstance(export, Table))


LEARNERS: tuple[Learner, ...] = (
    learn_line_ends,
    learn_objects,
    learn_indentation,
    learn_line_numbers,
    learn_table,
    learn_document,
)
FEW = 3
"""As many sources there may be in a file of as many lines."""

WITH_ANY_PREFIX = (*LEARNERS, learn_prefix)
"""To be tried when nothing else fits."""

LONGEST = 1000
"""Characters that a prompt with its command, or a fence, does not have."""

FENCE = re.compile(r"\s*(?:`{3,}[\w-]*|~{3,}[\w-]*|(?:\{(?:code|noformat)[^}]*\}|</?(?:pre|code)[^>]*>)+)\s*")
PROMPT = re.compile(
    r"\s*(?:PS [A-Z]:\\[^>]*>|[A-Z]:\\[^>]*>"
    r"|(?:\([\w.-]+\) )?(?:\[?[\w.-]+@[\w.-]+[^$#>]*|(?:ba|z|k)?sh(?:-[\d.]+)?|[~/]\S*)? ?[$#%❯]) ?(?P<command>\S.*)"
)


def _fence(line: str) -> Piece | None:
    return Piece(ELSEWHERE) if len(line) < LONGEST and FENCE.fullmatch(line) else None


def _prompt(line: str) -> Piece | None:
    """The command after a prompt if it tells what the rows below it do not; else the line is of no use."""
    found = PROMPT.fullmatch(line) if len(line) < LONGEST else None
    if found is None:
        return None
    return Piece(found["command"] if COMMAND.search(found["command"]) else ELSEWHERE)


FENCES = Form("fences of code", _fence)
PROMPTS = Form("a shell's prompt", _prompt)


def fitting(sample: Sequence[str], learners: Sequence[Learner] = LEARNERS) -> Iterator[Form]:
    """The forms that at least one of these lines has, each as it fits them; they must not be blank."""
    for learn in learners:
        if (form := learn(sample)) is not None:
            yield form
    for form in FIXED:
        if _fits([piece for line in sample if (piece := form.take(line)) is not None]):
            yield form


def _fits(pieces: Sequence[Piece]) -> bool:
    """Whether any line has a form, and the form does not name a source of its own for every other line."""
    sources = {piece.source for piece in pieces}
    return bool(pieces) and (len(sources) <= FEW or 2 * len(sources) <= len(pieces))
