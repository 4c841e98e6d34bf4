"""zombieproof serve: brokers of Kafka in this process, for any client of Kafka."""

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
"""How often a person is told what goes on."""

LOSSES = "\n".join(
    textwrap.fill(each.loses, 78, initial_indent=f"  {each.value:<12}", subsequent_indent=" " * 14)
    for each in Durability
)

HELP = f"""Serve brokers of Kafka, in this process, for any client of Kafka.

When they answer it prints "listening on HOST:PORT", a line for each broker. Everything is in memory and gone at the
end, unless there is --data DIR: a directory that Kafka's own tools read, and that is gone on with the next time.
With --brokers 3 there are three, on ports that follow each other; leaders and coordinators are spread over them.
A broker speaks the versions of its --release, and its transactions go by --transaction-version (0, 1, 2).

\b
What --durability loses of what was acknowledged:
{LOSSES}

\b
Examples:
  zombieproof serve
  zombieproof serve --port 0 --topic orders=3
  zombieproof serve --brokers 3 --data cluster/ --durability fsync
  zombieproof serve --release 3.9 --config transaction.max.timeout.ms=60000
  zombieproof serve --story late_end_txn  # brokers that misbehave as told
  zombieproof serve --trace run.jsonl     # then: zombieproof replay run.jsonl
  zombieproof serve --acl acls.yaml       # users log in by SASL, and have rights
  zombieproof serve --host 0.0.0.0 --advertised-host kafka.example --acl acls.yaml --tls-cert cert.pem

\b
Exit codes: 0 ended by SIGTERM or Ctrl-C, 1 so ended, and a fault of the plan
  never fired, 2 wrong usage (a port that is taken, an unknown setting),
  3 the data directory is damaged (see zombieproof repair --help),
  70 an internal error that leaves the state in doubt (docs/serve.md).
"""


@click.command("serve", help=HELP)
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="the address to listen at")
@click.option("--advertised-host", metavar="NAME", help="what clients are told to connect to, instead of that address")
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(min=0, max=65_535),
    default=9092,
    show_default=True,
    help="that of the first broker; 0: any that is free",
)
@click.option(
    "--brokers",
    metavar="N",
    type=click.IntRange(min=1, max=100),
    help="how many brokers (1; with --data as many as the directory has)",
)
@click.option(
    "--first-node-id",
    metavar="N",
    type=click.IntRange(min=0, max=2_147_483_547),
    default=1,
    show_default=True,
    help="the node id of the first broker; the others follow it",
)
@click.option("--data", metavar="DIR", type=PATH, help="the data directory; without it all is lost")
@click.option(
    "--durability",
    type=click.Choice(["fsync", "page-cache", "memory"]),
    help="when an append counts as durable (fsync with --data, else memory)",
)
@click.option("--release", metavar="RELEASE", help=f"the release of Kafka that the brokers are ({RELEASES[-1]})")
@click.option(
    "--transaction-version",
    metavar="N",
    type=click.IntRange(min=0, max=2),
    help="the feature transaction.version (its release's own)",
)
@click.option("--config", metavar="KEY=VALUE", multiple=True, help="a setting of brokers, by Kafka's name; repeatable")
@click.option("--topic", metavar="NAME[=PARTITIONS]", multiple=True, help="a topic that is to exist; repeatable")
@click.option("--plan", metavar="FILE", type=PATH, help="a fault plan: how the brokers misbehave")
@click.option("--story", metavar="NAME", help="a fault plan that comes with the program (zombieproof stories)")
@click.option("--trace", metavar="FILE", type=PATH, help="write down everything that the brokers do")
@click.option("--acl", metavar="FILE", type=PATH, help="users, who log in by SASL, and their rights (docs/rights.md)")
@click.option("--tls-cert", metavar="FILE", type=PATH, help="speak TLS: the certificate in PEM, with its chain")
@click.option("--tls-key", metavar="FILE", type=PATH, help="its key, if the file of the certificate has none")
@click.option(
    "--tls-client-ca", metavar="FILE", type=PATH, help="who vouches for clients, which then have to show a certificate"
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
        raise WrongUsage("a fault plan says which release it is for: leave --release and --transaction-version away")
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
    """The error of a start that the disk has refused."""
    if isinstance(error, StorageFailure):
        return WrongUsage(f"{error}. Make room, then start again")
    if data is None or error.errno not in NO_ROOM:
        return error
    return WrongUsage(f"{error.filename or data}: {error.strerror}: make room, then start again")


def _serve_until_the_end(
    cluster: Embedded, hosts: tuple[str, str | None], port: int, planned: Any, guarded: Any
) -> int:
    """Serve, and stop in order; where the disk fails nothing is lost that was acknowledged."""
    code: int | None = None
    try:
        with cluster:
            code = _serve(cluster, hosts, port, planned, guarded)
    except (OSError, StorageFailure) as failure:
        if code is None:
            raise
        Screen(sys.stderr).say(f"The next start checks the logs: they could not be closed in order. {failure}")
    return code


def _may_number_from(first: int, given: Mapping[str, object]) -> None:
    """Brokers of directories, traces and fault plans are numbered from 1.

    Raises:
        WrongUsage: others are wanted beside one of these.
    """
    for option, value in given.items():
        if first != 1 and value is not None:
            raise WrongUsage(f"--first-node-id {first} does not go with {option}, whose brokers are numbered from 1")


def _planned(plan: Path | None, story: str | None) -> Any:
    """The fault plan that was asked for; None: none was.

    Raises:
        WrongUsage: it is none, or needs a test around it.
    """
    if plan is None and story is None:
        return None
    if plan is not None and story is not None:
        raise WrongUsage("--plan and --story are two plans: choose one")
    from zombieproof.wire.plan import files, stories  # noqa: PLC0415  # few ask for a plan

    try:
        planned = files.load_plan(plan) if plan is not None else stories.story(str(story))
    except (files.PlanError, stories.NoSuchStory) as error:
        raise WrongUsage(str(error)) from error
    if planned.controlled_clock:
        raise WrongUsage(f"{planned.name}: its clock is moved by a test (controlled_clock), and nobody does so here")
    return planned


def _serve(cluster: Embedded, hosts: tuple[str, str | None], port: int, planned: Any, guarded: Any) -> int:
    """Serve at the first of `hosts`; the second is what clients are told instead."""
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
        raise WrongUsage(f"{host}:{port}: {error.strerror or error}; --port 0 takes one that is free") from error
    finally:
        if status is not None:
            status.close()
    if play is None:
        return Exit.HOLDS
    report = play.report()
    screen.data(str(report))
    return Exit.HOLDS if report.is_whole else Exit.VIOLATED


class Status:
    """A line that says what goes on, for whoever looks."""

    def __init__(self, cluster: Embedded, server: Any) -> None:
        from rich.console import Console  # noqa: PLC0415  # nobody looks most times
        from rich.live import Live  # noqa: PLC0415

        self._cluster, self._server = cluster, server
        self._before, self._since = 0, time.monotonic()
        self._line = Live("", console=Console(stderr=True), transient=True, auto_refresh=False)
        self._line.start()

    def show(self) -> None:
        """Say how it stands."""
        now, requests = time.monotonic(), self._server.requests
        rate = (requests - self._before) / (now - self._since)
        self._before, self._since = requests, now
        connections, transactions = len(self._server.connections), self._cluster.open_transactions
        told = f"{connections} connections, {transactions} open transactions, {rate:,.0f} requests/s"
        self._line.update(told, refresh=True)

    def close(self) -> None:
        """The line is gone."""
        self._line.stop()


# ---------------------------------------------------------------- what was asked for


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
