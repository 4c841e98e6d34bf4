"""Several kinds of evidence in one text: each line is given to one reader.

People paste a console's text, calls of applications, logs and tables into one file. Calls and records of the console
consumer are known by their own form, line by line; logs and tables get the other lines. (Lines of a dump are taken
before: only its own reader knows how far a payload goes.) Every part keeps the numbers of its lines, and the console's
text its bytes.
"""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from zombieproof.traces.readers.client_calls import looks_like_calls
from zombieproof.traces.readers.console_text import lines_of_console
from zombieproof.traces.readers.layouts import is_log_line
from zombieproof.traces.readers.lines import ELSEWHERE
from zombieproof.traces.readers.recognise import LOG_MARK, Kind
from zombieproof.traces.readers.tool_tables import holds_tool_output

CALL = re.compile(rb'"(?:action|asked)"\s*:\s*"')
CUT_CALL = re.compile(r'\{\s*"(?:t|id)"\s*:')
"""How a call begins, as it is recorded."""
CONSOLE = re.compile(
    rb'::TransactionMetadata\(|\]::(?:\[?OffsetMetadata|OffsetAndMetadata|NULL)|\{\s*"key"\s*:\s*\{\s*"(?:version|type)"'
)


class Share(NamedTuple):
    """The lines of one kind, at their numbers."""

    kind: Kind
    data: memoryview


def shared_out(data: memoryview, main: Kind) -> list[Share]:
    """The parts of a text without dumps that was recognised as `main`; the text itself where it holds one kind.

    Logs and tables are one part: the readers of both pass over each other's lines.
    """
    has_calls = CALL.search(data) is not None
    has_console = main is Kind.CONSOLE or CONSOLE.search(data) is not None
    if (
        not has_calls
        and (main is not Kind.CONSOLE or not LOG_MARK.search(data))
        and (main is Kind.CONSOLE or not has_console)
    ):
        return [Share(main, data)]
    lines = bytes(data).split(b"\n")
    texts = [line.decode(errors="replace") for line in lines]
    calls = {at for at, text in enumerate(texts) if text.startswith("{") and _is_call(text)} if has_calls else set()
    console = _console(texts, calls) if has_console else set()
    others = _only(lines, set(range(len(lines))) - calls - console)
    has_log = LOG_MARK.search(others) is not None
    has_others = has_log or holds_tool_output(others)
    if has_others + bool(calls) + bool(console) < 2:
        return [Share(main, data)]
    shares = [Share(Kind.CALLS, _only(lines, calls))] if calls else []
    if console:
        shares.append(Share(Kind.CONSOLE, _blanked(lines, console)))
    if has_others:
        shares.append(Share(Kind.TEXT_LOG if has_log else Kind.TOOL_OUTPUT, others))
    return shares


def _is_call(text: str) -> bool:
    """Whether a line is a call, or one that is cut."""
    if looks_like_calls(text):
        return True
    return CUT_CALL.match(text) is not None and _object(text) is None


def _object(text: str) -> Mapping[str, object] | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _console(texts: list[str], calls: set[int]) -> set[int]:
    """The lines of records of the console consumer: a line that a logger wrote is none, whatever it holds."""
    bare = ["" if at in calls or _is_of_logger(text) else text for at, text in enumerate(texts)]
    return {number - 1 for number in lines_of_console("\n".join(bare))}


def _is_of_logger(text: str) -> bool:
    if text.startswith("{"):
        found = _object(text)
        return found is not None and "key" not in found
    return is_log_line(text)


def _only(lines: list[bytes], chosen: set[int]) -> memoryview:
    """The chosen lines at their numbers, up to the last of them."""
    elsewhere = ELSEWHERE.encode()
    kept = [line if at in chosen else elsewhere for at, line in enumerate(lines[: max(chosen, default=-1) + 1])]
    is_last = len(kept) == len(lines)
    return memoryview(b"\n".join(kept) + (b"" if is_last or not kept else b"\n"))


def _blanked(lines: list[bytes], chosen: set[int]) -> memoryview:
    """The chosen lines at their bytes."""
    kept = [line if at in chosen else b" " * len(line) for at, line in enumerate(lines[: max(chosen, default=-1) + 1])]
    is_last = len(kept) == len(lines)
    return memoryview(b"\n".join(kept) + (b"" if is_last or not kept else b"\n"))
