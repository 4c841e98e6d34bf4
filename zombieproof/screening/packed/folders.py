"""Whole folders of evidence, packed: a tree of the same shape, in which each segment is a file of Parquet.

What else is evidence (snapshots, indexes of aborted transactions, checkpoints, dumps, logs of brokers and clients) is
copied as it is, because it is small; of an index only the name tells something, so an empty file has it. Nothing that
is there already is written again.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from zombieproof.screening.packed.layout import SUFFIX, PackedError
from zombieproof.screening.packed.writing import UNFINISHED, PackedSegment, being_written, pack_segment
from zombieproof.traces.evidence import Damage, EvidenceError, Ignored
from zombieproof.traces.narrowing import EVERYTHING
from zombieproof.traces.readers.collect import INDEX
from zombieproof.traces.readers.files import BROKER_NAME, TOPIC_PARTITION, opened, plain_name
from zombieproof.traces.readers.folders import files_in
from zombieproof.traces.readers.recognise import Kind, by_content, by_name
from zombieproof.traces.readers.segments import Keep
from zombieproof.traces.watching import Meter, Stage, Watch


@dataclass(slots=True)
class Packing:
    """What became of everything that was to be packed.

    Attributes:
        segments: each segment, packed now or before.
        copied: files that are evidence and no segments.
        left_out: files that are no evidence, and why.
        damage: what cannot be read; it is kept all the same, except what cannot be opened.
        strangers: files under the output of which nothing stands in the input any more.
    """

    segments: list[PackedSegment] = field(default_factory=list)
    copied: list[Path] = field(default_factory=list)
    left_out: list[Ignored] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    strangers: list[Path] = field(default_factory=list)


def pack(
    paths: Sequence[Path],
    output: Path,
    keep: Keep = Keep.NEEDED,
    watch: Watch | None = None,
    made: Packing | None = None,
) -> Packing:
    """Pack files and folders into a folder; each keeps its name there, and those of the partition and broker above it.

    `made` is filled while it goes on, for whoever interrupts it.

    Raises:
        EvidenceError: a path does not exist, none is given, two of them would have one place, or one holds the output.
        PackedError: something is packed already.
        OSError: the output cannot be written.
    """
    roots = _roots(paths, output)
    made = Packing() if made is None else made
    files = [
        (file, target / file.relative_to(path) if path.is_dir() else target)
        for path, target in roots
        for file in files_in(path, made.damage, EVERYTHING)
    ]
    for path, target in roots:
        _same_empty_folders(path, target)
    watch = watch or Watch()
    sizes = [_size(file) for file, _ in files]
    watch.begins(Stage.READING, sum(sizes), [str(file) for file, _ in files])
    expected: set[Path] = set()
    for (file, target), size in zip(files, sizes, strict=True):
        watch.works_on(str(file))
        meter = Meter(watch, size)
        try:
            written = _pack(file, target, keep, meter, made)
        except OSError as error:
            if error.filename is None or Path(error.filename) != file:
                raise
            made.damage.append(Damage(str(file), 0, f"it cannot be read: {error.strerror or error}"))
            written = None
        expected |= {written} if written else set()
        meter.length = size
        meter.reached(size)
        watch.has_read(str(file))
    made.strangers += (found for _, target in roots for found in _all_files(target) if found not in expected)
    return made


def _roots(paths: Iterable[Path], output: Path) -> list[tuple[Path, Path]]:
    """Each path and its place in the output."""
    given = list(paths)
    if not given:
        raise EvidenceError("nothing is named: give segments, or folders of them")
    missing = [str(path) for path in given if not path.exists()]
    if missing:
        raise EvidenceError(f"{', '.join(missing)}: no such file or folder; name files or folders that exist")
    targets: dict[Path, Path] = {}
    for path in given:
        if path.is_dir() and output.resolve().is_relative_to(path.resolve()):
            raise EvidenceError(f"--output {output} lies in {path}, which is to be packed; give a folder beside it")
        target = output / _kept_name(path)
        if target in targets:
            raise EvidenceError(
                f"{targets[target]} and {path} would both be packed to {target}; pack each into a folder of its own"
            )
        targets[target] = path
    return [(path, target) for target, path in targets.items()]


def _kept_name(path: Path) -> Path:
    """The name of a path, with those above it that say which partition of which broker it is."""
    parts = path.resolve().parts
    first = len(parts) - 1
    if path.is_file() and TOPIC_PARTITION.fullmatch(parts[first - 1]):
        first -= 1
    if TOPIC_PARTITION.fullmatch(parts[first]) and BROKER_NAME.fullmatch(parts[first - 1]):
        first -= 1
    return Path(*parts[first:])


def _pack(file: Path, target: Path, keep: Keep, meter: Meter, made: Packing) -> Path | None:
    """Pack or copy one file; where it is now."""
    kind = _kind(file)
    if kind is Kind.SEGMENT:
        meter.length = _size(file)
        segment = pack_segment(file, target.with_name(target.name + SUFFIX), keep, reached=meter.reached)
        made.segments.append(segment)
        made.damage += segment.damage
        return segment.target
    if INDEX.fullmatch(plain_name(file.name)) and isinstance(kind, str):
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            target.touch()
    elif isinstance(kind, str):
        made.left_out.append(Ignored(str(file), kind))
        return None
    else:
        _copy(file, target)
    made.copied.append(target)
    return target


def _kind(file: Path) -> Kind | str:
    """What a file is, or why it is no evidence."""
    if file.name.endswith(SUFFIX):
        raise PackedError(f"{file} is packed already: give the segments that it was made of")
    kind = by_name(str(file))
    if kind is not None:
        return kind
    if not file.is_file():
        return "it is no regular file"
    with opened(file) as content:
        return by_content(content.data)


def _copy(file: Path, target: Path) -> None:
    """Copy a file, unless one of its size and time is there."""
    stat = file.stat()
    if target.is_file():
        there = target.stat()
        if (there.st_size, there.st_mtime_ns) == (stat.st_size, stat.st_mtime_ns):
            return
    with being_written(target) as unfinished:
        shutil.copyfile(file, unfinished)
        os.utime(unfinished, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def _same_empty_folders(path: Path, target: Path) -> None:
    """Folders in which nothing is are there again: that is damage, and is to be found there too."""
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if not folders and not any(not name.startswith(".") for name in names):
            (target / Path(folder).relative_to(path)).mkdir(parents=True, exist_ok=True)


def _all_files(target: Path) -> Iterator[Path]:
    """The files at and below a place of the output, without those that were left unfinished."""
    if target.is_file():
        yield target
    for folder, _, names in os.walk(target):
        yield from (Path(folder, name) for name in names if not name.endswith(UNFINISHED))


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
