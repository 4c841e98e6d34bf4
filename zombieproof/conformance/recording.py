"""Reading recordings: JSON lines, plain or gzipped, one sequence each; what is malformed is refused by its place."""

import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Self, cast

from pydantic import BaseModel, Field, JsonValue, ValidationError, model_validator

from zombieproof.conformance.forms import Form, SecurityForm
from zombieproof.conformance.steps import AnyStep, Step

SUFFIXES = (".jsonl.gz", ".jsonl")
STDIN = Path("-")


class RecordingError(ValueError):
    """A recording that cannot be read or played: file, line, subject, fault, what would have been legal.

    `why` is subject and fault without the place; `line` is 0 where the file as a whole is meant.
    """

    def __init__(self, file: str, line: int, subject: str, fault: str) -> None:
        place = f"{file}, line {line}" if line else file
        self.file, self.line = file, line
        self.why = f"{subject}: {fault}" if subject else fault
        super().__init__(f"{place}: {subject}: {fault}" if subject else f"{place}: {fault}")


class Sequence(Form):
    """Requests to a new cluster with these topics, and the answers of a real one.

    `tv` is the finalized transaction version, `kafka` the release, `rule` the reference row of a hand-written sequence,
    `config` the broker settings under Kafka's names (and `nodes`, `replicas`), `security` who may do what: without it
    nobody is asked who he is.
    """

    id: str
    tv: int = Field(ge=0, le=2)
    kafka: str
    rule: str | None = None
    config: dict[str, JsonValue]
    topics: dict[str, Annotated[int, Field(ge=1, le=1000)]]
    steps: tuple[AnyStep, ...]
    security: SecurityForm | None = None

    @model_validator(mode="after")
    def _says_who_may_do_what(self) -> Self:
        for number, step in enumerate(self.steps, start=1):
            if self.security is None and (step.principal is not None or step.connection is not None):
                raise ValueError(f"step {number} names a principal or a connection, and `security` is not there")
        return self


@dataclass(frozen=True, slots=True)
class Recorded:
    """A sequence and where it was read."""

    file: str
    line: int
    sequence: Sequence

    def refused(self, subject: str, fault: str) -> RecordingError:
        """The error that says what is wrong with this sequence."""
        return RecordingError(self.file, self.line, subject, fault)


def files_of(paths: Iterable[Path]) -> list[Path]:
    """The recordings that paths name; of a folder all that it holds, by name.

    Raises:
        RecordingError: there is no such file, or a folder holds none.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(each for each in path.iterdir() if each.name.endswith(SUFFIXES))
            if not inside:
                raise RecordingError(str(path), 0, "", f"the folder holds no recording ({' or '.join(SUFFIXES)})")
            found += inside
        elif path == STDIN or path.is_file():
            found.append(path)
        else:
            raise RecordingError(str(path), 0, "", "there is no such file; give recordings, folders of them, or -")
    return found


def read(path: Path) -> Iterator[Recorded]:
    """The sequences of a recording, in order.

    Raises:
        RecordingError: the file cannot be read, holds nothing, or a line is not a sequence.
    """
    for found in lines_of(path):
        if isinstance(found, RecordingError):
            raise found
        yield found


def lines_of(path: Path) -> Iterator[Recorded | RecordingError]:
    """What stands in each line of a recording, in order: a sequence, or what is wrong with the line.

    Behind a line that is no sequence others may follow; behind the place where a file cannot be read on, none.
    """
    name = "<stdin>" if path == STDIN else str(path)
    number, is_empty = 0, True
    try:
        with _opened(path) as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    is_empty = False
                    yield _understood(name, number, line)
    except (OSError, EOFError, zlib.error) as error:
        is_open = bool(number) or not isinstance(error, OSError)
        yield RecordingError(name, number + 1 if is_open else 0, "", f"cannot be read{' on' * is_open}: {error}")
        return
    if is_empty:
        yield RecordingError(name, 0, "", "is empty; a recording holds one sequence in each line")


def _understood(name: str, number: int, line: bytes) -> Recorded | RecordingError:
    try:
        return Recorded(name, number, _parsed(name, number, line))
    except RecordingError as error:
        return error


def count(path: Path) -> int | None:
    """How many lines a recording has; None where that cannot be known before it is read."""
    if path == STDIN:
        return None
    try:
        with _opened(path) as file:
            return sum(1 for line in file if line.strip())
    except (OSError, EOFError, zlib.error):
        return None


def _opened(path: Path) -> IO[bytes]:
    if path == STDIN:
        return sys.stdin.buffer
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    # What it returns is closed by whoever reads.
    return cast("IO[bytes]", gzip.open(path, "rb")) if packed else path.open("rb")


def _parsed(file: str, number: int, line: bytes) -> Sequence:
    try:
        sequence = Sequence.model_validate_json(line.strip())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = [part for part in first["loc"] if part not in _APIS]
        raise RecordingError(
            file, number, _subject(place), _fault(first["type"], first["msg"], first["loc"])
        ) from error
    return sequence


def _subject(place: list[int | str]) -> str:
    """Steps are counted from 1."""
    text = ""
    for i, part in enumerate(place):
        if isinstance(part, int):
            text += f" {part + 1}" if place[i - 1] == "steps" else f"[{part}]"
        else:
            text += (
                f", {part}"
                if text and place[i - 1] != "request" and isinstance(place[i - 1], int)
                else (f".{part}" if text else part)
            )
    return text.replace("steps ", "step ", 1)


def _fault(kind: str, message: str, loc: tuple[int | str, ...]) -> str:
    if kind == "extra_forbidden":
        return f"there is no such field; legal are {', '.join(_legal_fields(loc))}"
    said = message[:1].lower() + message[1:]
    if kind != "json_invalid":
        return said
    # The parser saw one line only, and calls it the first.
    return f"{said.replace('line 1 column', 'character')}; legal is a sequence, as one JSON object"


def _legal_fields(loc: tuple[int | str, ...]) -> list[str]:
    """The fields that could stand where an unknown one does."""
    at: object = Sequence
    for part in loc[:-1]:
        if isinstance(part, str) and part in _APIS:
            at = _APIS[part]
        elif isinstance(part, str) and isinstance(at, type) and issubclass(at, BaseModel) and part in at.model_fields:
            at = _innermost(at.model_fields[part].annotation)
    if isinstance(at, type) and issubclass(at, BaseModel):
        return sorted(at.model_fields)
    return []


def _innermost(annotation: object) -> object:
    """The form inside of tuples and alternatives."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _innermost(argument)
        if found is not None:
            return found
    return None


def _apis() -> dict[str, type[Step]]:
    """Each API's name and the class of its steps."""
    return {
        name: step
        for step in Step.__subclasses__()
        for name in getattr(step.model_fields["api"].annotation, "__args__", ())
    }


_APIS = _apis()
