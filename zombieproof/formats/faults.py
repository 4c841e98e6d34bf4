"""What is wrong with bytes that cannot be read, and with values that cannot be written."""


class Undecodable(ValueError):
    """Bytes that are not what they should be; the message says what is wrong, and what was expected.

    `position` is the byte, counted from the begin of what was handed in, at which the reader stood; None where
    the whole is wrong. Positions inside packed records count unpacked bytes.
    """

    def __init__(self, fault: str, position: int | None = None) -> None:
        super().__init__(fault)
        self.position = position


class Unwritable(ValueError):
    """A value that Kafka's format has no place for: in Kafka an ``IllegalStateException``."""
