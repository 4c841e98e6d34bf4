"""What the pages that are generated have in common: the command, Markdown tables, and what is not as it should be."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

COMMAND = "zombieproof verify --write-results"


class Stale(NamedTuple):
    """A file that is not what its source says, and why."""

    path: Path
    why: str

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; a title that ends with ":" is of a column of numbers."""
    lines = ["| " + " | ".join(title.removesuffix(":") for title in titles) + " |"]
    lines.append("|" + "|".join("---:" if title.endswith(":") else "---" for title in titles) + "|")
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def write_page(path: Path, text: str) -> Path:
    """Write a page, and the folder that it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def stale_page(path: Path, text: str, source: str, command: str) -> list[Stale]:
    """A page, if it is missing or not `text`, which `source` says now; otherwise nothing. `command` writes it."""
    if not path.is_file():
        return [Stale(path, f"missing: run `{command}`")]
    if path.read_text(encoding="utf-8", errors="replace") != text:
        return [Stale(path, f"stale: {source} something else; run `{command}`")]
    return []
