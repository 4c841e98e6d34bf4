"""The program: its commands, and what becomes of everything that can go wrong in them."""

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
"""The exit code when the reader of the report has gone, as `head` does: nobody's error, and what shells say of it."""

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
    "replay": "Judge recordings of real clusters, or run a counterexample again.",
    "audit": "Judge logs of any size, in several processes or on Spark.",
    "pack": "Pack segments into Parquet, for audits.",
    "history": "Judge what clients were told and what they read.",
    "conform": "Judge any broker, or replay recorded answers of a real one.",
    "serve": "Serve brokers of Kafka for any client of Kafka.",
    "repair": "Inspect and repair the data directory of a server.",
    "farm": "Explore many scenarios, rules, bounds and mutants at once.",
    "sweep": "Explore growing faults until time is up.",
    "verify": "Verify all that a clone promises, in one table.",
    "scenarios": "List the scenarios, or tell one.",
    "stories": "List the stories that brokers can play, or tell one.",
    "rules": "Tell the rules of a release, or how two differ.",
    "diagrams": "Render every machine from its table.",
    "about": "Tell versions, rules, what is modelled and what is not.",
}
"""Every command with what it does in a line. It is in the module of its name, which is imported when it is called."""

NOT_ON_WINDOWS: Final = {
    "pack": "run `zombieproof audit` on the segments as they are",
    "farm": "run `zombieproof check` for one scenario after the other",
    "repair": "repair the directory on the system that wrote it",
    "sweep": "run `zombieproof check --bounds` for one set of bounds after the other",
    "verify": "run `zombieproof check` and `zombieproof diagrams --check`",
}
"""Commands that nothing tests on Windows, each with what to do there instead."""

HELP: Final = """Kafka's exactly-once protocol, checked exhaustively and replayed against what real clusters recorded.

\b
Examples:
  zombieproof check                            explore every scenario
  zombieproof check leaderless_partition --without marker_waits_for_leader
  zombieproof replay segments/ client.jsonl    judge what a cluster recorded
  zombieproof audit --processes 8 /backup/     the same of large logs
  zombieproof history history.jsonl            told and read: the same?
  zombieproof conform --recording a.jsonl.gz   answered as real brokers did?
  zombieproof serve                            a broker for Kafka's clients
  zombieproof verify                           all that a clone promises

\b
Exit codes: 0 holds or conforms, 1 a promise is violated, 2 wrong usage,
  3 inconclusive (a bound, memory, damaged input), 70 internal error or a
  report that cannot be written, 130 interrupted, 141 nobody reads (| head).
"""


class Commands(click.Group):
    """The commands by name. What is listed is only a name and a line; the command itself is made when it is called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: click.Command(name, short_help=says) for name, says in COMMANDS.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which they are listed."""
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments begin with, whole."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in NOT_ON_WINDOWS and not {"-h", "--help"} & set(rest):
            system.refuse_on_windows(f"zombieproof {name}", NOT_ON_WINDOWS[name])
        return name, command_named(name) if name in COMMANDS else command, rest


def command_named(name: str) -> click.Command:
    """Import a command."""
    command: click.Command = getattr(import_module(f"zombieproof.cli.{name}"), f"{name}_command")
    return command


def version() -> str:
    """The version that is installed."""
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
    help='Show what a shell needs to complete words, and exit: eval "$(zombieproof --completion bash)".',
)
def app() -> None:
    """What stands before the command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; nothing but an exit code leaves this function."""
    if arguments is None:
        # This process is ours. Modules and syntax trees are walked again and again while they are made: 0.4 CPU s.
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
        except Exception as error:  # noqa: BLE001  # the last resort: whatever else happens is our fault and is said to be
            if isinstance(error, RuntimeError) and isinstance(error.__cause__, KeyboardInterrupt):
                # What Python 3.11 makes of Ctrl-C while a class gets its fields, in a module that is being imported.
                _complain("interrupted")
                return Exit.INTERRUPTED
            return _internal_error()
        finally:
            if arguments is None:
                # The process ends, and what it holds with it: looking for garbage once more takes 0.6 CPU s.
                gc.freeze()


def _run(given: Sequence[str]) -> int:
    try:
        code = app(given or ["--help"], prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
        if not given:
            return Exit.USAGE
    except click.ClickException as error:
        return _refused(error)
    except (WrongUsage, system.Unsupported) as error:
        _complain(str(error))
        return Exit.USAGE
    return code if isinstance(code, int) else Exit.HOLDS


def _complain(text: str) -> None:
    sys.stderr.write(printable(f"zombieproof: {text}\n"))


def _refused(error: click.ClickException) -> int:
    """Wrong usage that the parser of the command line found."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    _complain(message[:1].lower() + message[1:])
    if context is not None:
        sys.stderr.write(f"try '{context.command_path} --help'\n")
    return Exit.USAGE


def _denied(error: OSError) -> int:
    """The system refuses something: the place that was named is wrong, or the machine is."""
    what = f"{error.filename}: " if error.filename is not None else ""
    _complain(f"{what}{error.strerror or error}")
    return Exit.USAGE if what and error.errno in _WRONG_PLACE else Exit.INTERNAL_ERROR


def _internal_error() -> int:
    traceback.print_exc()
    command = " ".join(["zombieproof", *sys.argv[1:]])
    _complain(
        "this is an internal error, not your input. Please report it, with the lines above, to "
        f"{ISSUES}: zombieproof {version()}, Python {platform.python_version()} on {platform.platform()}, "
        f"command: {command}"
    )
    return Exit.INTERNAL_ERROR
