"""The program: its commands, and what becomes of everything that can go wrong in them."""

import os
import platform
import sys
import traceback
from collections.abc import Sequence
from typing import Final

import typer
from typer.exceptions import TyperException

from zombieproof.cli import about, check, conform, diagrams, replay, rules, scenarios, verify
from zombieproof.cli.usage import WrongUsage
from zombieproof.report.runs import Exit

ISSUES: Final = "the project's issue tracker"

app = typer.Typer(
    name="zombieproof",
    help="Kafka's exactly-once protocol, checked exhaustively and replayed against what real clusters recorded.\n\n"
    "\b\nExamples:\n"
    "  zombieproof check                       explore every scenario\n"
    "  zombieproof check leaderless_partition --without marker_waits_for_leader\n"
    "  zombieproof replay segments/ client.jsonl   judge what a cluster recorded\n"
    "  zombieproof conform --recording answers.jsonl.gz   does it answer as a real broker did?\n"
    "  zombieproof verify                      all that this clone promises, in one table\n\n"
    "\b\nExit codes: 0 holds or conforms, 1 a promise is violated, 2 wrong usage,\n"
    "  3 inconclusive (a bound, memory, damaged input), 70 internal error, 130 interrupted.",
    # Help is read in pipes and logs too: plain text everywhere.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for _command in (check, replay, conform, verify, scenarios, rules, diagrams, about):
    _command.register(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code; nothing but an exit code leaves this function."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show → shows ?, and nothing fails.
            stream.reconfigure(errors="replace")
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(given or ["--help"], prog_name="zombieproof", standalone_mode=False)
        sys.stdout.flush()
        if not given:
            return Exit.USAGE
    except TyperException as error:
        return _refused(error)
    except WrongUsage as error:
        _complain(str(error))
        return Exit.USAGE
    except BrokenPipeError:
        return _nobody_reads()
    except SystemExit as ended:
        # The parser of the command line meets a broken pipe with exit code 1, which is "violated" here.
        if isinstance(ended.__context__, BrokenPipeError):
            return _nobody_reads()
        raise
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted")
        return Exit.INTERRUPTED
    except Exception:  # noqa: BLE001  # the last resort: whatever else happens is our fault and is said to be
        return _internal_error()
    return code if isinstance(code, int) else Exit.HOLDS


def _complain(text: str) -> None:
    sys.stderr.write(f"zombieproof: {text}\n")


def _refused(error: TyperException) -> int:
    """Wrong usage that the parser of the command line found."""
    message = error.format_message()
    context = getattr(error, "ctx", None)
    _complain(message[:1].lower() + message[1:])
    if context is not None:
        sys.stderr.write(f"try '{context.command_path} --help'\n")
    return Exit.USAGE


def _nobody_reads() -> int:
    """The reader of our output has gone, as `head` does: no error of anybody; 141 is what shells say of it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def _internal_error() -> int:
    traceback.print_exc()
    from zombieproof.cli.about import version  # noqa: PLC0415  # what was imported may be what failed

    command = " ".join(["zombieproof", *sys.argv[1:]])
    _complain(
        "this is an internal error, not your input. Please report it, with the lines above, to "
        f"{ISSUES}: zombieproof {version()}, Python {platform.python_version()} on {platform.platform()}, "
        f"command: {command}"
    )
    return Exit.INTERNAL_ERROR
