"""Who is asked in a scene, by bytes: a real Kafka on loopback, or a broker of ours without a socket.

Requests and answers are plain values under kio's names. One side may be asked several things at once (`begin`).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from socket import create_connection
from typing import Any, Protocol

from tests.wire.raw import Values, answer_values, request_bytes
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Exchange
from zombieproof.broker.cluster.settings import Settings
from zombieproof.model.rules import preset_for
from zombieproof.model.vocabulary import ApiKey, Error
from zombieproof.wire.api import Address, Around
from zombieproof.wire.faults import Malformed
from zombieproof.wire.frames import SIZE
from zombieproof.wire.front import Asked, Front

CLIENT_ID = "scene"
HOST = "127.0.0.1"
PATIENCE_S = 5.0
PAUSE_S = 0.05
CLOSED = {"closed": True}
NOT_YET = frozenset({Error.COORDINATOR_NOT_AVAILABLE, Error.NOT_COORDINATOR, Error.COORDINATOR_LOAD_IN_PROGRESS})


class Later(Protocol):
    """A request that was sent."""

    def answer(self) -> Any:
        """What it is answered; `CLOSED` where the connection ended instead."""
        ...

    def is_silent(self) -> bool:
        """Whether there is no answer yet."""
        ...


class Side(Protocol):
    """Who is asked. Each request has a connection of its own."""

    release: str

    def begin(self, api: ApiKey, version: int, values: Values) -> Later:
        """Send a request."""
        ...

    def create(self, topic: str, partitions: int) -> None:
        """Make a topic, and wait until it is led."""
        ...

    def pass_time(self, milliseconds: int) -> None:
        """Let time pass."""
        ...


# ---------------------------------------------------------------- a real Kafka


class _Sent:
    def __init__(self, port: int, api: ApiKey, version: int, values: Values) -> None:
        self._api, self._version = api, version
        self._socket = create_connection((HOST, port), timeout=PATIENCE_S)
        message = request_bytes(api, version, values, CLIENT_ID)
        self._socket.sendall(SIZE.pack(len(message)) + message)

    def answer(self) -> Any:
        try:
            return answer_values(self._api, self._version, self._received(SIZE.unpack(self._received(4))[0]))
        except ConnectionError:
            return CLOSED
        finally:
            self._socket.close()

    def is_silent(self) -> bool:
        self._socket.settimeout(0.3)
        try:
            self._socket.recv(1, 2)  # MSG_PEEK
        except TimeoutError:
            return True
        else:
            return False
        finally:
            self._socket.settimeout(PATIENCE_S)

    def _received(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise ConnectionResetError("the broker closed the connection")
            data += part
        return data


class RealKafka:
    """A broker that listens on loopback."""

    def __init__(self, release: str, port: int) -> None:
        self.release, self._port = release, port
        for key, key_type in (("any", 0), ("any", 1)):
            while self._ask(ApiKey.FIND_COORDINATOR, 1, {"key": key, "key_type": key_type})["error_code"]:
                time.sleep(PAUSE_S)
        for group in map(str, range(8)):
            while self._ask(ApiKey.HEARTBEAT, 1, {"group_id": group, "member_id": "nobody"})["error_code"] in NOT_YET:
                time.sleep(PAUSE_S)

    def begin(self, api: ApiKey, version: int, values: Values) -> Later:
        """Send a request."""
        return _Sent(self._port, api, version, values)

    def _ask(self, api: ApiKey, version: int, values: Values) -> Any:
        return self.begin(api, version, values).answer()

    def create(self, topic: str, partitions: int) -> None:
        """Make a topic, and wait until it is led."""
        self._ask(*creation(topic, partitions))
        every = [{"partition": n, "partition_max_bytes": 1} for n in range(partitions)]
        asked = {"max_bytes": 1, "topics": [{"topic": topic, "partitions": every}]}
        while True:
            (told_,) = self._ask(ApiKey.FETCH, 11, asked)["responses"]
            if not any(row["error_code"] for row in told_["partitions"]):
                return
            time.sleep(PAUSE_S)

    def pass_time(self, milliseconds: int) -> None:
        """Wait."""
        time.sleep(milliseconds / 1000)


def creation(topic: str, partitions: int) -> tuple[ApiKey, int, Values]:
    """How a topic is made whose records may be as old as they like."""
    config = {"name": "retention.ms", "value": "-1"}
    row = {"name": topic, "num_partitions": partitions, "replication_factor": 1, "configs": [config]}
    return ApiKey.CREATE_TOPICS, 5, {"topics": [row], "timeout": 10_000}


# ---------------------------------------------------------------- one of ours


@dataclass
class _Submitted:
    side: "Ours"
    asked: Asked | None
    exchanges: Sequence[Exchange]

    def answer(self) -> Any:
        self.side.cluster.settle()
        if self.asked is None or any(each.is_closed for each in self.exchanges):
            return CLOSED
        answers = [each.answer for each in self.exchanges]
        assert None not in answers, f"{self.asked.api.name} is not answered"
        frame = self.side.front.answered(self.asked, tuple(each for each in answers if each is not None))
        assert SIZE.unpack_from(frame)[0] == len(frame) - SIZE.size
        return answer_values(self.asked.api, self.asked.header.version, frame[SIZE.size :])

    def is_silent(self) -> bool:
        self.side.cluster.settle()
        return any(not each.is_over for each in self.exchanges)


class Ours:
    """A broker of ours, with the settings of the real one."""

    def __init__(self, release: str, transaction_version: int) -> None:
        self.release = release
        settings = Settings(
            transaction_state_log_num_partitions=2, offsets_topic_num_partitions=2, group_initial_rebalance_delay_ms=0
        )
        self._clock = ManualClock(1_800_000_000_000)
        rules = preset_for(release, transaction_version)
        self.cluster = Cluster(1, rules, settings, clock=self._clock, release=release)
        around = Around(self.cluster.metadata, {1: Address(HOST, 9092)}, "scenes", lambda: self.cluster.brokers)
        self.front = Front(self.cluster, 1, around)

    def begin(self, api: ApiKey, version: int, values: Values) -> Later:
        """Hand in a request."""
        try:
            asked = self.front.ask(request_bytes(api, version, values, CLIENT_ID), HOST)
        except Malformed:
            return _Submitted(self, None, ())
        sent = [self.cluster.send(each, 1) for each in asked.messages]
        self.cluster.settle()
        return _Submitted(self, asked, sent)

    def create(self, topic: str, partitions: int) -> None:
        """Make a topic."""
        self.cluster.create_topic(topic, partitions)

    def pass_time(self, milliseconds: int) -> None:
        """Move the clock, and let what was due happen."""
        self._clock.advance(milliseconds)
        self.cluster.sweep()
        self.cluster.settle()
