"""The subject behind sockets: the brokers of `in_process`, each of which listens, asked by bytes.

Theory of operation: a thread has the loop of the server; this one writes requests and reads answers. Time and faults
are commands to the cluster, given while nothing is asked. Whether an answer is still to come is known without waiting:
when the server has taken a request and its turn is over, the answer lies in the socket, or there is none yet.
"""

from dataclasses import dataclass, field

from zombieproof.broker.authorization.mechanisms import Plain
from zombieproof.broker.authorization.principals import Principal
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Answer, Exchange, Request
from zombieproof.broker.embedded import IN_MEMORY, TICK_MS, Done, Unsynced
from zombieproof.conformance.connections import APIS, PASSWORD, USERS, understands
from zombieproof.conformance.in_process import InProcess
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
from zombieproof.conformance.symbol_names import SymbolNames
from zombieproof.messages.partitions import Produce
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.wire.apis import api_versions
from zombieproof.wire.asking import Asking, entity_in, frame_of
from zombieproof.wire.background import PATIENCE_S, Background
from zombieproof.wire.entities import plain
from zombieproof.wire.frames import HEADER, SIZE
from zombieproof.wire.names import TopicNames
from zombieproof.wire.security import OPEN, Security
from zombieproof.wire.server import Server

CLIENT_ID = "conformance"


@dataclass(slots=True)
class Hosted:
    """A cluster whose time and faults another thread commands, while it hands in nothing."""

    cluster: Cluster
    submitted: list[tuple[Request, int | None, Done, Principal | None]] = field(default_factory=list)
    waiting: dict[int, tuple[Exchange, Done]] = field(default_factory=dict)
    cluster_id: str = IN_MEMORY
    next_ms: int = TICK_MS

    def __post_init__(self) -> None:
        """Whoever is answered is told."""
        self.cluster.network.over = []

    def submit(
        self,
        request: Request,
        node: int | None,
        done: Done,
        client_id: str = "",
        principal: Principal | None = None,
    ) -> None:
        """Hand in a request, for the next turn."""
        self.submitted.append((request, node, done, principal))

    def begin_turn(self) -> Unsynced:
        """Deliver what came, let everything arrive, and tell whoever is answered."""
        network = self.cluster.network
        while self.submitted or network.over:
            taken, self.submitted = self.submitted, []
            for request, node, done, principal in taken:
                exchange = self.cluster.send(request, node, principal)
                self.waiting[exchange.number] = exchange, done
            if taken:
                self.cluster.settle()
            over, network.over = network.over or [], []
            for number in over:
                network.exchanges.pop(number, None)
                exchange, done = self.waiting.pop(number)
                if exchange.is_over:
                    done(exchange.answer)
        return Unsynced([])

    def end_turn(self, unsynced: Unsynced) -> None:
        """Everything is in memory."""


class OverWire(InProcess):
    """A cluster of interpreted brokers for one sequence, behind sockets.

    With users and rights whoever asks logs in first, on a connection of his own for each node.

    Raises:
        RecordingError: as in process.
    """

    def __init__(self, recorded: Recorded) -> None:
        super().__init__(recorded)
        plain = Security({"PLAIN": Plain(dict.fromkeys(USERS, PASSWORD))})
        self._server = Server(Hosted(self.cluster), security=OPEN if recorded.sequence.security is None else plain)
        self._background = Background(self._server)
        metadata = self.cluster.metadata
        self._kafka = recorded.sequence.kafka
        self._names = SymbolNames(TopicNames(metadata.topic_ids, metadata.topic_names))
        self._connections: dict[tuple[int, Sender], Asking] = {}
        self._sender = NOBODY
        self._later: dict[str, tuple[Request, Asking]] = {}

    def close(self) -> None:
        """Nobody listens any more."""
        for each in [*self._connections.values(), *(each for _, each in self._later.values())]:
            each.close()
        self._background.close()

    # ---------------------------------------------------------------- requests

    def ask(self, request: Request, role: Role | None, sender: Sender = NOBODY) -> Answer | Closed | Silence:
        """Ask as somebody."""
        self._journal.clear()
        self._sender = sender
        return self._asked(request, role)

    def authenticate(self, credentials: Credentials, connection: str) -> Authenticated | Closed:
        """Say it on a connection."""
        self._journal.clear()
        place = self._first_up(), Sender(connection=connection)
        asking = self._connection(*place)
        answer = self._told(asking, credentials)
        if isinstance(answer, Closed):
            self._connections.pop(place).close()
        return answer

    def _told(self, asking: Asking, credentials: Credentials) -> Authenticated | Closed:
        try:
            self._deliver(asking, _frame_of(credentials))
            return _authenticated(credentials, asking.receive_frame(waits=False), understands(self._kafka, credentials))
        except ConnectionError:
            return Closed()

    def begin(self, request: Request, role: Role | None, name: str) -> None:
        """Ask over a connection of its own."""
        self._journal.clear()
        node = self._receiver(request) if role is None else self._node(role)
        connection = self._connected(self._first_up() if node is None else node)
        self._later[name] = request, connection
        self._send(connection, request)

    def answered(self, name: str) -> Answer | Closed | Silence:
        """What has come by now."""
        request, connection = self._later[name]
        self._background.let_turn()
        return _received(connection, request)

    def _ask(self, request: Request, node: int | None) -> Answer | Closed | Silence:
        receiver = self._first_up() if node is None else node
        connection = self._connection(receiver, self._sender)
        self._send(connection, request)
        answer = _received(connection, request)
        goes_on = isinstance(answer, Silence) and isinstance(request, Produce) and request.acks == 0
        if isinstance(answer, Closed | Silence) and not goes_on:
            self._connections.pop((receiver, self._sender)).close()
        return answer

    def _connection(self, node: int, sender: Sender) -> Asking:
        """The connection of somebody to a node; a principal has logged in on it."""
        if (node, sender) not in self._connections:
            found = self._connections[node, sender] = self._connected(node)
            if sender.principal is not None:
                token = f"\0{sender.principal}\0{PASSWORD}".encode()
                self._told(found, Credentials("SaslHandshake", 1, "PLAIN"))
                self._told(found, Credentials("SaslAuthenticate", 2, token=token))
        return self._connections[node, sender]

    def _first_up(self) -> int:
        if not self.cluster.brokers:
            raise Impossible("nobody is up, so nobody can be asked")
        return min(self.cluster.brokers)

    def _connected(self, node: int) -> Asking:
        """A connection that the server knows of."""
        if node not in self._background.addresses:
            raise Impossible(f"node {node} cannot be asked; nodes are {sorted(self._background.addresses)}")
        peers = len(self._server.connections)
        connection = Asking(self._background.addresses[node], CLIENT_ID, self._names, PATIENCE_S)
        while len(self._server.connections) == peers:
            self._background.let_turn()
        return connection

    def _send(self, connection: Asking, request: Request) -> None:
        """Send a request; when this returns the server has taken it, and what follows from it has happened."""
        self._deliver(connection, connection.frame_of(request))

    def _deliver(self, connection: Asking, frame: bytes) -> None:
        if connection.is_over:
            # Nobody takes it, and what is received then is the end.
            return
        taken, peers = self._server.requests, len(self._server.connections)
        connection.send_frame(frame)
        while self._server.requests == taken and len(self._server.connections) >= peers:
            self._background.let_turn()
        self._background.let_turn()


def _frame_of(credentials: Credentials) -> bytes:
    api, version = APIS[credentials.api], credentials.version
    if api == NONE:
        return SIZE.pack(len(credentials.token)) + credentials.token
    if api == ApiKey.API_VERSIONS and version not in api_versions.VERSIONS:
        header = HEADER.pack(api, version, 1, NONE)
        return SIZE.pack(len(header)) + header
    software = {"client_software_name": CLIENT_ID, "client_software_version": "1"}
    values = {**software, "mechanism": credentials.mechanism, "auth_bytes": credentials.token}
    return frame_of(ApiKey(api), version, values, 1, CLIENT_ID)


def _authenticated(credentials: Credentials, frame: bytes, is_understood: bool) -> Authenticated:
    """What is told in a frame; a version that the broker does not understand is answered in version 0."""
    api, version = APIS[credentials.api], credentials.version
    if api == NONE:
        return Authenticated(int(Error.NONE), token=frame)
    answer = entity_in(frame, ApiKey(api), version if is_understood else 0)
    return Authenticated(
        plain(answer.error_code),
        getattr(answer, "mechanisms", ()),
        getattr(answer, "auth_bytes", b""),
        plain(getattr(answer, "session_lifetime", 0)),
    )


def _received(connection: Asking, request: Request) -> Answer | Closed | Silence:
    """What lies in the socket."""
    try:
        return connection.receive(request, waits=False)
    except BlockingIOError:
        return Silence()
    except ConnectionError:
        return Closed()
