"""The files in folders that hold evidence."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from zombieproof.traces.evidence import Damage, Ignored
from zombieproof.traces.narrowing import Narrowing
from zombieproof.traces.readers.archives import DEEPEST, archive_at, is_archive
from zombieproof.traces.readers.files import is_table, place_of
from zombieproof.traces.readers.recognise import by_name

SEGMENT = re.compile(r"\d{20}\.log(?:\.xz|\.gz|\.bz2)?(?:\.parquet)?")
BESIDE_SEGMENTS = re.compile(
    r"\d{20}\.(?:index|timeindex|txnindex|snapshot)|leader-epoch-checkpoint|partition\.metadata"
)


def files_in(path: Path, damage: list[Damage], narrowing: Narrowing) -> Iterator[Path]:
    """The files at and below a path, by name; what is hidden is no content.

    Empty folders, and partitions without segments, are damage, unless they are of a topic that is left out.
    """
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path, onerror=lambda error: damage.append(_unopened(error))):
        folders.sort()
        shown = [name for name in names if not name.startswith(".")]
        folders[:] = [name for name in folders if not name.startswith(".")]
        _note_lack(folder, [*folders, *shown], names, damage, narrowing)
        for name in sorted(shown):
            yield Path(folder, name)


def _note_lack(
    folder: str, shown: Sequence[str], names: Sequence[str], damage: list[Damage], narrowing: Narrowing
) -> None:
    if narrowing.leaves_out(place_of(f"{folder}/").topic):
        return
    if not shown:
        damage.append(Damage(folder, 0, "the folder is empty"))
    elif any(map(BESIDE_SEGMENTS.fullmatch, names)) and not any(SEGMENT.fullmatch(name) for name in names):
        damage.append(Damage(folder, 0, "the folder of a partition holds no segment"))


def members_in(
    path: Path, damage: list[Damage], ignored: list[Ignored], narrowing: Narrowing, depth: int = 0
) -> Iterator[Path]:
    """The members of an archive, and of the archives in it; the path itself if it is none."""
    if by_name(str(path)) is not None or not is_archive(path):
        yield path
        return
    if depth >= DEEPEST:
        damage.append(Damage(str(path), 0, f"it lies in {depth} archives: unpack them, and give what they hold"))
        return
    archive = archive_at(path)
    if archive.fault:
        damage.append(Damage(str(path), 0, archive.fault))
    ignored += (Ignored(f"{path}/{name}", reason) for name, reason in archive.ignored)
    inside: dict[str, list[str]] = {folder: [] for folder in archive.folders}
    for name in archive.members:
        folder, _, own = name.rpartition("/")
        inside.setdefault(folder, []).append(own)
    for folder, names in inside.items():
        above = any(other.startswith(f"{folder}/") for other in inside) if folder else True
        if not _is_hidden(f"{folder}/"):
            _note_lack(str(path / folder), [*names, "…"] if above else names, names, damage, narrowing)
    for name, member in archive.members.items():
        if _is_hidden(name):
            continue
        refusal = "it is a packed segment: unpack the archive" if is_table(name) else member.refusal
        if refusal and not isinstance(by_name(name), str):
            damage.append(Damage(str(path / name), 0, refusal))
        else:
            yield from members_in(path / name, damage, ignored, narrowing, depth + 1)


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))


def _unopened(error: OSError) -> Damage:
    return Damage(str(error.filename), 0, f"it cannot be opened: {error.strerror}")
