"""Explorations that are stopped and go on: what stands at the end of a level, kept in a folder.

A checkpoint is a manifest and the files that it names, each with its size and SHA-256. Files are written first, each
beside its place, brought to the disk and then renamed; the manifest comes last, and only when it stands are the files
removed that the one before it named and it does not. So whenever the process is killed, one whole checkpoint is there:
the new one or the one before.

What does not change is written once: which parent and which action led to each state of a level. The table of
fingerprints and the states that wait to be expanded are written each time.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np

from zombieproof.checker.engine.folder import Folder, FolderRefused, Keeping, Written

MANIFEST: Final = "checkpoint.json"
_FORMAT: Final = "zombieproof checkpoint 1"
_NAMES: Final = re.compile(r"checkpoint\.json|(levels|states|table|coverage)-\d{6}")
_OPTION: Final = "--checkpoint"


class CheckpointFault(Exception):
    """A checkpoint cannot be written; the one before it stands. The message says why and what to do."""


def _apart(one: str, other: str) -> tuple[str, str]:
    """Of two lists in words, with commas, what only one of them has; "none" where that is nothing."""
    parts, others = one.split(","), other.split(",")
    only = [part for part in parts if part not in others], [part for part in others if part not in parts]
    first, second = (",".join(each) or "none" for each in only)
    return first, second


class Checkpoints:
    """The checkpoints of one exploration. `key` is the hash of all that is compiled.

    Raises:
        FolderRefused: the folder cannot be used, has no checkpoint to go on from, one that would be lost, or one of
            something else.
    """

    def __init__(self, keeping: Keeping, key: str, asked: Mapping[str, str]) -> None:
        self._every = keeping.every_seconds
        self._whose = {**keeping.asked, **asked}
        self._key = key
        self._folder = Folder(keeping.folder, _OPTION, _NAMES)
        self.depth = -1
        self.data: dict[str, Any] = {}
        self._files: dict[str, Written] = {}
        try:
            self._open(resume=keeping.resume)
        except BaseException:
            self.close()
            raise
        self._written = time.perf_counter()

    @property
    def folder(self) -> Path:
        """Where they are."""
        return self._folder.path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let others work on the folder."""
        self._folder.__exit__(None, None, None)

    # --- reading ---

    def _open(self, *, resume: bool) -> None:
        there = MANIFEST in self._folder.files()
        if there and not resume:
            raise FolderRefused(
                f"{self._folder.who}: the folder already has a checkpoint; continue it with --resume, or remove the "
                "folder to start again"
            )
        if not resume:
            self._folder.keep_only(())
            return
        if not there:
            raise FolderRefused(
                f"{self._folder.who} --resume: the folder has no checkpoint; omit --resume to start, or give the "
                "folder of a checkpoint"
            )
        manifest = self._manifest()
        self._see_whose(manifest)
        self.data, self.depth = manifest["data"], manifest["data"]["depth"]
        self._files = {one["name"]: Written(**one) for one in manifest["files"]}
        self._folder.keep_only([MANIFEST, *self._files])

    def _manifest(self) -> dict[str, Any]:
        try:
            sealed = json.loads((self._folder.path / MANIFEST).read_bytes())
            if sealed["format"] != _FORMAT:
                raise self._folder.damaged(MANIFEST, f"its format is {sealed['format']!r}, legal is {_FORMAT!r}")
            if sealed["seal"] != _seal(sealed["manifest"]):
                raise self._folder.damaged(MANIFEST, "its checksum is another than when it was written")
        except (ValueError, KeyError, TypeError, OSError) as error:
            if isinstance(error, FolderRefused):
                raise
            raise self._folder.damaged(MANIFEST, "it is no whole manifest") from None
        manifest: dict[str, Any] = sealed["manifest"]
        return manifest

    def _see_whose(self, manifest: dict[str, Any]) -> None:
        """Raise FolderRefused unless the checkpoint is of the same question, asked of the same sources."""
        before: dict[str, str] = manifest["asked"]
        for what in {**before, **self._whose}:
            one, other = before.get(what, "none"), self._whose.get(what, "none")
            if one != other:
                one, other = _apart(one, other)
                raise FolderRefused(
                    f"{self._folder.who} --resume: the checkpoint has {what} {one}, this run {other}; use the same "
                    "options, or give another folder"
                )
        if manifest["key"] != self._key:
            raise FolderRefused(
                f"{self._folder.who} --resume: the model, the engine or the compiler has changed since the checkpoint, "
                "so its states are no longer valid; start again in another folder"
            )

    def array(self, name: str, dtype: Any) -> Any:
        """Return the array that a file holds. Raises FolderRefused where it is missing or damaged."""
        if name not in self._files:
            raise self._folder.damaged(MANIFEST, f"it has no entry for {name}")
        return np.frombuffer(self._folder.read(self._files[name]), dtype)

    # --- writing ---

    def is_due(self) -> bool:
        """Whether it is time for the next one."""
        return self.depth < 0 or time.perf_counter() - self._written >= self._every

    def write(self, data: dict[str, Any], once: Mapping[str, Iterable[Any]], anew: Mapping[str, Iterable[Any]]) -> None:
        """Make a checkpoint: counters, files that never change (those that are there stay), and files of this moment.

        Raises:
            CheckpointFault: the disk is full, or cannot be written; the checkpoint before stands.
        """
        files = {name: one for name, one in self._files.items() if name in once}
        try:
            for name, pieces in {**once, **anew}.items():
                if name not in files:
                    files[name] = self._folder.write(name, pieces)
            manifest = {
                "asked": self._whose,
                "key": self._key,
                "data": data,
                "files": [asdict(one) for one in files.values()],
            }
            sealed = {"format": _FORMAT, "seal": _seal(manifest), "manifest": manifest}
            self._folder.write(MANIFEST, [json.dumps(sealed, indent=1).encode()])
        except OSError as error:
            self._folder.keep_only([MANIFEST, *self._files])
            stands = f"the checkpoint of level {self.depth} is intact" if self.depth >= 0 else "there is no earlier one"
            raise CheckpointFault(
                f"cannot write a checkpoint to {self.folder}: {error.strerror or error}; {stands}. Free disk space and "
                "continue with --resume"
            ) from None
        self._files, self.depth = files, int(data["depth"])
        self._folder.keep_only([MANIFEST, *files])
        self._written = time.perf_counter()


def _seal(manifest: Any) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
