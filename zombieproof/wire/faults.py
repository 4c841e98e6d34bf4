"""What can be wrong with bytes from a connection."""


class Malformed(ValueError):
    """Bytes that are no frame, no request, or one of a version that does not exist; the text says what is wrong."""
