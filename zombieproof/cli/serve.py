"""zombieproof serve: brokers of Kafka in this process, for any client of Kafka."""

import asyncio
import ipaddress
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from zombieproof.broker.broker_configs import BrokerConfigs, broker_configs
from zombieproof.broker.cluster.live_trace import LiveTraceFile
from zombieproof.broker.data_directory import DataDirectoryError
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.store.config import Durability
from zombieproof.cli.usage import WrongUsage
from zombieproof.model.releases import RELEASES, UnknownRelease
from zombieproof.model.rules import Rules, preset_for
from zombieproof.report.exits import Exit
from zombieproof.report.screen import Screen

STATUS_S = 1.0
"""How often a person is told what goes on."""

HELP = """Serve brokers of Kafka, in this process, for any client of Kafka.

When they answer it prints "listening on HOST:PORT", a line for each broker. Everything is in memory and gone at the
end, unless there is --data DIR: a directory that Kafka's own tools read, and that is gone on with the next time.
With --brokers 3 there are three, on ports that follow each other; leaders and coordinators are spread over them.
A broker speaks the versions of its --release, and its transactions go by --transaction-version (0, 1, 2).

\b
Examples:
  zombieproof serve
  zombieproof serve --port 0 --topic orders=3
  zombieproof serve --brokers 3 --data cluster/ --durability fsync
  zombieproof serve --release 3.9 --config transaction.max.timeout.ms=60000
  zombieproof serve --trace run.jsonl     # then: zombieproof replay run.jsonl

\b
Exit codes: 0 ended by SIGTERM or Ctrl-C, 2 wrong usage (a port that is
  taken, an unknown setting), 70 internal error.
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve", help=HELP)(serve_command)


def serve_command(  # noqa: PLR0913, PLR0917  # the parser of the command line wants an argument for each option
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="the address to listen at")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="that of the first broker; 0: any that is free")] = 9092,
    brokers: Annotated[int, typer.Option(min=1, max=100, help="how many brokers")] = 1,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="the data directory; without it all is lost")] = None,
    durability: Annotated[
        Literal["fsync", "page-cache", "memory"] | None,
        typer.Option(help="when an append counts as durable (fsync with --data, else memory)"),
    ] = None,
    release: Annotated[str, typer.Option(help="the release of Kafka that the brokers are")] = RELEASES[-1],
    transaction_version: Annotated[
        int | None, typer.Option(min=0, max=2, help="the feature transaction.version (its release's own)")
    ] = None,
    config: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="a setting of brokers, by Kafka's name; repeatable")
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option(metavar="NAME[=PARTITIONS]", help="a topic that is to exist; repeatable")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write down everything that the brokers do")
    ] = None,
) -> int:
    """Run the command."""
    from zombieproof.cli import extras  # noqa: PLC0415  # only this command needs the extra

    extras.need("wire", "kio", "serve")
    _may_listen(host)
    rules, configs = _rules(release, transaction_version), _configs(config or ())
    if not configs.settings.transaction_partition_verification_enable:
        rules.verification = 0
    kind = _durability(durability, data)
    topics = _topics(topic or ())
    try:
        with (
            nullcontext() if trace is None else LiveTraceFile(trace) as journal,
            Embedded(
                data,
                nodes=brokers,
                topics=topics,
                settings=configs.settings,
                rules=rules,
                durability=kind,
                default_config=configs.logs,
                release=release,
                journal=journal,
            ) as cluster,
        ):
            return asyncio.run(_serve(cluster, host, port))
    except (DataDirectoryError, Damaged, ValueError) as error:
        raise WrongUsage(str(error)) from error


async def _serve(cluster: Embedded, host: str, port: int) -> int:
    from zombieproof.wire.server import Server  # noqa: PLC0415  # kio is there

    server, over, loop = Server(cluster, host, port), asyncio.Event(), asyncio.get_running_loop()
    try:
        addresses = await server.start()
    except OSError as error:
        await server.close()
        raise WrongUsage(f"{host}:{port}: {error.strerror or error}; --port 0 takes one that is free") from error
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    screen = Screen()
    for address in addresses.values():
        screen.say(f"listening on {address.host}:{address.port}")
    sys.stdout.flush()
    status = loop.create_task(_tell(server, cluster)) if sys.stderr.isatty() else None
    try:
        await server.serve_until(over)
    finally:
        if status is not None:
            status.cancel()
            with suppress(asyncio.CancelledError):
                await status
        await server.close()
    return Exit.HOLDS


async def _tell(server: Any, cluster: Embedded) -> None:
    """A line that says what goes on, as long as somebody looks."""
    from rich.console import Console  # noqa: PLC0415  # nobody looks most times
    from rich.live import Live  # noqa: PLC0415

    before, since = server.requests, time.monotonic()
    with Live("", console=Console(stderr=True), transient=True, auto_refresh=False) as line:
        while True:
            await asyncio.sleep(STATUS_S)
            now, requests = time.monotonic(), server.requests
            rate = (requests - before) / (now - since)
            before, since = requests, now
            open_now = cluster.open_transactions
            line.update(
                f"{len(server.connections)} connections, {open_now} open transactions, {rate:,.0f} requests/s",
                refresh=True,
            )


# ---------------------------------------------------------------- what was asked for


def _may_listen(host: str) -> None:
    try:
        is_own = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_own = False
    if not is_own:
        raise WrongUsage(
            f"--host {host} is no loopback address, and whoever reaches it may do everything: "
            "give 127.0.0.1 or ::1 (other addresses need TLS or SASL, which are not served yet)"
        )


def _rules(release: str, transaction_version: int | None) -> Rules:
    try:
        return preset_for(release, transaction_version)
    except UnknownRelease as error:
        raise WrongUsage(str(error)) from error


def _configs(given: Sequence[str]) -> BrokerConfigs:
    try:
        return broker_configs(_pairs("--config", given))
    except ValueError as error:
        raise WrongUsage(f"--config: {error}") from error


def _pairs(option: str, given: Sequence[str]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not (name and equals):
            raise WrongUsage(f"{option} {each!r} is no KEY=VALUE")
        if name in found:
            raise WrongUsage(f"{option} {name} is there twice")
        found[name] = value
    return found


def _durability(given: str | None, data: Path | None) -> Durability:
    kind = Durability(given) if given else Durability.MEMORY if data is None else Durability.FSYNC
    if (kind is Durability.MEMORY) != (data is None):
        what = "writes nothing: leave --data away" if data is not None else "needs --data DIR to write to"
        raise WrongUsage(f"--durability {kind.value} {what}")
    return kind


def _topics(given: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in given:
        name, _, count = each.partition("=")
        if count and not (count.isdecimal() and int(count)):
            raise WrongUsage(f"--topic {each!r}: {count!r} is no number of partitions; give NAME or NAME=3")
        found[name] = int(count or 1)
    return found
