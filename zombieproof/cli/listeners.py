"""What `zombieproof serve` is told of who may come: users and rights, TLS, and at which address it may listen."""

import ipaddress
import re
from pathlib import Path
from typing import Any

from zombieproof.broker.acls import AccessFile, AccessFileError, read_access
from zombieproof.cli.usage import WrongUsage


def users_and_rights(file: Path | None) -> AccessFile | None:
    """What the file says; None: there is none.

    Raises:
        WrongUsage: it cannot be used.
    """
    try:
        return None if file is None else read_access(file)
    except AccessFileError as error:
        raise WrongUsage(f"--acl {error}") from error


def security(users: AccessFile | None, cert: Path | None, key: Path | None, client_ca: Path | None) -> Any:
    """What listeners demand (`wire.security.Security`).

    Raises:
        WrongUsage: the files of TLS are none, or one is missing.
    """
    from zombieproof.wire.certificates import TlsError, server_context  # noqa: PLC0415  # TLS is rarely asked for
    from zombieproof.wire.security import Security  # noqa: PLC0415

    if cert is None and (key is not None or client_ca is not None):
        raise WrongUsage("--tls-key and --tls-client-ca are nothing without --tls-cert: give the certificate too")
    try:
        tls = None if cert is None else server_context(cert, key, client_ca)
    except TlsError as error:
        raise WrongUsage(f"TLS: {error}") from error
    return Security({} if users is None else users.mechanisms(), tls)


def may_listen(host: str, guarded: Any) -> None:
    """See that nobody from elsewhere comes in unasked.

    Raises:
        WrongUsage: `host` is no loopback address, and neither TLS nor SASL is on.
    """
    try:
        is_own = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_own = False
    if not is_own and not guarded.mechanisms and guarded.tls is None:
        raise WrongUsage(
            f"--host {host} is no loopback address, and whoever reaches it may do everything: give 127.0.0.1 or ::1, "
            "or have clients log in (--acl FILE with users that have passwords), or TLS (--tls-cert FILE)"
        )


def may_advertise(host: str, advertised_host: str | None) -> None:
    """See that clients are told of an address that they can connect to (``advertised.listeners``).

    Raises:
        WrongUsage: what they would be told stands for every address of this machine, or is none.
    """
    if advertised_host is None:
        if _is_every(host):
            raise WrongUsage(
                f"--host {host} is every address of this machine, and clients cannot be told to connect to that: say "
                "by which name or address they reach it (--advertised-host NAME)"
            )
    elif _is_every(advertised_host):
        raise WrongUsage(
            f"--advertised-host {advertised_host} is no address to connect to: it stands for every address of a "
            "machine; legal is a name or an address by which clients reach it"
        )
    elif not _HOST.fullmatch(advertised_host):
        raise WrongUsage(
            f"--advertised-host {advertised_host!r} is no name of a host: legal is a name or an address by which "
            "clients reach it, without a port (brokers tell the ports that they listen at)"
        )


_HOST = re.compile(r"[-.\w]{1,255}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(%\w+)?")
"""A name, an address, or one of IPv6: colons, at least two."""


def _is_every(host: str) -> bool:
    """Whether it is the address that stands for all; nothing is every address as well."""
    try:
        return not host or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
