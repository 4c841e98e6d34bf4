"""Sockets that listen, and refuse a connection where the process can open no more files.

A loop of asyncio that is out of files does not take the connection, so it stays in the queue, is reported again at
once, and each report plans a hundred new attempts. Here one descriptor is kept in reserve: with it the connection is
taken, and closed.
"""

import errno
import logging
import os
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from zombieproof import system

LOG = logging.getLogger("zombieproof.serve")
BACKLOG = 128
"""Connections that may wait until they are accepted."""
_OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)
_NO_SUCH_ADDRESS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
"""A host may have addresses of IPv6 that this machine does not have."""


class CannotListen(OSError):
    """The port is taken, or the host is none of this machine."""


class Listening(socket.socket):
    """A socket of which `accept` closes the next connection where no file can be opened for it."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._reserve: int | None = os.open(os.devnull, os.O_RDONLY)
        self._refused = 0

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection.

        Raises:
            BlockingIOError: there is none now; one may have been refused.
            OSError: as `socket.accept`.
        """
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in _OUT_OF_FILES:
                raise
            self._refuse(error)
            raise BlockingIOError(errno.EWOULDBLOCK, "the connection was refused") from error

    def _refuse(self, error: OSError) -> None:
        self._refused += 1
        if self._refused & (self._refused - 1) == 0:
            LOG.warning("%s: %d connections were refused (see ulimit -n)", error.strerror, self._refused)
        if self._reserve is not None:
            os.close(self._reserve)
        with suppress(OSError):
            super().accept()[0].close()
        self._reserve = None
        with suppress(OSError):
            self._reserve = os.open(os.devnull, os.O_RDONLY)

    def close(self) -> None:
        """Listen no more."""
        if self._reserve is not None:
            os.close(self._reserve)
            self._reserve = None
        super().close()


def listening(host: str, port: int) -> list[Listening]:
    """Sockets at every address of a host that this machine has, all at one port; 0: any that is free.

    Raises:
        CannotListen: see there.
    """
    sockets, missing = list[Listening](), OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
    try:
        for family, address in _addresses(host, port):
            try:
                sockets.append(_listening_at(family, address, port))
                port = sockets[-1].getsockname()[1]
            except OSError as error:
                if error.errno not in _NO_SUCH_ADDRESS:
                    raise
                missing = error
        if not sockets:
            raise missing
    except OSError as error:
        for made in sockets:
            made.close()
        raise CannotListen(error.errno, error.strerror or str(error)) from error
    return sockets


def _listening_at(family: socket.AddressFamily, address: Any, port: int) -> Listening:
    made = Listening(family, socket.SOCK_STREAM)
    try:
        if system.NAME != "Windows":  # where it would take a port from others
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((address[0], port, *address[2:]))
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    return made


def _addresses(host: str, port: int) -> Iterable[tuple[socket.AddressFamily, Any]]:
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return dict.fromkeys((family, address) for family, _, _, _, address in found)
