"""Topic patterns: the same topics as in Java, or a refusal."""

import pytest

from zombieproof.pipeline.topic_pattern import IllegalPattern, topic_pattern

TOPICS = ("orders", "orders-eu", "orders.dlq", "ORDERS", "o1", "b", "x9")


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("orders.*", ("orders", "orders-eu", "orders.dlq")),
        (r"orders\..+|o\d", ("orders.dlq", "o1")),
        ("(?i)orders", ("orders", "ORDERS")),
        ("(?i:o)rders", ("orders",)),
        ("(?!orders).*[0-9]{1,2}", ("o1", "x9")),
        ("[^a-n]([0-9])?", ("o1", "x9")),
        ("[a&b]", ("b",)),
        ("orders(?:-eu)?$", ("orders", "orders-eu")),
        ("rders", ()),
    ],
)
def test_a_pattern_has_to_match_the_whole_name(pattern: str, matched: tuple[str, ...]) -> None:
    assert tuple(topic for topic in TOPICS if topic_pattern(pattern).fullmatch(topic)) == matched


@pytest.mark.parametrize(
    "pattern",
    [
        "[a-z&&[^b]]",
        "[a[bc]]",
        "[[a]]",
        r"[\w&&[^\d]]",
        r"\0101",
        r"\111",
        r"\Qorders\E",
        r"\p{Alpha}+",
        r"orders\z",
        r"[\b]",
        "o{,3}",
        "o{",
        "(?<name>o)",
        "(?P<name>o)",
        "(?x) o # comment",
        "(?u)o",
        "(?#comment)o",
        "(o)?(?(1)a|b)",
        "(",
        "*",
        "[a",
        "[a--b]",
        "a(?i)b",
    ],
)
def test_what_java_reads_differently_is_refused(pattern: str) -> None:
    with pytest.raises(IllegalPattern):
        topic_pattern(pattern)
