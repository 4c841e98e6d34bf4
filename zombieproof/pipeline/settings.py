"""Settings of the pipeline's Kafka client, by the names of librdkafka or of Kafka's Java client."""

from collections.abc import Mapping
from typing import Any

Settings = Mapping[str, Any]


class IllegalSetting(ValueError):
    """A setting of the client that is not valid."""
