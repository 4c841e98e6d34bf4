r"""Subscriptions by a regular expression: which topics one means.

Kafka's brokers take RE2's language, of which most is Python's too. What Python has beyond it (looking around,
references back, conditions, atomic groups and possessive repetition) is refused here as it is there. What RE2 has
beyond Python is refused here (``\pN``, ``\Q..\E``, ``\z``, flags such as ``(?U)``) or, a class such as
``[[:alpha:]]``, means something else. A pattern means a topic if it matches the whole name.
Source: ``GroupMetadataManager.throwIfRegularExpressionIsInvalid``; https://github.com/google/re2/wiki/Syntax.
"""

import re
import warnings
from collections.abc import Iterable

NOT_IN_RE2 = re.compile(r"\(\?(?:<?[=!]|>|\(|P[=>]|#)|\\[1-9]|(?:[*+?]|\{[0-9,]+\})\+")
"""What Python understands and RE2 does not."""
REPETITION = re.compile(r"(?<=[{,])([0-9]+)(?=[,}])")
MOST_REPETITIONS = 1_000
"""RE2 repeats nothing more often."""


def topics_of(pattern: str, topics: Iterable[str]) -> tuple[str, ...] | None:
    """The topics that a pattern means, in order; None: it is no regular expression."""
    if any(int(number) > MOST_REPETITIONS for number in REPETITION.findall(pattern)):
        return None
    without_escapes = re.sub(r"\\[^1-9]", "_", pattern)
    if NOT_IN_RE2.search(without_escapes) is not None:
        return None
    try:
        with warnings.catch_warnings():
            # Python warns of brackets in brackets, which it may read otherwise one day.
            warnings.simplefilter("ignore", FutureWarning)
            read = re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None
    return tuple(sorted(topic for topic in topics if read.fullmatch(topic)))
