"""Exit codes."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command."""

    HOLDS = 0
    VIOLATED = 1
    USAGE = 2
    INCONCLUSIVE = 3
    INTERNAL_ERROR = 70
    INTERRUPTED = 130
