"""Options of `zombieproof serve` for access: users and ACLs, TLS, listen and advertised addresses."""

import ipaddress
import re
from pathlib import Path
from typing import Any

from zombieproof.broker.acls import AccessFile, AccessFileError, read_access
from zombieproof.cli.usage import WrongUsage


def users_and_rights(file: Path | None) -> AccessFile | None:
    """Read the ACL file; None without one.

    Raises:
        WrongUsage: the file is not valid.
    """
    try:
        return None if file is None else read_access(file)
    except AccessFileError as error:
        raise WrongUsage(f"--acl {error}") from error


def security(users: AccessFile | None, cert: Path | None, key: Path | None, client_ca: Path | None) -> Any:
    """Build the security settings of listeners (`wire.security.Security`).

    Raises:
        WrongUsage: a TLS file is missing or not valid.
    """
    from zombieproof.wire.certificates import TlsError, server_context  # noqa: PLC0415  # TLS is rarely asked for
    from zombieproof.wire.security import Security  # noqa: PLC0415

    if cert is None and (key is not None or client_ca is not None):
        raise WrongUsage("--tls-key and --tls-client-ca need --tls-cert: give the certificate too")
    try:
        tls = None if cert is None else server_context(cert, key, client_ca)
    except TlsError as error:
        raise WrongUsage(f"TLS: {error}") from error
    return Security({} if users is None else users.mechanisms(), tls)


def may_listen(host: str, guarded: Any) -> None:
    """Refuse to listen for other machines without authentication or TLS.

    Raises:
        WrongUsage: `host` is not a loopback address, and neither TLS nor SASL is on.
    """
    try:
        is_own = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_own = False
    if not is_own and not guarded.mechanisms and guarded.tls is None:
        raise WrongUsage(
            f"--host {host} is not a loopback address, and anyone who can reach it would have full access: give "
            "127.0.0.1 or ::1, require a login (--acl FILE, users with passwords), or use TLS (--tls-cert FILE)"
        )


def may_advertise(host: str, advertised_host: str | None) -> None:
    """Check that clients can connect to the advertised address (``advertised.listeners``).

    Raises:
        WrongUsage: the address is a wildcard, or not a valid host name.
    """
    if advertised_host is None:
        if _is_every(host):
            raise WrongUsage(
                f"--host {host} stands for every address of this machine, so clients cannot connect to it: give the "
                "name or address by which they reach this machine (--advertised-host NAME)"
            )
    elif _is_every(advertised_host):
        raise WrongUsage(
            f"--advertised-host {advertised_host} stands for every address of a machine, so clients cannot connect "
            "to it; give a name or address by which they reach this machine"
        )
    elif not _HOST.fullmatch(advertised_host):
        raise WrongUsage(
            f"--advertised-host {advertised_host!r} is not a valid host name; give a name or address without a port "
            "(each broker advertises its own port)"
        )


_HOST = re.compile(r"[-.\w]{1,255}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(%\w+)?")
"""A host name, an IPv4 address, or an IPv6 address with at least two colons."""


def _is_every(host: str) -> bool:
    """Return whether an address is a wildcard; the empty string is one."""
    try:
        return not host or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
