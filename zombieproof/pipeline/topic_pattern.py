r"""Topic patterns: the part of Java's regular expressions that Python's `re` reads in the same way.

`subscribePattern` of Spark's Kafka source is a Java regular expression that has to match the whole name of a topic.
Most patterns mean the same in both languages. Some compile in Python with another meaning, such as the intersection
`[a-z&&[^b]]`, the nested class `[a[bc]]` or the octal escape `\\0101`: those would subscribe to other topics without an
error. So a pattern is accepted only if it is made of the constructs below, which mean the same in both for the names
that Kafka allows (letters, digits, `.`, `_` and `-`).
"""

import re
import warnings
from collections.abc import Iterable
from typing import Final

_IN_CLASS: Final = r"\\(?:[dDwWsS]|[^A-Za-z0-9])"
_ESCAPE: Final = r"\\(?:[dDwWsSbBA]|[1-9](?![0-9])|[^A-Za-z0-9])"
_CLASS: Final = rf"\[\^?(?:{_IN_CLASS}|&(?!&)|[^\[\]\\&^])(?:{_IN_CLASS}|&(?!&)|[^\[\]\\&])*\]"
_GROUP: Final = r"\((?:\?(?::|=|!|<=|<!|>|[ims]+\)|[ims]*(?:-[ims]+)?:)|(?!\?))"
_REPEAT: Final = r"\{[0-9]+(?:,[0-9]*)?\}"
_SHARED: Final = re.compile(rf"(?:{_CLASS}|{_ESCAPE}|{_REPEAT}|{_GROUP}|[^\[\\{{(])*")


INTERNAL: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Kafka's internal topics, which no pattern matches."""


class IllegalPattern(ValueError):
    """A pattern that is not valid, or that Python and Java do not read in the same way."""


def topic_pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern; `fullmatch` tells whether a topic matches.

    Raises:
        IllegalPattern: it is not valid, or it uses a construct that Python and Java do not read in the same way.
    """
    read = _SHARED.match(text)
    if read is None or read.end() != len(text):
        at = 0 if read is None else read.end()
        raise IllegalPattern(
            f"{text[at:]!r} at character {at + 1} is not read in the same way by Java and by Python; use literals, "
            "'.', classes without nesting or '&&', groups without names, the escapes \\d \\w \\s \\b, and quantifiers"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            return re.compile(text, re.ASCII)
    except (re.error, FutureWarning, OverflowError) as error:
        raise IllegalPattern(f"not a valid regular expression: {error}") from error


def matching_topics(pattern: str, topics: Iterable[str]) -> list[str]:
    """Return the topics whose whole names match a pattern, in order, without internal topics.

    Raises:
        IllegalPattern: as `topic_pattern`.
    """
    matches = topic_pattern(pattern).fullmatch
    return sorted(topic for topic in topics if topic not in INTERNAL and matches(topic))
