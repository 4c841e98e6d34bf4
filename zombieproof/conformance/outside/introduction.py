"""The first question to whoever listens somewhere: which versions and features it speaks, and why it is no broker."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from zombieproof.conformance.outside.bootstrap import spoken
from zombieproof.conformance.symbol_names import SymbolNames
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.wire.api import Address
from zombieproof.wire.asking import Asking
from zombieproof.wire.faults import Malformed

CLIENT_ID: Final = "zombieproof-conform"
FIRST_PATIENCE_S: Final = 10.0
"""How long a broker may take to say what it is."""
SOFTWARE: Final = {"client_software_name": "zombieproof", "client_software_version": "conform"}


class Unreachable(Exception):
    """Nobody that speaks Kafka's protocol answers there, or not any more."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a broker says of itself: the versions of each API by its key, and the levels of its features."""

    versions: Mapping[int, range]
    features: Mapping[str, int]

    @property
    def transaction_version(self) -> int:
        """The level of ``transaction.version``; one that does not have the feature is at 0."""
        return self.features.get("transaction.version", 0)

    def newest(self, api: ApiKey, ours: int) -> int:
        """The newest version of an API that is spoken and not newer than `ours`; NONE: there is none."""
        spoken_by_it = self.versions.get(int(api), range(0))
        return min(ours, spoken_by_it[-1]) if spoken_by_it and spoken_by_it[0] <= ours else NONE


def first_answer(addresses: Sequence[Address], names: SymbolNames, patience_s: float) -> tuple[Asking, Spoken]:
    """The first broker that says what it speaks.

    Raises:
        Unreachable: none does.
    """
    faults = []
    for address in addresses:
        try:
            return _introduced(address, names, patience_s)
        except (OSError, Malformed) as error:
            faults.append(f"{spoken(address)}: {_why(error, patience_s)}")
    raise Unreachable("; ".join(faults))


def _introduced(address: Address, names: SymbolNames, patience_s: float) -> tuple[Asking, Spoken]:
    for version in (3, 0):
        connection = Asking(address, CLIENT_ID, names, patience_s)
        try:
            found = connection.entity(ApiKey.API_VERSIONS, version, SOFTWARE if version else {})
        except Malformed:
            # A broker that does not know a version answers in version 0.
            connection.close()
            if not version:
                raise
            continue
        except BaseException:
            connection.close()
            raise
        if int(found.error_code.value) == Error.NONE:
            versions = {int(row.api_key): range(row.min_version, row.max_version + 1) for row in found.api_keys}
            features = {row.name: row.max_version_level for row in getattr(found, "finalized_features", ())}
            return connection, Spoken(versions, features)
        connection.close()
    raise Malformed(f"ApiVersions is answered with {named(found.error_code)}")


def named(code: Any) -> str:
    """An error code of kio by Kafka's name."""
    number = int(code.value)
    return Error(number).name if number in set(Error) else f"error {number}"


def said(error: Exception) -> str:
    """What the system says of an error."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _why(error: Exception, patience_s: float) -> str:
    match error:
        case TimeoutError():
            return f"nothing was answered within {patience_s:g} s; give the address of a broker's plaintext listener"
        case ConnectionResetError() | BrokenPipeError():
            return (
                "the connection was ended instead of an answer to ApiVersions; a listener with TLS does so: "
                "only plaintext listeners without authentication can be asked"
            )
        case Malformed():
            return f"this is no broker of Kafka: {error}; give HOST:PORT of a broker's plaintext listener"
    return said(error)
