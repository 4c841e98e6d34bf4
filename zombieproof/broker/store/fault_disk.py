"""A disk in memory on which everything can go wrong, for tests: operations are numbered, and number n may fail.

Theory of operation: a file is its bytes and the changes since they were synced; so are the names of files. `survivor`
is the disk that a machine finds after it lost its power: of what was not synced everything is there, nothing, or a
random part, and the last write may be torn. What is promised is only what `Disk` promises.
"""

import errno
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise
from random import Random

from zombieproof.broker.store.disk import InUse, Job, Kind, one_by_one

SECTOR = 512
"""Bytes that a disk writes whole or not at all."""


class PowerLost(BaseException):
    """The machine is off: nothing after this operation happened. Not an `Exception`, so that nobody goes on."""


class Fate(Enum):
    """What becomes of changes that were not synced when the power is lost."""

    KEPT = "kept"
    DROPPED = "dropped"
    RANDOM = "random"


class Fault(Enum):
    """What happens to an operation."""

    CRASH = "crash"
    """The power is lost before it."""
    TEAR = "tear"
    """A write happens in part, then the power is lost."""
    EIO = "EIO"
    """It fails, and the disk stays as it was."""
    ENOSPC = "ENOSPC"
    """It fails: there is no room. Writes may happen in part."""
    LIE = "lie"
    """A sync says that it is done and does nothing."""


Change = tuple[int, bytes | None]
"""Bytes put at a position; None: the file was cut, or lengthened, there."""


@dataclass(slots=True)
class _Content:
    """The bytes of a file now, those that are synced, and what was done between."""

    data: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    changes: list[Change] = field(default_factory=list)

    def change(self, at: int, data: bytes | None) -> None:
        _apply(self.data, (at, data))
        self.changes.append((at, data))

    def sync(self) -> None:
        self.synced, self.changes = bytes(self.data), []


def _apply(data: bytearray, change: Change) -> None:
    at, new = change
    if len(data) < at:
        data.extend(bytes(at - len(data)))
    if new is None:
        del data[at:]
    else:
        data[at : at + len(new)] = new


Names = dict[str, _Content | None]
"""Files by their path; folders have None."""


@dataclass(frozen=True, slots=True)
class _Naming:
    """A name was given or removed, or moved (`to`)."""

    path: str
    act: Callable[[Names, str, str], object]
    to: str = ""

    @property
    def directory(self) -> str:
        """The folder that has to be synced."""
        return _parent(self.to or self.path)

    def carry_out(self, names: Names) -> None:
        """Let it be so in `names`."""
        self.act(names, self.path, self.to)

    def after(self, moved: "_Naming") -> "_Naming":
        """The same operation once its folder was renamed: it does not apply to a new folder with the old name."""
        inside = f"{moved.path}/"
        if not moved.to or not self.path.startswith(inside):
            return self
        to = moved.to + self.to[len(moved.path) :] if self.to.startswith(inside) else self.to
        return replace(self, path=moved.to + self.path[len(moved.path) :], to=to)


@dataclass(slots=True)
class Plan:
    """What goes wrong: `fault` at operation `number` (from 1; 0: never), for a tear after `torn_at` bytes.

    `repeats`: it goes on being wrong from there on.
    """

    number: int = 0
    fault: Fault = Fault.CRASH
    torn_at: int = 0
    repeats: bool = False


class FaultDisk:
    """A disk in memory.

    Args:
        plan: what goes wrong when.

    `operations` counts writes, truncates, syncs, renames, removals and new folders; `log` names them. `before` is
    called before each of them: what `survivor` gives there is what a crash at this point leaves. `on_write` is called
    before a write, with what is to be written where.
    """

    def __init__(self, plan: Plan | None = None) -> None:
        self.plan = plan or Plan()
        self.operations = 0
        self.log: list[str] = []
        self.before: Callable[[], None] | None = None
        self.on_write: Callable[[str, int, bytes], None] | None = None
        self._names: Names = {"": None}
        self._synced: Names = {"": None}
        self._namings: list[_Naming] = []
        self._locked: set[str] = set()

    # ---------------------------------------------------------------- looking

    def name(self, path: str) -> str:
        """What people call `path`."""
        return f"(memory)/{path}"

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        return path in self._names

    def listed(self, directory: str) -> tuple[str, ...]:
        """The names in a folder, in order."""
        before = f"{directory}/" if directory else ""
        below = (name[len(before) :] for name in self._names if name and name.startswith(before))
        return tuple(sorted(name for name in below if "/" not in name))

    def kinds(self, directory: str) -> dict[str, Kind]:
        """The names in a folder, with their kinds."""
        before = f"{directory}/" if directory else ""
        return {
            name: Kind.FOLDER if self._names[before + name] is None else Kind.FILE for name in self.listed(directory)
        }

    def size(self, path: str) -> int:
        """The bytes of a file."""
        return len(self._file(path).data)

    def read(self, path: str, at: int = 0, size: int | None = None) -> bytes:
        """The bytes from `at` on."""
        return bytes(self._file(path).data[at : None if size is None else at + size])

    # ---------------------------------------------------------------- changing

    def make_directory(self, path: str) -> None:
        """Make a folder and those above it."""
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            above = "/".join(parts[:end])
            if above not in self._names:
                self._begin("make folder", above)
                self._call(_Naming(above, _folder))

    def write(self, path: str, at: int, data: bytes) -> None:
        """Put `data` at `at`."""
        if self.on_write is not None:
            self.on_write(path, at, data)
        fault = self._begin("write", path)
        content = self._names.get(path) or self._made(path)
        if fault in (Fault.TEAR, Fault.ENOSPC):
            content.change(at, data[: min(self.plan.torn_at, len(data))])
            self._end(fault)
        content.change(at, bytes(data))

    def truncate(self, path: str, size: int) -> None:
        """Cut a file at `size`, or lengthen it with zeros."""
        self._begin("truncate", path)
        content = self._names.get(path) or self._made(path)
        content.change(size, None)

    def sync(self, path: str) -> None:
        """What was written into a file outlives a crash."""
        if self._begin("sync", path) is not Fault.LIE:
            self._file(path).sync()

    def sync_directory(self, path: str) -> None:
        """The names in a folder outlive a crash."""
        if self._begin("sync folder", path) is Fault.LIE:
            return
        left = list[_Naming]()
        for naming in self._namings:
            if naming.directory == path:
                naming.carry_out(self._synced)
                left = [each.after(naming) for each in left]
            else:
                left.append(naming)
        self._namings = left

    def side_by_side(self, jobs: Sequence[Job]) -> list[OSError | None]:
        """Do jobs in their order: what happens at the n-th operation is then the same each time."""
        return one_by_one(jobs)

    def rename(self, old: str, new: str) -> None:
        """Move a file or folder."""
        self._begin("rename", old)
        if old not in self._names:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.name(old))
        self._call(_Naming(old, _move, new))

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it."""
        self._begin("remove", path)
        if path not in self._names:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.name(path))
        self._call(_Naming(path, _drop))

    def lock(self, path: str) -> None:
        """Keep others out."""
        if path in self._locked:
            raise InUse(errno.EAGAIN, "another process has the lock", self.name(path))
        self._locked.add(path)

    def close(self) -> None:
        """Give up locks."""
        self._locked.clear()

    # ---------------------------------------------------------------- after the power was lost

    def survivor(self, fate: Fate, chance: Random | None = None) -> "FaultDisk":
        """The disk as it is found when the power comes back; nothing goes wrong on it."""
        found, random = FaultDisk(), chance or Random(0)
        names = dict(self._synced)
        namings = self._namings if fate is Fate.KEPT else []
        if fate is Fate.RANDOM:
            # Names are kept in the order in which they were given: file systems have a journal for them.
            namings = self._namings[: random.randint(0, len(self._namings))]
        for naming in namings:
            naming.carry_out(names)
        for path, content in names.items():
            if not _is_reachable(path, names):
                continue  # The folder was never synced into the one above it: nobody finds what is in it.
            found._names[path] = None if content is None else _Content(_left_of(content, fate, random))
        for content in found._names.values():
            if content is not None:
                content.sync()
        found._synced = dict(found._names)
        return found

    def copy(self) -> "FaultDisk":
        """The same disk once more."""
        return self.survivor(Fate.KEPT)

    def damage(self, path: str, bit: int) -> None:
        """One bit of a file turns, on the disk itself."""
        content = self._file(path)
        content.data[bit // 8] ^= 1 << bit % 8
        content.sync()

    # ---------------------------------------------------------------- helpers

    def _begin(self, what: str, path: str) -> Fault | None:
        """One more operation; a fault that is its caller's to carry out is returned."""
        if self.before is not None:
            self.before()
        self.operations += 1
        self.log.append(f"{what} {path}")
        plan = self.plan
        due = plan.number and (self.operations >= plan.number if plan.repeats else self.operations == plan.number)
        if not due:
            return None
        if plan.fault is Fault.LIE or (what == "write" and plan.torn_at and plan.fault in (Fault.TEAR, Fault.ENOSPC)):
            return plan.fault
        self._end(plan.fault)
        return None

    def _end(self, fault: Fault) -> None:
        if fault in (Fault.CRASH, Fault.TEAR):
            raise PowerLost(f"at operation {self.operations}: {self.log[-1]}")
        number = errno.EIO if fault is Fault.EIO else errno.ENOSPC
        raise OSError(number, os.strerror(number), self.name(self.log[-1].rpartition(" ")[2]))

    def _call(self, naming: _Naming) -> None:
        naming.carry_out(self._names)
        self._namings.append(naming)

    def _made(self, path: str) -> _Content:
        if _parent(path) not in self._names:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.name(path))
        content = _Content()
        self._call(_Naming(path, lambda names, place, _: names.__setitem__(place, content)))
        return content

    def _file(self, path: str) -> _Content:
        content = self._names.get(path)
        if content is None:
            number = errno.EISDIR if path in self._names else errno.ENOENT
            raise OSError(number, os.strerror(number), self.name(path))
        return content


def _is_reachable(path: str, names: Names) -> bool:
    """Whether every folder above a path has a name."""
    while path:
        path = _parent(path)
        if path not in names:
            return False
    return True


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _folder(names: Names, path: str, _: str) -> None:
    names.setdefault(path, None)


def _move(names: Names, old: str, new: str) -> None:
    _drop(names, new)
    for path in [each for each in names if each == old or each.startswith(f"{old}/")]:
        names[new + path[len(old) :]] = names.pop(path)


def _drop(names: Names, path: str, _: str = "") -> None:
    for each in [each for each in names if each == path or each.startswith(f"{path}/")]:
        del names[each]


def _left_of(content: _Content, fate: Fate, random: Random) -> bytearray:
    """What of a file's changes is there: any part of them, and of a write any of its sectors."""
    data = bytearray(content.synced)
    for at, new in content.changes if fate is not Fate.DROPPED else ():
        if fate is Fate.KEPT:
            _apply(data, (at, new))
        elif new is None:
            if random.random() < 0.5:
                _apply(data, (at, None))
        else:
            for start, end in _sectors(at, len(new)):
                if random.random() < 0.7:
                    _apply(data, (at + start, new[start:end]))
    return data


def _sectors(at: int, size: int) -> list[tuple[int, int]]:
    """The stretches of a write that are written whole or not at all."""
    edges = [0, *range(SECTOR - at % SECTOR, size, SECTOR), size]
    return [(start, end) for start, end in pairwise(edges) if end > start]
