"""Clients' logs as text: their errors, the meaning of each, and what to collect next."""

from collections.abc import Sequence

from zombieproof.report.screen import Screen, plural
from zombieproof.traces.explaining.clients import seconds
from zombieproof.traces.readers.client_log import APPLICATION
from zombieproof.traces.readers.files import plain_name
from zombieproof.traces.readers.timestamps import utc
from zombieproof.traces.verdict.report import ClientError, ClientSeen, Gap, Report

SHOWN_CLIENTS = 20
SHOWN_ERRORS = 6
WORTH_SAYING_MS = 1000
"""A transaction that was open for less than this did not fail because of its age."""


def show_clients(screen: Screen, report: Report) -> None:
    """Write the errors of clients; a client without one is shown only if nothing else was given."""
    alone = any(gap.gap is Gap.EVERYTHING for gap in report.not_judged)
    clients = [each for each in report.clients if alone or _is_ended(each)]
    if not clients:
        return
    screen.say()
    screen.say("clients say (this is not judged):", "bold", indent=2)
    for client in clients[:SHOWN_CLIENTS]:
        screen.say(client_line(client), indent=4, hang=2)
        for error in client.errors[:SHOWN_ERRORS]:
            _show_error(screen, error)
        if len(client.errors) > SHOWN_ERRORS:
            screen.say(f"and {len(client.errors) - SHOWN_ERRORS} more kinds of errors; --json has them all", indent=6)
    if len(clients) > SHOWN_CLIENTS:
        screen.say(f"and {plural(len(clients) - SHOWN_CLIENTS, 'client')} more; --json has them all", indent=4)
    for code, means, collect in _meanings(clients[:SHOWN_CLIENTS]):
        screen.say(f"{code}: {means}", indent=4, hang=2)
        screen.say(f"collect next: {collect}", indent=6, hang=2)


def _is_ended(client: ClientSeen) -> bool:
    return any(error.severity in {"fatal", "abortable"} for error in client.errors)


def client_line(client: ClientSeen) -> str:
    """Which client it is, with its ids and producers."""
    ids = f", transactional id {', '.join(client.transactional_ids)}" if client.transactional_ids else ""
    producers = f", producer {', '.join(client.producers[-4:])}" if client.producers else ""
    library = "" if client.client in {client.library, APPLICATION} else f"{client.library}, "
    return f"{client.client} ({library}{plain_name(client.file)}){ids}{producers}"


def error_line(error: ClientError) -> str:
    """Return an error in one line: severity, time, the client's words, and how long its transaction was open."""
    when = "" if error.timestamp_ms is None else f" at {utc(error.timestamp_ms)}"
    code = f" {error.code}" if error.code else ""
    said = f"{error.severity}{code}{when} (line {error.line}): {error.reason}"
    if error.timed_out and error.open_ms is not None and error.limit_ms is not None:
        said += f"; aborted by timeout after {seconds(error.open_ms)} (limit {seconds(error.limit_ms)})"
    elif error.open_ms is not None and error.open_ms >= WORTH_SAYING_MS:
        said += f"; {seconds(error.open_ms)} after its transaction began"
    if error.fenced_by:
        said += f"; {error.fenced_by}"
    return said + (f"; {error.count:,} such lines" if error.count > 1 else "")


def _show_error(screen: Screen, error: ClientError) -> None:
    style = {"fatal": "bold red", "abortable": "yellow"}.get(error.severity, "")
    screen.say(error_line(error), style, indent=6, hang=2)
    if error.next_step:
        screen.say(f"what to do: {error.next_step}", indent=8, hang=2)


def _meanings(clients: Sequence[ClientSeen]) -> list[tuple[str, str, str]]:
    """Each meaning once, with all codes that have it."""
    codes: dict[tuple[str, str], list[str]] = {}
    for error in (error for client in clients for error in client.errors if error.means):
        names = codes.setdefault((error.means, error.collect), [])
        if error.code not in names:
            names.append(error.code)
    return [(", ".join(names), means, collect) for (means, collect), names in codes.items()]
