"""Entry point of the command line: commands, exit codes and error handling."""

import errno
import gc
import platform
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import click
from click.shell_completion import get_completion_class

from zombieproof import system
from zombieproof.cli.streams import Undelivered, guarded
from zombieproof.cli.usage import WrongUsage
from zombieproof.report.exits import Exit
from zombieproof.report.screen import printable

PROGRAM: Final = "zombieproof"
NOBODY_READS: Final = 141
"""Exit code when the reader of the report has closed the pipe, as `head` does. Shells report SIGPIPE the same way."""

_WRONG_PLACE: Final = frozenset(
    {
        errno.EACCES,
        errno.EEXIST,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EPERM,
        errno.EROFS,
    }
)
ISSUES: Final = "the project's issue tracker"

COMMANDS: Final = {
    "check": "Explore scenarios exhaustively.",
    "replay": "Check recordings of real clusters, or replay a counterexample.",
    "audit": "Check logs of any size, in several processes or on Spark.",
    "pack": "Pack segments into Parquet for audits.",
    "history": "Check a history of client operations for anomalies.",
    "conform": "Test any broker, or replay recorded answers of a real one.",
    "serve": "Run Kafka brokers for any Kafka client.",
    "repair": "Inspect and repair the data directory of `serve`.",
    "farm": "Run a batch of explorations: scenarios, rules, bounds, mutants.",
    "sweep": "Explore growing combinations of faults within a time limit.",
    "verify": "Run every check of a clone and print one table.",
    "scenarios": "List the scenarios, or describe one.",
    "stories": "List the bundled fault plans, or describe one.",
    "rules": "Show the protocol rules of a release, or compare two.",
    "diagrams": "Draw the state diagram of every machine.",
    "about": "Show versions, rules, the model and its limits.",
}
"""Every command with a one-line summary. Its module has the same name and is imported when the command is called."""

NOT_ON_WINDOWS: Final = {
    "pack": "run `zombieproof audit` on the segments themselves",
    "farm": "run `zombieproof check` for each scenario",
    "repair": "repair the directory on the system that wrote it",
    "sweep": "run `zombieproof check --bounds` for each set of bounds",
    "verify": "run `zombieproof check` and `zombieproof diagrams --check`",
}
"""Commands that are not tested on Windows, each with an alternative."""

HELP: Final = """Check Kafka's exactly-once protocol: explore a model, replay recorded logs, test clients and brokers.

\b
Examples:
  zombieproof check                            explore every scenario
  zombieproof check leaderless_partition --without marker_waits_for_leader
  zombieproof replay segments/ client.jsonl    check a cluster's recorded logs
  zombieproof audit --processes 8 /backup/     the same for large logs
  zombieproof history history.jsonl            find anomalies seen by clients
  zombieproof conform --recording a.jsonl.gz   compare answers with real Kafka
  zombieproof serve                            run a broker for Kafka clients
  zombieproof verify                           run every check of this clone

\b
Exit codes: 0 holds or conforms, 1 a property is violated, 2 wrong usage,
  3 inconclusive (a bound, memory, damaged input), 70 internal error or a
  report that cannot be written, 130 interrupted, 141 closed pipe (| head).
"""

START: Final = """Check Kafka's exactly-once protocol: explore a model, replay recorded logs, test clients and brokers.

Check in CI (explore every scenario, write JUnit XML):
  zombieproof check --format junit > checks.xml

Replay an incident (find lost, duplicated and stuck records in Kafka's logs):
  zombieproof replay /var/lib/kafka/data

Test an application (run a broker that misbehaves according to a fault plan):
  zombieproof serve --story late_end_txn

Spark (check exactly-once sinks against crashes, retries and zombie tasks):
  zombieproof check --model spark_sink

Own model and diagrams (check a scenario of your own; `diagrams` draws it):
  zombieproof check examples/own_scenario.py

`zombieproof --help` lists all commands; `zombieproof COMMAND --help` explains
one and gives examples.
"""
"""Printed by `zombieproof` without arguments: five common tasks, one command each."""


class Commands(click.Group):
    """The commands by name. Listing needs only names and summaries; a command is imported when it is called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: click.Command(name, short_help=says) for name, says in COMMANDS.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in listing order."""
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments begin with, and import it."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in NOT_ON_WINDOWS and not {"-h", "--help"} & set(rest):
            system.refuse_on_windows(f"zombieproof {name}", NOT_ON_WINDOWS[name])
        return name, command_named(name) if name in COMMANDS else command, rest


def command_named(name: str) -> click.Command:
    """Import a command."""
    command: click.Command = getattr(import_module(f"zombieproof.cli.{name}"), f"{name}_command")
    return command


def version() -> str:
    """Return the installed version."""
    from importlib import metadata  # noqa: PLC0415  # few need it, and it takes a while

    return metadata.version("zombieproof")


def _tell_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:  # click passes it so
    del parameter
    if wanted:
        sys.stdout.write(f"zombieproof {version()}\n")
        context.exit()


def _tell_completion(context: click.Context, parameter: click.Parameter, shell: str | None) -> None:
    del parameter
    completion = get_completion_class(shell) if shell else None
    if completion is not None:
        sys.stdout.write(completion(context.command, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source() + "\n")
        context.exit()


@click.group(
    PROGRAM,
    cls=Commands,
    help=HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    invoke_without_command=True,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_tell_version,
    help="Show the version and exit.",
)
@click.option(
    "--completion",
    type=click.Choice(["bash", "zsh", "fish"]),
    is_eager=True,
    expose_value=False,
    callback=_tell_completion,
    help='Print the shell completion script and exit: eval "$(zombieproof --completion bash)".',
)
@click.pass_context
def app(context: click.Context) -> int:
    """Parse the options before the command; without a command, print common tasks."""
    if context.invoked_subcommand is None:
        sys.stdout.write(START)
        return Exit.USAGE
    return Exit.HOLDS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; nothing but an exit code leaves this function."""
    if arguments is None:
        # Avoid repeated garbage collection while modules and syntax trees are created: saves 0.4 CPU s.
        gc.set_threshold(100_000, 50, 50)
    given = list(sys.argv[1:] if arguments is None else arguments)
    with guarded():
        try:
            return _run(given)
        except Undelivered as lost:
            if lost.nobody_reads:
                return NOBODY_READS
            _complain(str(lost))
            return Exit.INTERNAL_ERROR
        except (KeyboardInterrupt, click.Abort):
            _complain("interrupted")
            return Exit.INTERRUPTED
        except OSError as error:
            return _denied(error)
        except Exception as error:  # noqa: BLE001  # the last resort: report everything else as a bug of this program
            if isinstance(error, RuntimeError) and isinstance(error.__cause__, KeyboardInterrupt):
                # Python 3.11 wraps Ctrl-C in a RuntimeError while a class of an imported module is created.
                _complain("interrupted")
                return Exit.INTERRUPTED
            return _internal_error()
        finally:
            if arguments is None:
                # The process ends anyway: skip the last garbage collection, which takes 0.6 CPU s.
                gc.freeze()


def _run(given: Sequence[str]) -> int:
    try:
        code = app(given, prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        return _refused(error)
    except (WrongUsage, system.Unsupported) as error:
        _complain(str(error))
        return Exit.USAGE
    return code if isinstance(code, int) else Exit.HOLDS


def _complain(text: str) -> None:
    sys.stderr.write(printable(f"zombieproof: {text}\n"))


def _refused(error: click.ClickException) -> int:
    """Report wrong usage found by Click."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    _complain(message[:1].lower() + message[1:])
    if context is not None:
        sys.stderr.write(f"try '{context.command_path} --help'\n")
    return Exit.USAGE


def _denied(error: OSError) -> int:
    """Report an error of the operating system: a wrong path (usage), or a fault of the machine."""
    what = f"{error.filename}: " if error.filename is not None else ""
    _complain(f"{what}{error.strerror or error}")
    return Exit.USAGE if what and error.errno in _WRONG_PLACE else Exit.INTERNAL_ERROR


def _internal_error() -> int:
    traceback.print_exc()
    command = " ".join(["zombieproof", *sys.argv[1:]])
    _complain(
        "this is an internal error, not a fault in your input. Please report it, with the lines above, to "
        f"{ISSUES}: zombieproof {version()}, Python {platform.python_version()} on {platform.platform()}, "
        f"command: {command}"
    )
    return Exit.INTERNAL_ERROR
