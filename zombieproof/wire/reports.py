"""Reports of internal errors, as text that a user can send: what failed, with which version, and the traceback.

A report holds no records, credentials or values of settings: bytes are shown as their number, and values of settings
not at all.
"""

import platform
import traceback
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import metadata
from typing import Any

from zombieproof.broker.cluster.internal_errors import InternalError
from zombieproof.broker.cluster.network import Request
from zombieproof.broker.cluster.operations import OfRequest
from zombieproof.formats.batches import Batch
from zombieproof.messages.registry import api_of
from zombieproof.wire.entities import name_of
from zombieproof.wire.front import Asked

MOST_SHOWN, LONGEST_TEXT = 20, 200
"""So many elements of a list, and characters of a text, are shown."""
SECRET_FIELDS = frozenset({"value", "auth_bytes", "salted_password", "salt", "metadata", "assignment", "encoded"})
"""Fields of which only the length is shown: they hold what users have put into them."""


def report_of(failed: InternalError | Asked | None, error: Exception, release: str) -> str:
    """The report of an internal error, whose cause is known by now; `failed` None: a request that could not be read."""
    lines = [
        f"internal error in {subject_of(failed)}; the brokers continue.",
        "This is an error of zombieproof, not of the client. Please send this report to the project's issue tracker:",
        f"  zombieproof {metadata.version('zombieproof')}, Python {platform.python_version()} on {platform.platform()}",
        f"  brokers of Kafka {release}",
    ]
    if isinstance(failed, InternalError):
        lines.append(f"  broker {failed.node}, handling {shown(failed.subject)}")
    elif failed is not None:
        lines.append(f"  request {shown(failed.entity)}")
    told = [line for part in traceback.format_exception(error) for line in part.rstrip().splitlines()]
    return "\n".join((*lines, *(f"  {_cut(line)}" for line in told), "end of report"))


def subject_of(failed: InternalError | Asked | None) -> str:
    """What failed, in a few words."""
    if failed is None:
        return "a request, whose connection was closed"
    if isinstance(failed, Asked):
        return f"{name_of(failed.api)} {failed.header.version}, whose connection was closed"
    subject = failed.subject
    if isinstance(subject, Request):
        return f"{api_of(type(subject)).name} {subject.version}, whose connection was closed"
    if isinstance(subject, OfRequest):
        return f"{type(subject).__name__}, a request that waited, whose connection was closed"
    return f"the timer {subject}" if isinstance(subject, str) else f"{type(subject).__name__}, a task of the broker"


def place_of(error: Exception) -> tuple[str, str, int]:
    """Where an error was raised: two errors with the same place are the same one."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    return (type(error).__name__, last[0].filename, last[0].lineno or 0) if last else (type(error).__name__, "", 0)


def shown(value: Any) -> str:
    """A value of a request or an operation, without what is secret."""
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(value)} bytes>"
    if isinstance(value, Batch):
        return f"<batch of {len(value.records)} records>"
    if is_dataclass(value) and not isinstance(value, type):
        parts = (f"{each.name}={_field(each.name, getattr(value, each.name))}" for each in fields(value))
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, Mapping):
        rows = [f"{shown(key)}: {shown(each)}" for key, each in list(value.items())[:MOST_SHOWN]]
        return "{" + _joined(rows, len(value)) + "}"
    if isinstance(value, tuple | list | set | frozenset):
        return "(" + _joined([shown(each) for each in list(value)[:MOST_SHOWN]], len(value)) + ")"
    if isinstance(value, str | int | float | bool | Enum) or value is None:
        return _cut(repr(value))
    return f"<{type(value).__name__}>"


def _field(name: str, value: Any) -> str:
    if name in SECRET_FIELDS and isinstance(value, str | bytes):
        return f"<{len(value)} long>"
    return shown(value)


def _joined(rows: list[str], count: int) -> str:
    return ", ".join((*rows, f"{count - len(rows)} more") if count > len(rows) else rows)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}..."
