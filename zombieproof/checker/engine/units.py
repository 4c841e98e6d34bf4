"""How states are put into few bytes (see `packing`): how many rows belong together, and what room they take."""

from __future__ import annotations

from typing import Final

UNIT_BYTES: Final = 1 << 16
MOST_ROWS: Final = 1 << 10
MOST_WORDS_AS_THEY_ARE: Final = 6


def unit_rows(words: int) -> int:
    """Return how many rows of so many words are in a unit."""
    return max(16, min(MOST_ROWS, UNIT_BYTES // (8 * words)))


def is_whole(words: int) -> int:
    """Return 1 where rows of so many words are written as they are, else 0."""
    return int(words <= MOST_WORDS_AS_THEY_ARE)


def head_of(words: int) -> int:
    """Return how many bytes have a bit for each word; eight at least, because eight are read that end with the last."""
    return max(8, -(-words // 8))


def most_bytes(words: int) -> int:
    """Return what a row takes at most."""
    return head_of(words) + 9 * words
