"""Command lines above tables: which tool printed a table, and the partition or the group of its rows.

A table tells neither, so a wrong command line would name the wrong partition. A line that runs several commands, runs
one in the background, sends the output to a file or gives an option twice therefore names nothing.
"""

import re
from dataclasses import dataclass, field
from itertools import pairwise

from zombieproof.formats.topics import TopicPartition
from zombieproof.traces.readers.marks import COMMAND
from zombieproof.traces.readers.tool_columns import NUMBER, Context

LONGEST_COMMAND = 1 << 11
OPTION = re.compile(r"(?<!-)--(?P<name>[a-z][a-z-]{0,40})(?:[ =]+(?P<value>\"[^\"]*\"|'[^']*'|[^\s-]\S*))?")
CONTINUES = re.compile(r"(?:\\|\s[\^`])\s*$")
"""The end of a line after which a command continues: in a shell, cmd.exe and PowerShell."""
_CONTINUED = re.compile(r"\s*[a-z]{0,10}>{1,2}\s+(?=-|[a-z]+(?:-[a-z]+)*(?:\s|$))", re.ASCII)
"""The prompt before a line that continues a command."""
_WRAPPED = re.compile(r"[\w.:=,-]*(?:[\w.=,-]$|(?<=[\w.:=,-])\s+(?=--|[|>;&\\]|2>))", re.ASCII)
"""The rest of a command that a terminal wrapped: the rest of a word, and perhaps more of the command behind it."""
_ENDS_IN_OPTION = re.compile(r"\s--(?:topic|partition|group|bootstrap-server|command-config|broker-id)$")
_ENDS_IN_NUMBER = re.compile(r"\s--(?:partition|broker-id)[ =]\d+$")

SUBCOMMANDS = ("find-hanging", "describe-producers", "list", "describe")
"""Of kafka-transactions.sh: those that print a table."""
_ABOUT = {"describe-producers": ("topic", "partition"), "kafka-consumer-groups": ("group",)}
"""The options that say what the rows are about, by what prints them."""
_PLACEHOLDER = re.compile(r"[$%{}<>*?]")

_OF_ERRORS = re.compile(r"\s2>>?\s*[^\s&;|]+|\s[12]?>&[12-]|\s<\s*/dev/null")
"""Redirections that leave the table where it is."""
_SEPARATOR = re.compile(r"(&&|\|\||[;|&>])")
_BETWEEN = re.compile(r"&&|\|\||;|\s&\s")
_QUIET = re.compile(
    r"cd|export|set|unset|source|\.|date|echo|printf|sleep|clear|true|pwd|exit|ls|sudo|time"
    r"|for|while|until|do|done|if|then|fi|\w+=\S*"
)
"""Commands and words of a shell that print no table."""
_KEEPS_ROWS = re.compile("column|tee|cat|less|more")
_FILTER = re.compile(f"{_KEEPS_ROWS.pattern}|e?grep|awk|sed|head|tail|sort|uniq|cut|tr|findstr|select-string|sls")
"""Commands through which people pipe a table."""
_PROMPT = re.compile(
    r"\s*(?:[$❯%]|#\s*$|\S{0,80}[\w~/\])][$❯]|\S{1,40}@\S{1,80}(?:#|(?: [~/]\S{0,80})? ?[$%])"
    r"|(?:ba|z|k)?sh-[\d.]{1,8}[$#]"
    r"|\[[^\[\]]{1,40}@[^\[\]]{1,80}\][$#]"
    r"|(?:PS )?[A-Z]:\\\S{0,80}>)"
    r"(?:\s+(?P<command>\S.*)?)?$"
)
_LAUNCHER = re.compile(r"\b(?:kubectl|oc|docker|podman|ssh|nerdctl)\b")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a command line asks of which cluster: two that are equal print the same table, at different times."""

    tool: str
    started: str
    options: frozenset[tuple[str, str]]

    @property
    def cluster(self) -> tuple[str, str | None]:
        """How the cluster was reached."""
        return self.started, dict(self.options).get("bootstrap-server")

    @property
    def place(self) -> TopicPartition | None:
        """The partition whose leader was asked for its producers."""
        options = dict(self.options)
        partition = options.get("partition", "")
        is_known = self.tool == "describe-producers" and "broker-id" not in options and NUMBER.fullmatch(partition)
        return (options["topic"], int(partition)) if is_known and "topic" in options else None


@dataclass(frozen=True, slots=True, eq=False)
class Command:
    """A command line. `context` is empty if the rows below may be of another command.

    `tool` is the subcommand, or the tool where it has none. `asked` is None if it does not tell everything.
    `is_behind`: its output may stand below that of later commands.
    """

    tool: str = ""
    context: Context = field(default_factory=Context)
    asked: Asked | None = None
    is_behind: bool = False


_SEVERAL = Context({"": ""})


@dataclass(slots=True)
class CommandLines:
    """The command lines of a text, and the one that counts for the rows below.

    A command that continues on the next line, or was wrapped there, is read again as a whole. Of different commands
    directly below each other none counts: the rows may be of any of them.
    """

    command: Command = field(default_factory=Command)
    context: Context = field(default_factory=Context)
    has_others: bool = False
    """Whether commands above the last table printed none: a second table below it is perhaps of one of them."""
    _unfinished: str = ""
    _last: str = ""
    _asked: Context | None = None
    _asked_above: Context | None = None
    _waiting: int = 0
    _has_strays: bool = False

    def take(self, line: str) -> bool:
        """Take a line; return whether it shows or continues a command."""
        whole = self._with_rest(line)
        is_more = whole is not line
        self._unfinished = self._last = ""
        found = command_of(whole)
        if found is None:
            self._asked = None if line.strip() else self._asked
            prompt = _PROMPT.match(line)
            if prompt is not None and prompt["command"]:
                self.leave(Context())
            return False
        if len(whole) < LONGEST_COMMAND and CONTINUES.search(whole):
            self._unfinished = whole.rstrip()[:-1].rstrip()
        elif len(whole) < LONGEST_COMMAND:
            self._last = whole.rstrip()
        self._asked_above = self._asked_above if is_more else self._asked
        self._waiting += not is_more
        self._has_strays |= found.is_behind
        is_one_of_several = found.tool in _ABOUT and self._asked_above not in (None, found.context)
        if found.tool in _ABOUT:
            self._asked = _SEVERAL if is_one_of_several else found.context
        self.command = found
        self.context = Context() if is_one_of_several or self._has_strays else found.context
        return True

    def begin_table(self) -> None:
        """Note that a table begins below the command."""
        self.has_others, self._waiting, self._asked = self._waiting > 1, 0, None

    def leave(self, context: Context) -> None:
        """Forget the command: the next lines are of another source, which may tell what they are about."""
        self.command, self.context = Command(), context
        self._unfinished = self._last = ""
        self._asked = None

    def _with_rest(self, line: str) -> str:
        if self._unfinished:
            prompt = _CONTINUED.match(line)
            return f"{self._unfinished} {line[prompt.end() :] if prompt else line}".strip()
        return _joined(self._last, line) or line


def _joined(command: str, line: str) -> str | None:
    """Return a command with its rest that a terminal wrapped into the next line; None if the line is not that."""
    rest = line.strip()
    tool = subcommand_in(command)
    if tool not in ("kafka-transactions", *SUBCOMMANDS, "kafka-consumer-groups") or COMMAND.search(line):
        return None
    if rest.startswith("--"):
        return f"{command} {rest}"
    if _WRAPPED.match(rest) is None or (_ENDS_IN_NUMBER.search(command) and not rest[0].isdigit()):
        return None
    is_word = rest.split()[0] in SUBCOMMANDS or _ENDS_IN_OPTION.search(command)
    return f"{command}{' ' if is_word else ''}{rest}"


def is_prompt(line: str) -> bool:
    """Return whether a line is the prompt of a shell, with a command or without one."""
    return _PROMPT.match(line) is not None


def subcommand_in(line: str) -> str | None:
    """Return the subcommand in a command line, or the tool where it has none; None in any other line."""
    found = COMMAND.search(line)
    return None if found is None else _subcommand(found["tool"], found["words"])


def command_of(line: str) -> Command | None:
    """Return the command of a whole line."""
    found = COMMAND.search(line)
    if found is None:
        return None
    tool = _subcommand(found["tool"], found["words"])
    own, *others = _SEPARATOR.split(_OF_ERRORS.sub(" ", f" {found['words']}"))
    is_alone = (
        COMMAND.search(line, found.start("words")) is None
        and all(map(_is_quiet, _BETWEEN.split(line[: found.start("tool")])[:-1]))
        and all(map(_keeps_the_table, others[::2], others[1::2]))
    )
    options = [(option["name"], (option["value"] or "").strip("'\"`")) for option in OPTION.finditer(own)]
    about = {name: value for name, value in options if name in _ABOUT.get(tool, ()) and not _PLACEHOLDER.search(value)}
    is_certain = is_alone and all(about.get(name, value) == value for name, value in options)
    if not is_certain:
        return Command(tool, is_behind="&" in others[::2])
    launcher = _LAUNCHER.search(line, 0, found.start("tool"))
    started = line[launcher.start() : found.start("tool")] if launcher else ""
    filters = [_first_word(piece) for separator, piece in pairwise(others) if separator == "|"]
    is_comparable = not _PLACEHOLDER.search(own) and all(map(_KEEPS_ROWS.fullmatch, filters))
    return Command(tool, Context(about), Asked(tool, started, frozenset(options)) if is_comparable else None)


def _subcommand(tool: str, words: str) -> str:
    rest = OPTION.sub(" ", words).replace('"', " ").replace("'", " ")
    return next((word for word in rest.split() if word in SUBCOMMANDS), tool)


def _first_word(piece: str) -> str:
    return next(iter(piece.lower().split()), "").strip("'\"`")


def _is_quiet(piece: str) -> bool:
    return any(_QUIET.fullmatch(word.strip("'\"(")) for word in piece.split())


def _keeps_the_table(separator: str, piece: str) -> bool:
    if separator == "|":
        return _FILTER.fullmatch(_first_word(piece)) is not None
    first = _first_word(piece)
    return separator not in "&>" and (not first or _QUIET.fullmatch(first) is not None)
