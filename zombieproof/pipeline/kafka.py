"""The client of Kafka that the pipeline uses, and how it is set up: confluent-kafka, which is librdkafka."""

import logging
from collections.abc import Mapping
from typing import Any

try:
    import confluent_kafka
except ModuleNotFoundError as missing:
    if missing.name != "confluent_kafka":
        raise
    raise ModuleNotFoundError(
        "the pipeline talks to Kafka by confluent-kafka, which is not installed; pip install 'zombieproof[spark]'",
        name="confluent_kafka",
    ) from missing

client = confluent_kafka

LOGGER = logging.getLogger("zombieproof.pipeline")
"""What librdkafka tells of connections and of transactions goes there, and not to stderr."""

Settings = Mapping[str, Any]

OURS = ("group.id", "transactional.id", "isolation.level", "enable.auto.commit", "enable.idempotence", "acks")
"""Settings on which exactness rests: nobody else says them."""


class IllegalSetting(ValueError):
    """A setting of the client that cannot be what was said."""


def checked(settings: Settings) -> dict[str, Any]:
    """The settings that were given, if they name brokers and say nothing on which exactness rests.

    Raises:
        IllegalSetting: they do not.
    """
    if not settings.get("bootstrap.servers"):
        raise IllegalSetting(
            "settings of the client: bootstrap.servers is missing; legal is host:port[,host:port...]: say which brokers"
        )
    for name in OURS:
        if name in settings:
            raise IllegalSetting(
                f"settings of the client: {name} is {settings[name]!r}, and is not to be set: what is exact rests on "
                "it; leave it out (group and transactional id are arguments of their own)"
            )
    return dict(settings)


def _heard(error: Any) -> None:
    """What the client says of connections beside its calls; what is fatal it raises in the next call itself."""
    LOGGER.info("%s", error)


CONNECTS_SOON = {"reconnect.backoff.ms": 20}
"""librdkafka opens a connection only half of that behind the one before; a client that lives for one delivery opens
three, and would wait 50 ms for each by librdkafka's default of 100."""


def producer_for(settings: Settings, transactional_id: str) -> Any:
    """A producer under that transactional id; it has not taken it yet."""
    return client.Producer(
        {
            **CONNECTS_SOON,
            "linger.ms": 5,
            "error_cb": _heard,
            **checked(settings),
            "transactional.id": transactional_id,
            "enable.idempotence": True,
            "acks": "all",
        },
        logger=LOGGER,
    )


def consumer_for(settings: Settings, group: str) -> Any:
    """A consumer that joins no group: it reads what is committed alone, positions of the group as well as records.

    librdkafka asks for stable positions (OffsetFetch, require_stable) where `isolation.level` is read_committed.
    """
    return client.Consumer(
        {
            **CONNECTS_SOON,
            "auto.offset.reset": "error",
            "error_cb": _heard,
            **{name: value for name, value in checked(settings).items() if not name.startswith("transaction.")},
            "group.id": group,
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        },
        logger=LOGGER,
    )
