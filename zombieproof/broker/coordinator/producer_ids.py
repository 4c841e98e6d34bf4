"""Where fresh producer ids come from.

Source: reference §2.16.
"""


class ProducerIds:
    """Consecutive producer ids, each handed out once.

    Args:
        first: the first id.
    """

    def __init__(self, first: int = 0) -> None:
        self._next = first

    def peek(self) -> int | None:
        """The producer id that `next` would hand out now; None if there is none."""
        return self._next

    def next(self) -> int | None:
        """A producer id that nobody has; None if none could be allocated."""
        self._next += 1
        return self._next - 1
