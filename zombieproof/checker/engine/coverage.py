"""Which rows of which tables were taken: counted while exploring, from the moves in the trail."""

from __future__ import annotations

from typing import Any


def count_moves(trail: Any, coverage: Any, sign: int) -> None:
    """Add `sign` for each move of a step to `coverage`, an array (machines, states, events) of int64."""
    for i in range(min(trail.count, len(trail.moves))):
        move = trail.moves[i]
        inside = 0 <= move.machine < coverage.shape[0] and 0 <= move.state < coverage.shape[1]
        if inside and 0 <= move.event < coverage.shape[2]:
            coverage[move.machine, move.state, move.event] += sign


def count_nothing(trail: Any, coverage: Any, sign: int) -> None:
    """Count nothing: for models without moves."""
