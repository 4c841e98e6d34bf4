"""zombieproof serve: run Kafka brokers in this process, for any Kafka client."""

import errno
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import click

from zombieproof import system
from zombieproof.broker.broker_configs import BrokerConfigs, broker_configs
from zombieproof.broker.cluster.clock import AheadClock, SystemClock
from zombieproof.broker.cluster.live_trace import LiveTraceFile
from zombieproof.broker.data_directory import DataDirectoryError
from zombieproof.broker.embedded import Embedded
from zombieproof.broker.partition.log import Damaged, StorageFailure
from zombieproof.broker.store.config import Durability
from zombieproof.broker.store.disk import NO_ROOM
from zombieproof.cli import listeners
from zombieproof.cli.options import PATH
from zombieproof.cli.usage import WrongUsage
from zombieproof.model.releases import RELEASES, UnknownRelease
from zombieproof.model.rules import Rules, preset_for
from zombieproof.report.exits import Exit
from zombieproof.report.screen import Screen

STATUS_S = 1.0
"""Seconds between updates of the status line."""

LOSSES = "\n".join(
    textwrap.fill(each.loses, 78, initial_indent=f"  {each.value:<12}", subsequent_indent=" " * 14)
    for each in Durability
)

HELP = f"""Run Kafka brokers in this process, for any Kafka client.

When the brokers are ready, it prints "listening on HOST:PORT" for each one. All data is in memory and lost at the end,
unless you give --data DIR: a Kafka-format data directory, reused on the next start. With --brokers 3, three brokers
listen on consecutive ports, and leaders and coordinators are spread over them. --release sets the API versions of the
brokers, and --transaction-version (0, 1, 2) their transaction protocol.

\b
Acknowledged data that --durability can lose:
{LOSSES}

\b
Examples:
  zombieproof serve
  zombieproof serve --port 0 --topic orders=3
  zombieproof serve --brokers 3 --data cluster/ --durability fsync
  zombieproof serve --release 3.9 --config transaction.max.timeout.ms=60000
  zombieproof serve --story late_end_txn  # misbehave as in a fault plan
  zombieproof serve --trace run.jsonl     # then: zombieproof replay run.jsonl
  zombieproof serve --acl acls.yaml       # SASL login and authorization
  zombieproof serve --host 0.0.0.0 --advertised-host kafka.example --acl acls.yaml --tls-cert cert.pem

\b
Exit codes: 0 stopped by SIGTERM or Ctrl-C, 1 the same, but a planned fault
  never fired, 2 wrong usage (a port in use, an unknown setting),
  3 the data directory is damaged (see zombieproof repair --help),
  70 an internal error that leaves the state in doubt (docs/serve.md).
"""


@click.command("serve", help=HELP)
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="the address to listen on")
@click.option("--advertised-host", metavar="NAME", help="the address that clients are given, if not --host")
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(min=0, max=65_535),
    default=9092,
    show_default=True,
    help="port of the first broker; 0: any free port",
)
@click.option(
    "--brokers",
    metavar="N",
    type=click.IntRange(min=1, max=100),
    help="number of brokers (default 1; with --data, as many as the directory has)",
)
@click.option(
    "--first-node-id",
    metavar="N",
    type=click.IntRange(min=0, max=2_147_483_547),
    default=1,
    show_default=True,
    help="node id of the first broker; the others count up from it",
)
@click.option("--data", metavar="DIR", type=PATH, help="data directory; without it, all data is lost at the end")
@click.option(
    "--durability",
    type=click.Choice(["fsync", "page-cache", "memory"]),
    help="when an append counts as durable (default: fsync with --data, else memory)",
)
@click.option("--release", metavar="RELEASE", help=f"the Kafka release to emulate (default {RELEASES[-1]})")
@click.option(
    "--transaction-version",
    metavar="N",
    type=click.IntRange(min=0, max=2),
    help="the feature transaction.version (default: that of the release)",
)
@click.option("--config", metavar="KEY=VALUE", multiple=True, help="a broker setting, by its Kafka name; repeatable")
@click.option("--topic", metavar="NAME[=PARTITIONS]", multiple=True, help="create this topic; repeatable")
@click.option("--plan", metavar="FILE", type=PATH, help="a fault plan, which makes the brokers misbehave")
@click.option("--story", metavar="NAME", help="a bundled fault plan (zombieproof stories lists them)")
@click.option("--trace", metavar="FILE", type=PATH, help="record everything that the brokers do")
@click.option("--acl", metavar="FILE", type=PATH, help="SASL users and their ACLs (docs/rights.md)")
@click.option("--tls-cert", metavar="FILE", type=PATH, help="turn on TLS: PEM certificate with its chain")
@click.option("--tls-key", metavar="FILE", type=PATH, help="PEM private key, unless it is in the --tls-cert file")
@click.option(
    "--tls-client-ca", metavar="FILE", type=PATH, help="CA that signs client certificates (turns on mutual TLS)"
)
def serve_command(  # noqa: PLR0913, PLR0917  # one parameter for each option
    host: str,
    advertised_host: str | None,
    port: int,
    brokers: int | None,
    first_node_id: int,
    data: Path | None,
    durability: Literal["fsync", "page-cache", "memory"] | None,
    release: str | None,
    transaction_version: int | None,
    config: tuple[str, ...],
    topic: tuple[str, ...],
    plan: Path | None,
    story: str | None,
    trace: Path | None,
    acl: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_client_ca: Path | None,
) -> int:
    """Run the command."""
    from zombieproof.cli import extras  # noqa: PLC0415  # only this command needs the extra

    extras.need("wire", "kio", "serve")
    users = listeners.users_and_rights(acl)
    guarded = listeners.security(users, tls_cert, tls_key, tls_client_ca)
    listeners.may_listen(host, guarded)
    listeners.may_advertise(host, advertised_host)
    planned = _planned(plan, story)
    _may_number_from(first_node_id, {"--data": data, "--trace": trace, "--plan": plan, "--story": story})
    if planned is not None and (release is not None or transaction_version is not None):
        raise WrongUsage("the fault plan already sets the release: omit --release and --transaction-version")
    configs, kind, known = _configs(config), _durability(durability, data), _topics(topic)
    rules = _rules(release, transaction_version) if planned is None else planned.rules()
    if not configs.settings.transaction_partition_verification_enable:
        rules.verification = 0
    with ExitStack() as open_until_the_end:
        try:
            journal = None if trace is None else open_until_the_end.enter_context(LiveTraceFile(trace))
            cluster = Embedded(
                data,
                nodes=brokers if planned is None else max(brokers or 1, planned.brokers),
                topics=known if planned is None else {**planned.topics, **known},
                settings=configs.settings,
                rules=rules,
                durability=kind,
                clock=SystemClock() if planned is None else AheadClock(),
                default_config=configs.logs,
                release=(release if planned is None else planned.release) or RELEASES[-1],
                journal=journal,
                access=None if users is None else users.access,
                first_node=first_node_id,
            )
        except Damaged as error:
            sys.stderr.write(f"zombieproof: {error}\n")
            return Exit.INCONCLUSIVE
        except (DataDirectoryError, ValueError) as error:
            raise WrongUsage(str(error)) from error
        except (OSError, StorageFailure) as error:
            raise _disk_failed(data, error) from error
        return _serve_until_the_end(cluster, (host, advertised_host), port, planned, guarded)


def _disk_failed(data: Path | None, error: OSError | StorageFailure) -> Exception:
    """Return the error for a start that failed because of the disk."""
    if isinstance(error, StorageFailure):
        return WrongUsage(f"{error}. Free disk space, then start again")
    if data is None or error.errno not in NO_ROOM:
        return error
    return WrongUsage(f"{error.filename or data}: {error.strerror}; free disk space, then start again")


def _serve_until_the_end(
    cluster: Embedded, hosts: tuple[str, str | None], port: int, planned: Any, guarded: Any
) -> int:
    """Serve, then close the logs; if the disk fails, acknowledged data is not lost."""
    code: int | None = None
    try:
        with cluster:
            code = _serve(cluster, hosts, port, planned, guarded)
    except (OSError, StorageFailure) as failure:
        if code is None:
            raise
        Screen(sys.stderr).say(f"The logs were not closed cleanly, so the next start checks them: {failure}")
    return code


def _may_number_from(first: int, given: Mapping[str, object]) -> None:
    """Refuse --first-node-id with options whose brokers are numbered from 1.

    Raises:
        WrongUsage: one of them is given with another first node id.
    """
    for option, value in given.items():
        if first != 1 and value is not None:
            raise WrongUsage(f"--first-node-id {first} does not work with {option}, whose brokers are numbered from 1")


def _planned(plan: Path | None, story: str | None) -> Any:
    """Load the fault plan; None if there is no --plan or --story.

    Raises:
        WrongUsage: the plan is not valid, or needs a test that moves its clock.
    """
    if plan is None and story is None:
        return None
    if plan is not None and story is not None:
        raise WrongUsage("--plan and --story: choose one fault plan")
    from zombieproof.wire.plan import files, stories  # noqa: PLC0415  # few ask for a plan

    try:
        planned = files.load_plan(plan) if plan is not None else stories.story(str(story))
    except (files.PlanError, stories.NoSuchStory) as error:
        raise WrongUsage(str(error)) from error
    if planned.controlled_clock:
        raise WrongUsage(
            f"{planned.name}: a test has to move its clock (controlled_clock), so serve cannot run this fault plan"
        )
    return planned


def _serve(cluster: Embedded, hosts: tuple[str, str | None], port: int, planned: Any, guarded: Any) -> int:
    """Listen on the first of `hosts`; the second, if any, is the advertised address."""
    from zombieproof.wire.listening import CannotListen  # noqa: PLC0415
    from zombieproof.wire.plan.play import Play  # noqa: PLC0415  # kio is there
    from zombieproof.wire.server import Server  # noqa: PLC0415
    from zombieproof.wire.serving import serve  # noqa: PLC0415

    play, screen = None if planned is None else Play(planned, cluster), Screen()
    host, advertised_host = hosts
    system.open_as_many_files_as_allowed()
    server = Server(cluster, host, port, play=play, security=guarded, advertised_host=advertised_host)
    status = Status(cluster, server) if sys.stderr.isatty() else None

    def tell(addresses: Mapping[int, tuple[str, int]]) -> None:
        for at, number in addresses.values():
            screen.say(f"listening on {at}:{number}")
        sys.stdout.flush()

    try:
        serve(server, tell, (lambda: None) if status is None else status.show, STATUS_S)
    except CannotListen as error:
        raise WrongUsage(_cannot_listen(host, port, error)) from error
    finally:
        if status is not None:
            status.close()
    if play is None:
        return Exit.HOLDS
    report = play.report()
    screen.data(str(report))
    return Exit.HOLDS if report.is_whole else Exit.VIOLATED


def _cannot_listen(host: str, port: int, error: OSError) -> str:
    """Explain why a listener cannot be opened."""
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is already in use; choose another with --port, or --port 0 for a free one"
    return f"{host}:{port}: {error.strerror or error}; choose another address with --host and --port"


class Status:
    """A status line on a terminal."""

    def __init__(self, cluster: Embedded, server: Any) -> None:
        from rich.console import Console  # noqa: PLC0415  # only for a terminal
        from rich.live import Live  # noqa: PLC0415

        self._cluster, self._server = cluster, server
        self._before, self._since = 0, time.monotonic()
        self._line = Live("", console=Console(stderr=True), transient=True, auto_refresh=False)
        self._line.start()

    def show(self) -> None:
        """Show connections, transactions and the request rate."""
        now, requests = time.monotonic(), self._server.requests
        rate = (requests - self._before) / (now - self._since)
        self._before, self._since = requests, now
        connections, transactions = len(self._server.connections), self._cluster.open_transactions
        told = f"{connections} connections, {transactions} open transactions, {rate:,.0f} requests/s"
        self._line.update(told, refresh=True)

    def close(self) -> None:
        """Remove the line."""
        self._line.stop()


# ---------------------------------------------------------------- parse options


def _rules(release: str | None, transaction_version: int | None) -> Rules:
    try:
        return preset_for(release or RELEASES[-1], transaction_version)
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
            raise WrongUsage(f"{option} {each!r} is not KEY=VALUE")
        if name in found:
            raise WrongUsage(f"{option} {name} is given twice; give it once")
        found[name] = value
    return found


def _durability(given: str | None, data: Path | None) -> Durability:
    kind = Durability(given) if given else Durability.MEMORY if data is None else Durability.FSYNC
    if (kind is Durability.MEMORY) != (data is None):
        what = "writes nothing: omit --data" if data is not None else "needs a folder to write to: add --data DIR"
        raise WrongUsage(f"--durability {kind.value} {what}")
    return kind


def _topics(given: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in given:
        name, _, count = each.partition("=")
        if count and not (count.isdecimal() and int(count)):
            raise WrongUsage(f"--topic {each!r}: {count!r} is not a number of partitions; give NAME or NAME=3")
        found[name] = int(count or 1)
    return found
