"""Names of settings of Kafka's Java client in librdkafka, and what to do about those without counterpart."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from zombieproof.pipeline.settings import IllegalSetting, Settings

SAME: Final = (
    "allow.auto.create.topics",
    "batch.size",
    "bootstrap.servers",
    "check.crcs",
    "client.dns.lookup",
    "client.id",
    "client.rack",
    "compression.type",
    "connections.max.idle.ms",
    "delivery.timeout.ms",
    "enable.metrics.push",
    "fetch.max.bytes",
    "fetch.min.bytes",
    "linger.ms",
    "max.in.flight.requests.per.connection",
    "max.partition.fetch.bytes",
    "metadata.max.age.ms",
    "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retries",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.service.name",
    "sasl.oauthbearer.assertion.algorithm",
    "sasl.oauthbearer.assertion.claim.aud",
    "sasl.oauthbearer.assertion.claim.exp.seconds",
    "sasl.oauthbearer.assertion.claim.iss",
    "sasl.oauthbearer.assertion.claim.jti.include",
    "sasl.oauthbearer.assertion.claim.nbf.seconds",
    "sasl.oauthbearer.assertion.claim.sub",
    "sasl.oauthbearer.assertion.file",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.sub.claim.name",
    "sasl.oauthbearer.token.endpoint.url",
    "socket.connection.setup.timeout.ms",
    "transaction.timeout.ms",
)
"""Settings that have the same name and the same values in both clients."""


def _as_it_is(value: str) -> str:
    return value


def _kibibytes(value: str) -> str:
    return str(max(1, int(value) // 1024))


def _zero_for_the_default(value: str) -> str:
    return "0" if int(value) == -1 else value


RENAMED: Final[Mapping[str, tuple[str, Callable[[str], str], str]]] = {
    "buffer.memory": ("queue.buffering.max.kbytes", _kibibytes, "bytes become KiB"),
    "fetch.max.wait.ms": ("fetch.wait.max.ms", _as_it_is, ""),
    "max.request.size": ("message.max.bytes", _as_it_is, ""),
    "receive.buffer.bytes": ("socket.receive.buffer.bytes", _zero_for_the_default, "-1 becomes 0"),
    "sasl.oauthbearer.assertion.template.file": ("sasl.oauthbearer.assertion.jwt.template.file", _as_it_is, ""),
    "sasl.oauthbearer.client.credentials.client.id": ("sasl.oauthbearer.client.id", _as_it_is, ""),
    "sasl.oauthbearer.client.credentials.client.secret": ("sasl.oauthbearer.client.secret", _as_it_is, ""),
    "send.buffer.bytes": ("socket.send.buffer.bytes", _zero_for_the_default, "-1 becomes 0"),
}
"""Settings with another name in librdkafka: the name, how the value changes, and that in words."""

REFUSED: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (
        ("key.deserializer", "key.serializer", "value.deserializer", "value.serializer"),
        "leave it out: keys and values are bytes here; cast them in the query",
    ),
    (("auto.offset.reset",), "use the option startingOffsets of the source"),
    (("max.poll.records",), "leave it out: the option maxOffsetsPerTrigger limits a micro-batch"),
    (
        (
            "auto.commit.interval.ms",
            "group.instance.id",
            "group.protocol",
            "group.remote.assignor",
            "heartbeat.interval.ms",
            "max.poll.interval.ms",
            "partition.assignment.strategy",
            "session.timeout.ms",
        ),
        "leave it out: the consumer does not join the group, Spark assigns the partitions",
    ),
    (
        ("default.api.timeout.ms", "max.block.ms"),
        "leave it out: the option deadlineMs of the sink says how long a delivery is retried",
    ),
    (
        ("compression.gzip.level", "compression.lz4.level", "compression.zstd.level"),
        "use compression.level, which applies to the compression.type in use",
    ),
    (
        ("partitioner.class",),
        "use the column partition, or partitioner: murmur2_random chooses the partitions that Java's client chooses",
    ),
    (
        (
            "partitioner.adaptive.partitioning.enable",
            "partitioner.availability.timeout.ms",
            "partitioner.ignore.keys",
        ),
        "leave it out: the setting partitioner of librdkafka has no such choice",
    ),
    (
        ("socket.connection.setup.timeout.max.ms",),
        "use socket.connection.setup.timeout.ms, which librdkafka does not increase",
    ),
    (
        ("metadata.max.idle.ms", "exclude.internal.topics"),
        "leave it out: the client asks only for the topics of the query",
    ),
    (("bootstrap.controllers",), "use bootstrap.servers"),
    (
        (
            "internal.throw.on.fetch.stable.offset.unsupported",
            "share.acknowledgement.mode",
            "share.acquire.mode",
        ),
        "leave it out: the consumer reads partitions, and no share group",
    ),
    (
        ("config.providers", "interceptor.classes", "metric.reporters", "security.providers"),
        "leave it out: librdkafka runs no Java classes",
    ),
    (
        (
            "auto.include.jmx.reporter",
            "metrics.num.samples",
            "metrics.recording.level",
            "metrics.sample.window.ms",
        ),
        "leave it out: librdkafka has no JMX metrics; statistics.interval.ms turns its own on",
    ),
    (
        ("transaction.two.phase.commit.enable",),
        "leave it out: the sink commits its transactions itself",
    ),
    (
        ("ssl.enabled.protocols", "ssl.protocol"),
        (
            "leave it out: librdkafka and the broker agree on TLS 1.3, or on TLS 1.2 where one of them has no other; "
            "restrict the versions on the broker"
        ),
    ),
    (
        (
            "ssl.engine.factory.class",
            "ssl.keymanager.algorithm",
            "ssl.provider",
            "ssl.secure.random.implementation",
            "ssl.trustmanager.algorithm",
        ),
        "leave it out: librdkafka uses OpenSSL, not Java's providers",
    ),
    (
        (
            "sasl.login.class",
            "sasl.login.connect.timeout.ms",
            "sasl.login.read.timeout.ms",
            "sasl.login.refresh.buffer.seconds",
            "sasl.login.refresh.min.period.seconds",
            "sasl.login.refresh.window.factor",
            "sasl.login.refresh.window.jitter",
            "sasl.login.retry.backoff.max.ms",
            "sasl.login.retry.backoff.ms",
        ),
        "leave it out: librdkafka renews logins itself",
    ),
    (
        ("sasl.kerberos.ticket.renew.jitter", "sasl.kerberos.ticket.renew.window.factor"),
        "use sasl.kerberos.min.time.before.relogin, the time between two runs of kinit",
    ),
    (
        (
            "sasl.oauthbearer.clock.skew.seconds",
            "sasl.oauthbearer.expected.audience",
            "sasl.oauthbearer.expected.issuer",
            "sasl.oauthbearer.jwks.endpoint.refresh.ms",
            "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
            "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
            "sasl.oauthbearer.jwks.endpoint.url",
            "sasl.oauthbearer.jwt.validator.class",
            "sasl.oauthbearer.scope.claim.name",
        ),
        "leave it out: the broker validates tokens, the client does not",
    ),
    (
        ("sasl.oauthbearer.header.urlencode",),
        "leave it out: librdkafka cannot encode client id and secret; choose ones without reserved characters",
    ),
)
"""Settings without a counterpart in librdkafka, and what to do."""

WITHOUT_COUNTERPART: Final = {name: remedy for names, remedy in REFUSED for name in names}

SECURITY: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("security.protocol",), "the same"),
    (("sasl.mechanism",), "the same; `AWS_MSK_IAM` becomes `OAUTHBEARER` with a token provider"),
    (
        ("sasl.jaas.config",),
        (
            "`PlainLoginModule`, `ScramLoginModule`: `sasl.username`, `sasl.password`. `OAuthBearerLoginModule` with "
            "`clientId`, `clientSecret`, `scope`, `extension_NAME`: `sasl.oauthbearer.method=oidc` and its settings. "
            "`Krb5LoginModule`: `sasl.kerberos.keytab`, `.principal`, `.service.name` (needs a confluent-kafka with "
            "GSSAPI, which the wheels on PyPI lack). `IAMLoginModule`: a token provider, "
            "`pip install 'zombieproof[msk]'`. Shaded names (`kafkashaded.org.apache...`) are the same. Other modules "
            "are refused"
        ),
    ),
    (
        ("sasl.login.callback.handler.class",),
        (
            "Kafka's `OAuthBearerLoginCallbackHandler`: `sasl.oauthbearer.method=oidc`; Amazon's "
            "`IAMOAuthBearerLoginCallbackHandler`: a token provider. Others are refused"
        ),
    ),
    (
        ("sasl.client.callback.handler.class",),
        "Amazon's `IAMClientCallbackHandler`, with `IAMLoginModule`. Others are refused",
    ),
    (
        ("sasl.oauthbearer.jwt.retriever.class",),
        (
            "`ClientCredentialsJwtRetriever`, and `DefaultJwtRetriever` with a URL: nothing more; "
            "`JwtBearerJwtRetriever`: `sasl.oauthbearer.grant.type`. Others are refused"
        ),
    ),
    (("sasl.kerberos.kinit.cmd",), "refused if it is a path, as in Java: librdkafka's is a command line with `%{...}`"),
    (
        ("ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type"),
        (
            "`ssl.ca.pem`, read from PEM, PKCS12 or JKS. A store without any root certificate is refused: "
            "OpenSSL trusts roots only"
        ),
    ),
    (("ssl.truststore.certificates",), "`ssl.ca.pem`"),
    (
        ("ssl.keystore.location", "ssl.keystore.password", "ssl.keystore.type", "ssl.key.password"),
        (
            "`ssl.certificate.pem` with its chain, and `ssl.key.pem`, read from PEM, PKCS12 or JKS. A store with "
            "several keys is refused"
        ),
    ),
    (("ssl.keystore.key", "ssl.keystore.certificate.chain"), "`ssl.key.pem`, `ssl.certificate.pem`"),
    (("ssl.endpoint.identification.algorithm",), "the same; empty becomes `none`"),
    (("ssl.cipher.suites",), "refused with Java's names (`TLS_...`); OpenSSL's names pass"),
)
"""Settings that are translated by their values."""


def table() -> str:
    """Return all known settings as a table in Markdown, for docs/pipeline.md."""
    rows = [(f"`{name}`", f"`{new}`" + (f" ({note})" if note else "")) for name, (new, _, note) in RENAMED.items()]
    rows += [(", ".join(f"`{name}`" for name in names), becomes) for names, becomes in SECURITY]
    rows += [(", ".join(f"`{name}`" for name in names), f"refused: {remedy}") for names, remedy in REFUSED]
    rows.append((", ".join(f"`{name}`" for name in SAME), "the same"))
    return "\n".join(
        ["| Java's setting | librdkafka's |", "|---|---|", *(f"| {left} | {right} |" for left, right in rows)]
    )


def rename_settings(settings: Settings) -> dict[str, Any]:
    """Return settings under librdkafka's names, with credentials and key stores as they are. It is idempotent.

    Raises:
        IllegalSetting: a setting has no counterpart, or is given under both names.
    """
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if name in WITHOUT_COUNTERPART:
            raise IllegalSetting(
                f"{name} is a setting of Kafka's Java client without counterpart in librdkafka, the client of the "
                f"pipeline: {WITHOUT_COUNTERPART[name]}"
            )
        if name not in RENAMED:
            found[name] = value
            continue
        new, convert, _ = RENAMED[name]
        if new in settings:
            raise IllegalSetting(f"{name} and {new} are two names of one setting; leave one of them out")
        try:
            found[new] = convert(str(value))
        except ValueError:
            raise IllegalSetting(f"{name} is not a number; legal is a whole number") from None
    return found
