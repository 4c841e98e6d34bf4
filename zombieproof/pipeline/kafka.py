"""The client of Kafka that the pipeline uses, and how it is set up: confluent-kafka, which is librdkafka."""

import logging
import os
import re
import time
from collections.abc import Callable
from typing import Any

from zombieproof.pipeline.java_names import rename_settings
from zombieproof.pipeline.java_settings import IamTokens, RedactedSettings, translate_settings
from zombieproof.pipeline.settings import IllegalSetting, Settings

try:
    import confluent_kafka
    import confluent_kafka.admin
except ModuleNotFoundError as missing:
    if missing.name != "confluent_kafka":
        raise
    raise ModuleNotFoundError(
        "the pipeline talks to Kafka by confluent-kafka, which is not installed; pip install 'zombieproof[spark]'",
        name="confluent_kafka",
    ) from missing

client = confluent_kafka

__all__ = [
    "OURS",
    "IllegalSetting",
    "Settings",
    "admin_for",
    "checked",
    "client",
    "consumer_for",
    "producer_for",
    "timed_out",
]

LOGGER = logging.getLogger("zombieproof.pipeline")
"""What librdkafka tells of connections and of transactions goes there, and not to stderr."""

REPEATED_S = 10.0
"""Time for which a line of librdkafka is not logged again."""
MOST_LINES = 1000
FENCED = re.compile(r"fenced by a newer instance|with an old epoch")
"""Words of librdkafka when another client has taken the transactional id. The delivery tells what follows from it."""


class LibrdkafkaLines(logging.Filter):
    """Drops repeated lines of librdkafka: without brokers, each client tries dozens of times a second.

    Those of a fenced client count as information: librdkafka calls them fatal, and a delivery expects them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._logged_s: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is logged; numbers of clients and durations do not make it another line."""
        text = record.getMessage()
        if "[rdkafka#" not in text:
            return True
        if FENCED.search(text):
            record.levelno, record.levelname = logging.INFO, logging.getLevelName(logging.INFO)
            if not LOGGER.isEnabledFor(logging.INFO):
                return False
        line, now = re.sub(r"-[0-9]+\]|[0-9]+ms", "", text), time.monotonic()
        if now - self._logged_s.get(line, -REPEATED_S) < REPEATED_S:
            return False
        if len(self._logged_s) > MOST_LINES:
            self._logged_s.clear()
        self._logged_s[line] = now
        return True


LOGGER.addFilter(LibrdkafkaLines())

OURS = ("group.id", "transactional.id", "isolation.level", "enable.auto.commit", "enable.idempotence", "acks")
"""Settings on which exactness rests: nobody else says them."""


def checked(settings: Settings) -> dict[str, Any]:
    """Return the settings under librdkafka's names, if a client can be built from them.

    Logins and key stores of Java are tried but left as they are: they are read where a client is built.

    Raises:
        IllegalSetting: no brokers are named, exactness rests on a setting, or a setting cannot be translated.
    """
    try:
        client.Producer({**_translate(settings), NO_SETTING: ""})
    except client.KafkaException as error:
        if NO_SETTING not in (fault := error.args[0].str()):
            raise IllegalSetting(
                f"settings of the client: {fault.strip()}; legal are the settings of librdkafka "
                f"{client.libversion()[0]} and of Kafka's Java client"
            ) from None
    return RedactedSettings(rename_settings(settings))


NO_SETTING = "zombieproof.end"
"""librdkafka refuses the first setting that it does not take. If that is this one, the last, it takes all others."""


def _translate(settings: Settings) -> dict[str, Any]:
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
    return translate_settings(settings)


def _client_settings(settings: Settings) -> dict[str, Any]:
    translated = _translate(settings)
    if isinstance(tokens := translated.get("oauth_cb"), IamTokens):
        tokens.sign_first()
    return translated


REFUSED_CERTIFICATE = re.compile(r"certificate|unknown ca", re.IGNORECASE)
"""Words of OpenSSL's errors when one side refuses the certificate of the other."""
MOST_EVENTS = 20
"""Events that are served after an error; each call of `poll` serves one."""


DENIED = frozenset({"_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED", "TOPIC_AUTHORIZATION_FAILED"})
"""Errors of connections and partitions that no retry repairs."""


class ConnectionErrors:
    """Errors of connections, which librdkafka reports by a callback and not in the call that fails because of them.

    Attributes:
        newest: the newest error; None: there is none.
        refusal: the newest refused login, certificate or right.
    """

    def __init__(self) -> None:
        self.newest: Any = None
        self.refusal: Any = None

    def __call__(self, error: Any) -> None:
        """Log an error, and keep it for the message of the call that fails."""
        LOGGER.info("%s", error)
        if error.name() in DENIED or REFUSED_CERTIFICATE.search(error.str()):
            self.refusal = error
        elif error.name() != "_ALL_BROKERS_DOWN":
            self.newest = error

    def clear(self) -> None:
        """Forget the errors: another call begins."""
        self.newest = self.refusal = None

    def explain(self, call: Callable[[], Any], serve: Callable[[], Any]) -> Any:
        """Call, and add the reason to an error. A refused login or certificate is not retriable."""
        self.clear()
        try:
            return call()
        except client.KafkaException as error:
            for _ in range(MOST_EVENTS):
                serve()
            reason = self.refusal or self.newest
            if reason is None:
                raise
            plain, is_refused = error.args[0], self.refusal is not None
            code = client.KafkaError._AUTHENTICATION if is_refused else plain.code()  # noqa: SLF001  # as in `asking`
            text = f"{plain.str()}: {reason.str()}"
            raise client.KafkaException(
                client.KafkaError(code, text, False, not is_refused and plain.retriable())
            ) from None


class _Producer(confluent_kafka.Producer):
    """A producer whose errors give the reason why no broker can be reached."""

    def __init__(self, settings: Settings) -> None:
        self.errors = ConnectionErrors()
        super().__init__({"error_cb": self.errors, **settings}, logger=LOGGER)

    def list_topics(self, *asked: Any) -> Any:
        """Ask for topics, the first call of a delivery."""
        return self.errors.explain(lambda: super(_Producer, self).list_topics(*asked), lambda: self.poll(0))


class _Consumer(confluent_kafka.Consumer):
    """A consumer whose errors give the reason why no broker can be reached."""

    def __init__(self, settings: Settings) -> None:
        self.errors = ConnectionErrors()
        super().__init__({"error_cb": self.errors, **settings}, logger=LOGGER)

    def list_topics(self, *asked: Any) -> Any:
        """Ask for topics, the first call of a source."""
        return self.errors.explain(lambda: super(_Consumer, self).list_topics(*asked), self._serve)

    def _serve(self) -> None:
        if not self.assignment():  # else `poll` would take a record
            self.poll(0)


CONNECTS_SOON = {"reconnect.backoff.ms": 20}
"""librdkafka opens a connection only half of that behind the one before; a client that lives for one delivery opens
three, and would wait 50 ms for each by librdkafka's default of 100."""


def producer_for(settings: Settings, transactional_id: str) -> Any:
    """A producer under that transactional id; it has not taken it yet."""
    return _Producer(
        {
            **CONNECTS_SOON,
            "linger.ms": 5,
            **_client_settings(settings),
            "transactional.id": transactional_id,
            "enable.idempotence": True,
            "acks": "all",
        }
    )


def consumer_for(settings: Settings, group: str, isolation: str = "read_committed") -> Any:
    """A consumer that joins no group: it reads what is committed alone, positions of the group as well as records.

    librdkafka asks for stable positions (OffsetFetch, require_stable) where `isolation.level` is read_committed.
    """
    return _Consumer(
        {
            **CONNECTS_SOON,
            "auto.offset.reset": "error",
            **{
                name: value for name, value in _client_settings(settings).items() if not name.startswith("transaction.")
            },
            "group.id": group,
            "isolation.level": isolation,
            "enable.auto.commit": False,
        }
    )


MOST_ADMINS = 4
_admins: dict[tuple[int, str], Any] = {}


def admin_for(settings: Settings) -> Any:
    """Return the administrative client for these settings, whose connections stay open for the next call."""
    known = os.getpid(), repr(sorted(settings.items()))
    if known not in _admins:
        for oldest in list(_admins)[: max(0, len(_admins) - MOST_ADMINS + 1)]:
            del _admins[oldest]
        translated = {
            name: value for name, value in _client_settings(settings).items() if not name.startswith("transaction.")
        }
        _admins[known] = client.admin.AdminClient({**CONNECTS_SOON, **translated}, logger=LOGGER)
    return _admins[known]


def timed_out(what: str) -> Any:
    """The client's own error for an answer that did not come in time."""
    return client.KafkaError(client.KafkaError._TIMED_OUT, what)  # noqa: SLF001  # librdkafka's own errors begin so
