"""What an application holds of a call that takes a while: whether it is over, and how it ended.

Source: ``TransactionalRequestResult.java``; reference §5.2, *pending*.
"""

from zombieproof.clients.errors import Failure, IllegalState


class PendingResult:
    """The result of one public call. It is settled once; what comes later changes nothing.

    A call that was not *acknowledged* (its caller gave up waiting) must be made again before any other: it then gets
    this same object.
    """

    def __init__(self, operation: str) -> None:
        self.operation = operation
        self.error: Failure | None = None
        self.is_completed = False
        self.is_acknowledged = False

    @property
    def is_successful(self) -> bool:
        """Whether the call is over and did what it should."""
        return self.is_completed and self.error is None

    def succeed(self) -> None:
        """The call did what it should."""
        self.is_completed = True

    def fail(self, error: Failure) -> None:
        """The call failed."""
        if not self.is_completed:
            self.error = error
            self.is_completed = True

    def acknowledge(self) -> None:
        """The caller waited, and sees the result.

        Raises:
            IllegalState: the call is not over.
            ProducerFailure: it failed.
        """
        if not self.is_completed:
            raise IllegalState(f"{self.operation} is not over: deliver its requests first")
        self.is_acknowledged = True
        if self.error is not None:
            raise self.error
