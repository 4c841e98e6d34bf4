"""The files in folders that hold evidence."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from zombieproof.traces.evidence import Damage
from zombieproof.traces.narrowing import Narrowing
from zombieproof.traces.readers.files import place_of

SEGMENT = re.compile(r"\d{20}\.log(?:\.xz|\.gz)?(?:\.parquet)?")
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
        if narrowing.leaves_out(place_of(f"{folder}/").topic):
            pass
        elif not folders and not shown:
            damage.append(Damage(folder, 0, "the folder is empty"))
        elif any(map(BESIDE_SEGMENTS.fullmatch, names)) and not any(SEGMENT.fullmatch(name) for name in names):
            damage.append(Damage(folder, 0, "the folder of a partition holds no segment"))
        for name in sorted(shown):
            yield Path(folder, name)


def _unopened(error: OSError) -> Damage:
    return Damage(str(error.filename), 0, f"it cannot be opened: {error.strerror}")
