"""Translate settings of Kafka's Java client, which users of Spark's own connector have, to those of librdkafka.

`translate_settings` reads credentials and key stores, and belongs where a client is built: a renewed certificate needs
no restart, and private keys are not sent to executors. What only has another name is in `java_names`. A setting that
librdkafka cannot have is refused with the setting to use instead, never dropped. No error shows a secret.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from zombieproof.pipeline.java_names import rename_settings
from zombieproof.pipeline.key_stores import read_own, read_trusted
from zombieproof.pipeline.settings import IllegalSetting, Settings

# ---------------------------------------------------------------- secrets

SECRET: Final = re.compile(
    r"password|secret|passphrase|\.pem$|keystore\.key$|jaas\.config$|oauthbearer\.config$|token$"
)


class RedactedSettings(dict[str, Any]):
    """Settings whose text shows no secret, for logs and for the texts of objects that hold them."""

    def __repr__(self) -> str:
        shown = {name: "..." if SECRET.search(name) else value for name, value in self.items()}
        return f"{type(self).__name__}({shown!r})"


# ---------------------------------------------------------------- JAAS

FLAGS: Final = ("required", "requisite", "sufficient", "optional")


@dataclass(frozen=True, slots=True)
class LoginModule:
    """An entry of a JAAS configuration: a login module with its options."""

    name: str = field(repr=False)
    flag: str
    options: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Token:
    """A token at `at`: a word or quoted text ("text"), a number ("number"), or a character that stands for itself."""

    kind: str
    text: str = field(repr=False)
    at: int


ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)|/[^\n\r]*", re.DOTALL)
OCTAL: Final = re.compile(r"[0-3][0-7]{0,2}|[4-7][0-7]?")
NUMBER: Final = re.compile(r"-?[0-9]*\.?[0-9]*")


def _is_word(char: str) -> bool:
    return (char.isascii() and char.isalpha()) or char in "_$" or ord(char) >= 0xA0  # as Java's


def _tokens(text: str) -> Iterator[_Token]:
    """Split a JAAS configuration as java.io.StreamTokenizer does for Kafka. A single slash begins a comment, too."""
    at = 0
    while at < len(text):
        char, begun = text[at], at
        if char <= " ":
            at += 1
        elif char == "/":
            comment = COMMENT.match(text, at)
            at = comment.end() if comment else len(text)
        elif char in "\"'":
            quoted, at = _quoted(text, at)
            yield _Token("text", quoted, begun)
        elif char in "0123456789." or (char == "-" and text[at + 1 : at + 2] in tuple("0123456789.")):
            number = NUMBER.match(text, at)
            at = max(at + 1, number.end() if number else at)
            yield _Token("number", "", begun)
        elif _is_word(char):
            while at < len(text) and (_is_word(text[at]) or text[at] in "0123456789.-"):
                at += 1
            yield _Token("text", text[begun:at], begun)
        else:
            at += 1
            yield _Token(char, char, begun)


def _quoted(text: str, begun: int) -> tuple[str, int]:
    """Return the text within the quotes that begin at `begun`, and the position after them."""
    quote, at, found = text[begun], begun + 1, list[str]()
    while at < len(text) and text[at] not in "\n\r":
        char = text[at]
        if char == quote:
            return "".join(found), at + 1
        if char == "\\" and at + 1 < len(text):
            octal = OCTAL.match(text, at + 1)
            if octal:
                found.append(chr(int(octal[0], 8)))
                at = octal.end()
            else:
                found.append(ESCAPES.get(text[at + 1], text[at + 1]))
                at += 2
        else:
            found.append(char)
            at += 1
    raise _malformed(begun, "the quote is not closed on its line; write \\n for a line break, and \\\\ for a backslash")


def _malformed(at: int, fault: str) -> IllegalSetting:
    return IllegalSetting(
        f"sasl.jaas.config, character {at + 1}: {fault}; legal is: "
        'CLASS required NAME="VALUE" NAME="VALUE"; (each value in double quotes, a semicolon at the end)'
    )


def parse_jaas(text: str) -> LoginModule:
    """Read a JAAS configuration of one login module, as Kafka's Java client does.

    Raises:
        IllegalSetting: it is malformed, or names several modules.
    """
    tokens = _tokens(text)
    end = _Token("end", "", len(text))
    name = next(tokens, end)
    if name.kind != "text":
        raise _malformed(name.at, "the class of a login module is missing")
    flag = next(tokens, end)
    if flag.kind != "text" or flag.text.lower() not in FLAGS:
        raise _malformed(flag.at, f"after the class comes one of {', '.join(FLAGS)}")
    options: dict[str, str] = {}
    while (key := next(tokens, end)).kind != ";":
        if key is end:
            raise _malformed(end.at, "the semicolon at the end is missing")
        if key.kind != "text":
            raise _malformed(key.at, "the name of an option, or the semicolon at the end, is missing")
        equals, value = next(tokens, end), next(tokens, end)
        if equals.kind != "=":
            raise _malformed(equals.at, "the = after the name of an option is missing")
        if value.kind != "text":
            raise _malformed(value.at, "the value of an option is missing, or needs quotes")
        options[key.text] = value.text
    more = next(tokens, None)
    if more is not None:
        raise _malformed(more.at, "there is more after the first login module; a client has one")
    return LoginModule(name.text, flag.text.lower(), options)


# ---------------------------------------------------------------- logins

KAFKAS: Final = "org.apache.kafka.common.security."
AMAZONS: Final = "software.amazon.msk.auth.iam."
OIDC_HANDLERS: Final = (
    f"{KAFKAS}oauthbearer.OAuthBearerLoginCallbackHandler",
    f"{KAFKAS}oauthbearer.secured.OAuthBearerLoginCallbackHandler",
)
UNSECURED_HANDLER: Final = f"{KAFKAS}oauthbearer.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
IAM_HANDLER: Final = f"{AMAZONS}IAMOAuthBearerLoginCallbackHandler"
IAM_CLIENT_HANDLER: Final = f"{AMAZONS}IAMClientCallbackHandler"
RETRIEVERS: Final = {
    f"{KAFKAS}oauthbearer.ClientCredentialsJwtRetriever": "",
    f"{KAFKAS}oauthbearer.DefaultJwtRetriever": "",
    f"{KAFKAS}oauthbearer.JwtBearerJwtRetriever": "urn:ietf:params:oauth:grant-type:jwt-bearer",
}
"""The grant type that librdkafka sends for each."""

JAAS_NAMES: Final = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.client.callback.handler.class",
    "sasl.oauthbearer.jwt.retriever.class",
)
SASL: Final = ("SASL_PLAINTEXT", "SASL_SSL")
TLS: Final = ("SSL", "SASL_SSL")
PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
OIDC_REMEDY: Final = (
    f"legal are {OIDC_HANDLERS[0]} and {IAM_HANDLER}; or leave it and sasl.jaas.config out, and use librdkafka's "
    "sasl.oauthbearer.method=oidc with sasl.oauthbearer.token.endpoint.url, .client.id, .client.secret and .scope, or "
    "sasl.oauthbearer.metadata.authentication.type=azure_imds"
)


def _is_class(name: str, known: str) -> bool:
    """Return whether `name` is a known class, or that with a prefix: distributions of Spark shade Kafka's client."""
    return name == known or name.endswith(f".{known}")


def _refuse_others(module: LoginModule, legal: tuple[str, ...], free: str = "") -> None:
    """Refuse unknown options, and name their place only: a misplaced quote turns parts of a secret into names."""
    for place, name in enumerate(module.options, 1):
        if name not in legal and not (free and name.startswith(free)):
            raise IllegalSetting(
                f"sasl.jaas.config: option number {place} cannot be translated; legal are "
                f"{', '.join((*legal, *((f'{free}NAME',) if free else ())))}"
            )


def _require(module: LoginModule, *names: str) -> list[str]:
    for name in names:
        if not module.options.get(name):
            raise IllegalSetting(f"sasl.jaas.config: option {name} is missing or empty; say it in double quotes")
    return [module.options[name] for name in names]


def _translate_login(settings: dict[str, Any]) -> dict[str, Any]:
    """Replace the settings of a login in Java by those of librdkafka."""
    jaas, handler, client_handler, retriever = (str(settings.pop(name, "")).strip() for name in JAAS_NAMES)
    if "sasl.kerberos.kinit.cmd" in settings and "%{" not in str(settings["sasl.kerberos.kinit.cmd"]):
        raise IllegalSetting(
            "sasl.kerberos.kinit.cmd: Java's is a path, librdkafka's a command line such as "
            'kinit -t "%{sasl.kerberos.keytab}" -k %{sasl.kerberos.principal}; leave it out to use kinit of the PATH'
        )
    if not jaas:
        if handler or client_handler or retriever:
            raise IllegalSetting(
                "sasl.jaas.config is missing, and a class for logins is given; legal is both: say the login module, "
                f"such as {KAFKAS}oauthbearer.OAuthBearerLoginModule required;"
            )
        return settings
    if "sasl.username" in settings or "sasl.password" in settings:
        raise IllegalSetting("sasl.jaas.config and sasl.username or sasl.password say the same; leave one of them out")
    protocol = str(settings.get("security.protocol", "PLAINTEXT")).upper()
    if protocol not in SASL:
        raise IllegalSetting(
            f"sasl.jaas.config is given, and security.protocol is {protocol}, which does not log in; legal are "
            f"{' and '.join(SASL)}: set security.protocol, or leave sasl.jaas.config out"
        )
    module = parse_jaas(jaas)
    known = next((each for each in MODULES if _is_class(module.name, each)), "")
    if not known:
        raise IllegalSetting(
            f"sasl.jaas.config: this login module cannot be translated; legal are {', '.join(MODULES)}, each also with "
            "the prefix of a shaded client; other logins are settings of librdkafka, which have the prefix sasl."
        )
    mechanisms, translate = MODULES[known]
    mechanism = str(settings.get("sasl.mechanism", "")) or "GSSAPI"
    if mechanism not in mechanisms:
        raise IllegalSetting(
            f"sasl.mechanism is {mechanism}, and sasl.jaas.config names {known.rpartition('.')[2]}; legal with it is "
            f"{' or '.join(mechanisms)}: set sasl.mechanism"
        )
    if client_handler and not _is_class(client_handler, IAM_CLIENT_HANDLER):
        raise IllegalSetting(
            f"sasl.client.callback.handler.class: this class cannot be translated; legal is {IAM_CLIENT_HANDLER}, with "
            f"{AMAZONS}IAMLoginModule: leave it out"
        )
    if (handler or retriever) and mechanism != "OAUTHBEARER":
        raise IllegalSetting(
            f"sasl.login.callback.handler.class and sasl.oauthbearer.jwt.retriever.class are for OAUTHBEARER, and "
            f"sasl.mechanism is {mechanism}: leave them out"
        )
    return {**settings, **translate(module, settings, handler, retriever)}


def _password(module: LoginModule, _settings: Settings, _handler: str, _retriever: str) -> dict[str, Any]:
    if "tokenauth" in module.options:
        raise IllegalSetting(
            "sasl.jaas.config: tokenauth is for delegation tokens, which librdkafka does not have; legal are user and "
            "password of a SCRAM user"
        )
    _refuse_others(module, ("username", "password"))
    username, password = _require(module, "username", "password")
    return {"sasl.username": username, "sasl.password": password}


KRB5: Final = ("useKeyTab", "keyTab", "principal", "serviceName", "useTicketCache")
KRB5_WITHOUT_EFFECT: Final = (
    "clearPass",
    "debug",
    "doNotPrompt",
    "isInitiator",
    "refreshKrb5Config",
    "renewTGT",
    "storeKey",
    "useFirstPass",
)
OF_A_COMMAND: Final = re.compile(r"[\w@./:=-]+")
"""Keytab and principal become words of the command that librdkafka hands to a shell."""


def _kerberos(module: LoginModule, settings: Settings, _handler: str, _retriever: str) -> dict[str, Any]:
    _refuse_others(module, (*KRB5, *KRB5_WITHOUT_EFFECT))
    told, found = module.options, dict[str, Any]()
    for name in ("keyTab", "principal"):
        if name in told and not OF_A_COMMAND.fullmatch(told[name]):
            raise IllegalSetting(f"sasl.jaas.config: {name} has a character that kinit cannot be given by librdkafka")
    if told.get("useKeyTab", "").lower() == "true":
        found["sasl.kerberos.keytab"], found["sasl.kerberos.principal"] = _require(module, "keyTab", "principal")
    elif told.get("useTicketCache", "").lower() == "true":
        found["sasl.kerberos.min.time.before.relogin"] = 0
        if "principal" in told:
            found["sasl.kerberos.principal"] = told["principal"]
    else:
        raise IllegalSetting(
            "sasl.jaas.config: Krb5LoginModule has neither useKeyTab=true nor useTicketCache=true; legal is one of "
            "them: a query cannot type a password"
        )
    if "serviceName" in told:
        if settings.get("sasl.kerberos.service.name", told["serviceName"]) != told["serviceName"]:
            raise IllegalSetting(
                "sasl.kerberos.service.name and serviceName in sasl.jaas.config differ; leave one of them out"
            )
        found["sasl.kerberos.service.name"] = told["serviceName"]
    elif "sasl.kerberos.service.name" not in settings:
        raise IllegalSetting("sasl.kerberos.service.name is missing; say the service of the brokers, often kafka")
    return found


EXTENSION: Final = "extension_"
OF_HTTPS: Final = ("ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type")
UNSECURED: Final = ("unsecuredLoginStringClaim_sub", "unsecuredLoginLifetimeSeconds")


def _oauth(module: LoginModule, settings: Settings, handler: str, retriever: str) -> dict[str, Any]:
    if _is_class(handler, IAM_HANDLER):
        return _iam(module, settings, "", "")
    if not handler or _is_class(handler, UNSECURED_HANDLER):
        return _unsecured(module)
    if not any(_is_class(handler, each) for each in OIDC_HANDLERS):
        raise IllegalSetting(f"sasl.login.callback.handler.class: this class cannot be translated; {OIDC_REMEDY}")
    if not str(settings.get("sasl.oauthbearer.token.endpoint.url", "")).lower().startswith(("https:", "http:")):
        raise IllegalSetting(
            "sasl.oauthbearer.token.endpoint.url is missing or no address of the web; legal is "
            "https://HOST/PATH, where tokens are issued (a token in a file cannot be translated)"
        )
    _refuse_others(module, ("clientId", "clientSecret", "scope", *OF_HTTPS), EXTENSION)
    grant = next((to for each, to in RETRIEVERS.items() if _is_class(retriever, each)), "") if retriever else ""
    if retriever and not any(_is_class(retriever, each) for each in RETRIEVERS):
        raise IllegalSetting(
            f"sasl.oauthbearer.jwt.retriever.class: this class cannot be translated; legal are {', '.join(RETRIEVERS)}"
        )
    found: dict[str, Any] = {"sasl.oauthbearer.method": "oidc"}
    if grant:
        found["sasl.oauthbearer.grant.type"] = grant
    for option, name in (
        ("clientId", "sasl.oauthbearer.client.id"),
        ("clientSecret", "sasl.oauthbearer.client.secret"),
        ("scope", "sasl.oauthbearer.scope"),
    ):
        if option in module.options and name in settings:
            raise IllegalSetting(f"{name} and {option} in sasl.jaas.config say the same; leave one of them out")
        if module.options.get(option):
            found[name] = module.options[option]
        elif option != "scope" and name not in settings and not grant:
            raise IllegalSetting(
                f"sasl.jaas.config: {option} is missing; say it there, or as "
                f"{name.replace('client.', 'client.credentials.client.', 1)}"
            )
    extensions = {
        name.removeprefix(EXTENSION): told for name, told in module.options.items() if name.startswith(EXTENSION)
    }
    if extensions:
        if any("," in told for told in extensions.values()):
            raise IllegalSetting(
                "sasl.jaas.config: the value of an extension has a comma, which librdkafka cannot send"
            )
        found["sasl.oauthbearer.extensions"] = ",".join(f"{name}={told}" for name, told in extensions.items())
    if "ssl.truststore.location" in module.options:
        found["https.ca.pem"] = read_trusted(
            *(module.options.get(name) for name in OF_HTTPS), subject="sasl.jaas.config: ssl.truststore"
        )
    return found


def _unsecured(module: LoginModule) -> dict[str, Any]:
    """Tokens without signature, which brokers accept for tests only; Java's default where no handler is named."""
    if UNSECURED[0] not in module.options:
        raise IllegalSetting(
            "sasl.login.callback.handler.class is missing, and Java's client then makes tokens without signature; "
            f"{OIDC_REMEDY}"
        )
    _refuse_others(module, UNSECURED)
    subject, lifetime = module.options[UNSECURED[0]], module.options.get(UNSECURED[1], "3600")
    if not re.fullmatch(r"\S+", subject) or not lifetime.isdecimal():
        raise IllegalSetting(
            f"sasl.jaas.config: {UNSECURED[0]} has a space, or {UNSECURED[1]} is not a whole number of seconds"
        )
    return {
        "enable.sasl.oauthbearer.unsecure.jwt": True,
        "sasl.oauthbearer.config": f"principal={subject} lifeSeconds={lifetime}",
    }


# ---------------------------------------------------------------- Amazon MSK

REGION: Final = re.compile(r"\.kafka(?:-serverless)?\.([a-z]{2}(?:-[a-z]+)+-\d+)\.amazonaws\.com", re.IGNORECASE)
IAM_OPTIONS: Final = ("awsProfileName", "awsRoleArn", "awsRoleSessionName", "awsStsRegion", "awsDebugCreds")
OF_THE_ENVIRONMENT: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")


class IamTokens:
    """Tokens for Amazon MSK, signed with AWS credentials of this process, a profile or a role: an `oauth_cb`."""

    def __init__(self, region: str, profile: str, role: str, session: str) -> None:
        try:
            from aws_msk_iam_sasl_signer import MSKAuthTokenProvider  # noqa: PLC0415  # an extra
        except ModuleNotFoundError as missing:
            raise IllegalSetting(
                f"sasl.jaas.config asks for a login with AWS IAM, and {missing.name} is not installed; "
                "pip install 'zombieproof[msk]' on the driver and on each executor"
            ) from None
        self._first: tuple[str, float] | None = None
        self._sign: Callable[[], tuple[str, int]]
        if role:
            self._sign = lambda: MSKAuthTokenProvider.generate_auth_token_from_role_arn(region, role, session or None)
        elif profile:
            self._sign = lambda: MSKAuthTokenProvider.generate_auth_token_from_profile(region, profile)
        else:
            self._sign = lambda: MSKAuthTokenProvider.generate_auth_token(region)

    def __call__(self, _config: str | None = None) -> tuple[str, float]:
        """Return a token, and when it expires in seconds since the epoch."""
        if (first := self._first) is not None:
            self._first = None
            return first
        token, expires_ms = self._sign()
        return token, expires_ms / 1000

    def sign_first(self) -> None:
        """Sign the first token now: an error within librdkafka's callback would be a timeout without its reason.

        Raises:
            IllegalSetting: there are no credentials, or they cannot be used.
        """
        try:
            self._first = self()
        except Exception as error:
            raise IllegalSetting(
                f"login with AWS IAM: no token can be signed ({type(error).__name__}); legal are credentials that "
                "botocore finds (environment, profile, role of the machine): look at them on the driver and executors"
            ) from error


def _iam(module: LoginModule, settings: Settings, _handler: str, _retriever: str) -> dict[str, Any]:
    _refuse_others(module, IAM_OPTIONS)
    told = module.options
    if told.get("awsStsRegion") and not told.get("awsRoleArn"):
        raise IllegalSetting("sasl.jaas.config: awsStsRegion is for awsRoleArn, which is missing; leave it out")
    region = REGION.search(str(settings.get("bootstrap.servers", "")))
    found = region[1] if region else next((os.environ[each] for each in OF_THE_ENVIRONMENT if os.environ.get(each)), "")
    if not found:
        raise IllegalSetting(
            "sasl.jaas.config asks for a login with AWS IAM, and the region is unknown: bootstrap.servers has no "
            "name such as b-1.NAME.kafka.us-east-1.amazonaws.com; set AWS_REGION on the driver and on each executor"
        )
    tokens = IamTokens(
        found, told.get("awsProfileName", ""), told.get("awsRoleArn", ""), told.get("awsRoleSessionName", "")
    )
    return {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": tokens}


Translate = Callable[[LoginModule, Settings, str, str], dict[str, Any]]

MODULES: Final[Mapping[str, tuple[tuple[str, ...], Translate]]] = {
    f"{KAFKAS}plain.PlainLoginModule": (("PLAIN",), _password),
    f"{KAFKAS}scram.ScramLoginModule": (("SCRAM-SHA-256", "SCRAM-SHA-512"), _password),
    f"{KAFKAS}oauthbearer.OAuthBearerLoginModule": (("OAUTHBEARER",), _oauth),
    "com.sun.security.auth.module.Krb5LoginModule": (("GSSAPI",), _kerberos),
    f"{AMAZONS}IAMLoginModule": (("AWS_MSK_IAM",), _iam),
}
"""Login modules by class: their mechanisms, and the function that translates their options."""


# ---------------------------------------------------------------- settings

TRUST: Final = (
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
    "ssl.truststore.certificates",
)
OWN: Final = (
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.keystore.key",
    "ssl.keystore.certificate.chain",
)
TRUST_OF_LIBRDKAFKA: Final = ("ssl.ca.location", "ssl.ca.pem", "ssl.ca.certificate.stores")
OWN_OF_LIBRDKAFKA: Final = ("ssl.certificate.location", "ssl.certificate.pem", "ssl.key.location", "ssl.key.pem")


def translate_settings(settings: Settings) -> dict[str, Any]:
    """Return settings that librdkafka takes: logins and key stores of Java are read and replaced.

    Raises:
        IllegalSetting: they cannot be, or something is missing.
    """
    found = rename_settings(settings)
    protocol = str(found.get("security.protocol", "PLAINTEXT")).upper()
    if protocol not in PROTOCOLS:
        raise IllegalSetting(f"security.protocol is {protocol}; legal are {', '.join(PROTOCOLS)}")
    found = _translate_login(found)
    for javas, librdkafkas in ((TRUST, TRUST_OF_LIBRDKAFKA), (OWN, OWN_OF_LIBRDKAFKA)):
        given = [name for name in javas if name in found]
        if given and protocol not in TLS:
            raise IllegalSetting(
                f"{given[0]} is given, and security.protocol is {protocol}, which does not encrypt; legal are "
                f"{' and '.join(TLS)}: set security.protocol, or leave {given[0]} out"
            )
        for name in librdkafkas:
            if given and name in found:
                raise IllegalSetting(f"{given[0]} and {name} say the same; leave one of them out")
    if any(name in found for name in OWN):
        found |= read_own(found)
    if any(name in found for name in TRUST):
        found["ssl.ca.pem"] = read_trusted(*(found.pop(name, None) for name in TRUST), subject="ssl.truststore")
    algorithm = "ssl.endpoint.identification.algorithm"
    if algorithm in found:
        said = str(found[algorithm]).strip().lower() or "none"
        if said not in ("https", "none"):
            raise IllegalSetting(
                f"{algorithm} is {said}; legal are https, and nothing to accept any name in the certificate of a broker"
            )
        found[algorithm] = said
    if "TLS_" in str(found.get("ssl.cipher.suites", "")):
        raise IllegalSetting(
            "ssl.cipher.suites has Java's names; legal are OpenSSL's for TLS 1.2, such as ECDHE-RSA-AES128-GCM-SHA256 "
            "with colons between (those of TLS 1.3 cannot be chosen): leave it out, or restrict them on the broker"
        )
    return found
