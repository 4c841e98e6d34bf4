"""Published defects of Kafka and its clients that the rules can show: by number, the releases that have each."""

from collections.abc import Mapping
from typing import Final

RELEASES: Final[Mapping[str, str]] = {
    "B73": "Kafka 4.1 to 4.4.0",
    "B74": "Kafka up to 3.9.2, with the group coordinator of that time",
    "B75": "Kafka 4.0 to 4.4.0 at transaction version 2",
    "B79": "the Java client 4.4.0",
    "B80": "Kafka 4.3.1 and 4.4.0 (earlier releases were not tested)",
    "B81": "Kafka 2.5 to 4.4.0",
    "B82": "Kafka 4.3.1 and 4.4.0 at transaction version 2",
}
"""The number in docs/bugs.md -> the releases that were seen to have the defect."""
