"""A real Kafka on loopback as the subject of sequences: one node, raw requests, one connection."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from io import BytesIO
from pathlib import Path
from socket import MSG_PEEK, create_connection, socket
from typing import Any

from kio.serial import entity_reader, entity_writer

from tests.answers.recorder.messages import answer_of, made, request_of, topic_ids
from tests.answers.recorder.names import PARTITIONS, Names
from zombieproof.broker.authorization.principals import USER
from zombieproof.broker.cluster.journal import Decided
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.conformance.connections import RESOURCES
from zombieproof.conformance.recording import Recorded
from zombieproof.conformance.subject import (
    NOBODY,
    Authenticated,
    Closed,
    Credentials,
    Impossible,
    Role,
    Sender,
    Silence,
)
from zombieproof.conformance.symbols import place_transactional_id
from zombieproof.formats.topics import TRANSACTION_STATE, TopicPartition
from zombieproof.messages.groups import OffsetFetch
from zombieproof.messages.partitions import Fetch, FetchAnswer
from zombieproof.model.access import CLUSTER_NAME, EVERYTHING, AclOperation, PatternType, Permission, ResourceType
from zombieproof.model.vocabulary import NONE, Error, Isolation

AGAIN_FOR_S = 2.5
PAUSE_S = 0.05
PATIENCE_S = 6.0
TAKEN_S = 0.15
"""After so long a broker has taken a request that it may not answer."""
MOMENT_S = 0.4
"""An answer that has not come after so long waits for something."""
UNDER_WAY = ("PrepareCommit", "PrepareAbort")
EVERY_PID: dict[str, tuple[int, ...]] = {"producer_id_filters": ()}


class Connection:
    """One connection, one request at a time."""

    def __init__(self, host: str, port: int, user: str | None = None) -> None:
        self._host, self._port, self._user = host, port, user
        self._socket: socket | None = None
        self._number = 0
        self._kind: Any = None

    def ask(self, request: Any) -> Any:
        """The answer to a request of kio.

        Raises:
            ConnectionError: the broker closed the connection instead of answering.
            TimeoutError: it does not answer.
        """
        self.send(request)
        try:
            return self._answer(self._received_message())
        except TimeoutError:
            self.close()
            raise
        except OSError as error:
            self.close()
            raise ConnectionError(str(error)) from error

    def another(self, user: str | None = None) -> "Connection":
        """Another connection to the same broker, of the same user or another one."""
        return Connection(self._host, self._port, user or self._user)

    def _log_in(self) -> None:
        """Say who is here, by SASL/PLAIN; every user has his name for a password."""
        handshake = import_module("kio.schema.sasl_handshake.v1.request").SaslHandshakeRequest
        authenticate = import_module("kio.schema.sasl_authenticate.v2.request").SaslAuthenticateRequest
        token = f"\0{self._user}\0{self._user}".encode()
        for request in (made(handshake, {"mechanism": "PLAIN"}), made(authenticate, {"auth_bytes": token})):
            answer = self.ask(request)
            if int(answer.error_code) != Error.NONE:
                raise ConnectionError(f"user {self._user} is refused: error {int(answer.error_code)}")

    def send(self, request: Any) -> None:
        """Send a request of kio.

        Raises:
            ConnectionError: the broker has closed the connection.
        """
        kind = self._kind = type(request)
        self._number += 1
        header = made(
            kind.__header_schema__,
            {
                "request_api_key": kind.__api_key__,
                "request_api_version": kind.__version__,
                "correlation_id": self._number,
                "client_id": "recorder",
            },
        )
        out = BytesIO()
        entity_writer(type(header))(out, header)
        entity_writer(kind)(out, request)
        message = out.getvalue()
        try:
            if self._socket is None:
                self._socket = create_connection((self._host, self._port), timeout=PATIENCE_S)
                if self._user is not None:
                    self._log_in()
                    self._kind = kind
            self._socket.sendall(len(message).to_bytes(4, "big") + message)
        except OSError as error:
            self.close()
            raise ConnectionError(str(error)) from error

    def receive(self, patience_s: float) -> Any:
        """The answer to the last request; None: it has not begun to come within `patience_s`.

        Raises:
            ConnectionError: the broker closed the connection instead of answering.
        """
        if self._socket is None:
            raise ConnectionError("there is no connection")
        self._socket.settimeout(patience_s)
        try:
            if not self._socket.recv(1, MSG_PEEK):
                raise ConnectionResetError("the broker closed the connection")
            self._socket.settimeout(PATIENCE_S)
            return self._answer(self._received_message())
        except TimeoutError:
            return None
        except OSError as error:
            self.close()
            raise ConnectionError(str(error)) from error

    def _answer(self, data: bytes) -> Any:
        kind = self._kind
        module = import_module(kind.__module__.removesuffix("request") + "response")
        response = getattr(module, kind.__name__.removesuffix("Request") + "Response")
        _, at = entity_reader(response.__header_schema__)(data, 0)
        answer, _ = entity_reader(response)(data, at)
        return answer

    def _received_message(self) -> bytes:
        return self._received(int.from_bytes(self._received(4), "big"))

    def _received(self, size: int) -> bytes:
        assert self._socket is not None
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise ConnectionResetError("the broker closed the connection")
            data += part
        return data

    def close(self) -> None:
        """Hang up; the next request begins a new connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def wait_for_coordinators(connection: Connection) -> None:
    """Make the internal topics, as a cluster does when somebody asks who coordinates, and wait for their leaders."""
    find = import_module("kio.schema.find_coordinator.v3.request").FindCoordinatorRequest
    for key_type in (0, 1):
        while int(connection.ask(made(find, {"key": "any", "key_type": key_type})).error_code) != Error.NONE:
            time.sleep(PAUSE_S)


class RealBroker:
    """A broker for one sequence, whose topics are made first.

    Args:
        restart: stops the broker (clean or not) and starts it again; returns when it answers.
    """

    def __init__(self, recorded: Recorded, connection: Connection, run: str, restart: Callable[[bool], None]) -> None:
        self._connection, self._restart = connection, restart
        self.names = Names(run, recorded.sequence.topics)
        self._ids: set[str] = set()
        self._groups: set[str] = set()
        self._began_s = 0.0
        self._begun: dict[str, tuple[Request, Connection]] = {}
        self._come: dict[str, Answer | Closed] = {}
        self._users: dict[str, Connection] = {}
        rows = [
            {"name": self.names.topics[name], "num_partitions": count, "replication_factor": 1}
            for name, count in recorded.sequence.topics.items()
        ]
        wait_for_coordinators(connection)
        create = import_module("kio.schema.create_topics.v5.request")
        values = {"topics": [{**row, "assignments": [], "configs": []} for row in rows], "timeout": 10_000}
        connection.ask(made(create.CreateTopicsRequest, values))
        while not set(self.names.topics.values()) <= set(self.names.ids):
            self.names.ids |= topic_ids(self._metadata())
        every = {(topic, n): 0 for topic, count in recorded.sequence.topics.items() for n in range(count)}
        while not self._leads(every):
            time.sleep(PAUSE_S)
        self._epochs = [self._coordinator_epoch()]
        if recorded.sequence.security is not None:
            self._give_rights(recorded.sequence.security.acls)

    def _give_rights(self, rows: Sequence[Sequence[str]]) -> None:
        """These are the rights that there are; whatever was given before is gone."""
        delete = import_module("kio.schema.delete_acls.v3.request").DeleteAclsRequest
        create = import_module("kio.schema.create_acls.v3.request").CreateAclsRequest
        every = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
        nobody = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
        self._connection.ask(made(delete, {"filters": [{**every, **nobody}]}))
        creations = [
            {
                "resource_type": RESOURCES[resource],
                "resource_name": self._real_name(RESOURCES[resource], name, is_prefix=bool(prefixed)),
                "resource_pattern_type": PatternType.PREFIXED if prefixed else PatternType.LITERAL,
                "principal": f"{USER}:{user}",
                "host": EVERYTHING,
                "operation": AclOperation[operation],
                "permission_type": Permission[permission],
            }
            for user, permission, operation, resource, name, *prefixed in rows
        ]
        told = self._connection.ask(made(create, {"creations": creations}))
        wrong = [each for each in told.results if int(each.error_code) != Error.NONE]
        if wrong:
            raise Impossible(f"Kafka takes no such right: {wrong[0]}")
        time.sleep(MOMENT_S)

    def _real_name(self, resource: ResourceType, name: str, *, is_prefix: bool) -> str:
        if is_prefix or name in (EVERYTHING, CLUSTER_NAME):
            return name
        match resource:
            case ResourceType.TOPIC:
                return str(self.names.topic(name)["name"])
            case ResourceType.TRANSACTIONAL_ID:
                return self.names.transactional_id(name) or name
            case ResourceType.GROUP:
                return self.names.group(name)
        return name

    def _leads(self, partitions: dict[TopicPartition, int]) -> bool:
        """Whether the broker knows already that it leads what was just made."""
        told = self._ask(Fetch(11, Isolation.READ_COMMITTED, partitions))
        return isinstance(told, FetchAnswer) and all(row.error == Error.NONE for row in told.partitions.values())

    def _metadata(self) -> Any:
        kind = import_module("kio.schema.metadata.v12.request").MetadataRequest
        every = {"topics": None, "allow_auto_topic_creation": False, "include_topic_authorized_operations": False}
        return self._connection.ask(made(kind, every))

    def _coordinator_epoch(self) -> int:
        """That of x0's coordinator is the leader epoch of its partition."""
        at = place_transactional_id("x0", PARTITIONS)
        (topic,) = (row for row in self._metadata().topics if row.name == TRANSACTION_STATE)
        return next(int(row.leader_epoch) for row in topic.partitions if row.partition_index == at)

    def ask(self, request: Request, role: Role | None, sender: Sender = NOBODY) -> Answer | Closed | Silence:
        """Send a request, and wait until no transaction is between its decision and its last marker."""
        if role is not None:
            raise Impossible("one node has every role")
        answer = self._ask(request, self._connection_of(sender))
        self._ids |= {name for name in (getattr(request, "transactional_id", None),) if name}
        self._groups |= {name for name in (getattr(request, "group", None),) if name}
        self._settle()
        return answer

    def begin(self, request: Request, role: Role | None, name: str) -> None:
        """Send a request over a connection of its own; when this returns the broker has taken it."""
        if role is not None:
            raise Impossible("one node has every role")
        connection = self._connection.another()
        self._begun[name] = request, connection
        self._groups |= {group for group in (getattr(request, "group", None),) if group}
        connection.send(request_of(request, self.names, int(time.time() * 1000)))
        time.sleep(TAKEN_S)

    def answered(self, name: str) -> Answer | Closed | Silence:
        """What has come, or comes within a moment."""
        request, connection = self._begun[name]
        if name not in self._come:
            try:
                told = connection.receive(MOMENT_S)
            except ConnectionError:
                self._come[name] = Closed()
            else:
                if told is None:
                    return Silence()
                self._come[name] = answer_of(request, told, self.names)
        return self._come[name]

    def _connection_of(self, sender: Sender) -> Connection:
        if sender.connection is not None:
            raise Impossible("connections that begin unauthenticated are not asked here: the recordings have them")
        if sender.principal is None:
            return self._connection
        if sender.principal not in self._users:
            self._users[sender.principal] = self._connection.another(sender.principal)
        return self._users[sender.principal]

    def authenticate(self, credentials: Credentials, connection: str) -> Authenticated | Closed:
        """The recordings have that."""
        raise Impossible("connections that begin unauthenticated are not asked here: the recordings have them")

    def _ask(self, request: Request, connection: Connection | None = None) -> Answer | Closed | Silence:
        message = request_of(request, self.names, int(time.time() * 1000))
        try:
            return answer_of(request, (connection or self._connection).ask(message), self.names)
        except ConnectionError:
            return Closed()
        except TimeoutError:
            return Silence()

    def _settle(self) -> None:
        listing = import_module("kio.schema.list_transactions.v0.request")
        own = {self.names.transactional_id(name) for name in self._ids}
        until = time.monotonic() + AGAIN_FOR_S
        while self._ids and time.monotonic() < until:
            told = self._connection.ask(
                made(listing.ListTransactionsRequest, {"state_filters": UNDER_WAY, **EVERY_PID})
            )
            if not own & {row.transactional_id for row in told.transaction_states}:
                return
            time.sleep(PAUSE_S)

    def go_on(self, attempt: int) -> bool:
        """Whether to send a request again: for as long as the recordings did."""
        if attempt == 1:
            self._began_s = time.monotonic()
        time.sleep(PAUSE_S)
        return time.monotonic() - self._began_s < AGAIN_FOR_S

    def pass_time(self, milliseconds: int, *, until_ended: str | None = None) -> None:
        """Wait."""
        time.sleep(milliseconds / 1000)

    def restart(self, clean: bool) -> None:
        """Stop or kill the broker, and start it again on its data."""
        self._connection.close()
        self._restart(clean)
        wait_for_coordinators(self._connection)
        self._epochs.append(self._coordinator_epoch())
        for group in self._groups:
            while getattr(self._ask(OffsetFetch(7, group, False, ())), "error", NONE) != Error.NONE:
                time.sleep(PAUSE_S)

    def move(self, role: Role) -> None:
        """There is one node."""
        raise Impossible("there is one node")

    stop = kill = move

    def give_back(self) -> None:
        """There is one node."""
        raise Impossible("there is one node")

    def coordinator_epochs(self) -> Sequence[int]:
        """As the metadata told after each start."""
        return self._epochs

    def close(self) -> None:
        """The broker lives on."""

    def decisions(self) -> Sequence[Decided]:
        """They cannot be seen."""
        return ()


def restarter(command: Sequence[str], folder: str) -> Callable[[bool], None]:
    """Stops the broker whose process id is in ``folder/pid``, in order or not, and starts it again by `command`."""

    def restart(clean: bool) -> None:
        pid = int(Path(folder, "pid").read_text(encoding="ascii"))
        os.kill(pid, signal.SIGTERM if clean else signal.SIGKILL)
        while _is_alive(pid):
            time.sleep(PAUSE_S)
        # Whoever waits for the broker reads there that it has started.
        Path(folder, "logs/server.log").write_text("", encoding="utf-8")
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    return restart


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
