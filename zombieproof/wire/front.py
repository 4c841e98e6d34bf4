"""Who speaks for a broker: takes a request as bytes, has it answered by the broker, and gives the answer as bytes.

Theory of operation: no socket and no clock is here. `ask` reads a request and says which messages of ours it is; when
all of them are answered, `answered` writes the answer. What a broker's release does not understand ends the connection,
as it does in Kafka; only ApiVersions tells what would have been understood.
Source: ``SocketServer.scala``, ``RequestContext.java``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from struct import Struct
from typing import Any
from uuid import UUID

from zombieproof.broker.authorization.principals import ANONYMOUS, Principal
from zombieproof.broker.cluster.cluster import Cluster
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.messages.groups import ConsumerGroupHeartbeat, JoinGroup
from zombieproof.messages.partitions import Produce
from zombieproof.model.api_versions import offered_versions, understood_versions
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import SAYS_NOTHING, Around, Values, WireApi
from zombieproof.wire.apis import WIRE_APIS, api_versions
from zombieproof.wire.counts import checked
from zombieproof.wire.entities import entity_class, name_of, read
from zombieproof.wire.faults import Malformed
from zombieproof.wire.frames import SIZE, Header, behind_tags, read_header
from zombieproof.wire.names import NamesOfARequest
from zombieproof.wire.responses import Output, Response
from zombieproof.wire.writing import NO_TAGS, Writer

BEGIN_OF_ANSWER = Struct(">ii")
"""Its size, and the number of its request."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of a connection: its header, its fields, and the messages of ours that it is; none: ask nobody.

    `data`: the answer, where it is known already; `ends`: the connection ends with it, or without one. `said`: the ids
    by which it has named topics.
    """

    header: Header
    entity: Any
    messages: tuple[Request, ...]
    data: bytes | None = None
    ends: bool = False
    said: Mapping[str, UUID] = field(default_factory=dict)

    @property
    def api(self) -> ApiKey:
        """Which API it is of."""
        return ApiKey(self.header.api_key)

    @property
    def wants_answer(self) -> bool:
        """Whether anything is answered: a Produce with acks 0 is not."""
        return not (self.messages and isinstance(self.messages[0], Produce) and self.messages[0].acks == 0)


class Front:
    """What speaks for one broker of a cluster.

    Args:
        cluster: whose broker it is.
        node: which.
        around: what answers are made of besides what the broker says.
    """

    def __init__(self, cluster: Cluster, node: int, around: Around) -> None:
        self._cluster, self.node, self._around = cluster, node, around.at(node)

    @property
    def release(self) -> str:
        """The release that the broker is."""
        return self._cluster.release_of(self.node)

    def offered(self) -> Mapping[ApiKey, range]:
        """The versions that this broker says it understands."""
        return offered(self.release, self._cluster.settings.unstable_api_versions_enable)

    # ---------------------------------------------------------------- requests

    def ask(self, frame: bytes, host: str = "") -> Asked:
        """What is asked, by somebody at `host`.

        Raises:
            Malformed: it is no request, or none that the broker understands: the connection ends.
        """
        header = read_header(frame)
        if header.api_key == ApiKey.API_VERSIONS:
            return Asked(header, self._api_versions(header, frame), ())
        api = self._api(header)
        entity, names = self._entity(api, header, frame), NamesOfARequest(self._around.names)
        try:
            messages = WIRE_APIS[api].to_messages(entity, header.version, names)
        except ValueError as error:
            raise Malformed(f"{name_of(api)} {header.version}: {error}") from error
        named = tuple([_named(each, header.client_id or "", host) for each in messages])
        return Asked(header, entity, named, said=names.said)

    def _api(self, header: Header) -> ApiKey:
        known = _BY_NUMBER.get(header.api_key)
        if known is None:
            raise Malformed(f"there is no API {header.api_key} here")
        understood = understood_versions(self.release, known.key)
        if header.version not in known.versions or understood is None or header.version not in understood:
            raise Malformed(f"{name_of(known.key)} {header.version} is not understood by Kafka {self.release}")
        return known.key

    def _entity(self, api: ApiKey, header: Header, frame: bytes) -> Any:
        kind = entity_class(api, header.version, "request")
        at = behind_tags(frame, header.end) if kind.__flexible__ else header.end
        data = checked(kind, frame, at)
        # What follows the fields is not looked at, as Kafka does: librdkafka's Metadata of all topics has 3 more.
        entity, _ = read(kind, data)
        return entity

    def _api_versions(self, header: Header, frame: bytes) -> Any:
        """None: a version that this broker does not understand."""
        understood = understood_versions(self.release, ApiKey.API_VERSIONS)
        if understood is None or header.version not in understood:
            return None
        return self._entity(ApiKey.API_VERSIONS, header, frame)

    # ---------------------------------------------------------------- answers

    def answered(self, asked: Asked, answers: tuple[Answer, ...], who: Principal | None = None) -> bytes:
        """The frame of the answer to a request of `who`, from those to its messages."""
        return self.response(asked, answers, who).whole()

    def response(self, asked: Asked, answers: tuple[Answer, ...], who: Principal | None = None) -> Response:
        """The same, as pieces."""
        header = asked.header
        if header.api_key == ApiKey.API_VERSIONS:
            return Response(self.versions(asked))
        access, around = self._cluster.access, self._around
        if access is not None:
            around = around.of(partial(access.may, who or ANONYMOUS), access, self._cluster.set_access)
        around = around.with_said(asked.said)
        values = WIRE_APIS[asked.api].to_values(asked.entity, answers, header.version, around)
        return _response(asked.api, header.version, header.correlation_id, values)

    @staticmethod
    def told(asked: Asked, values: Values) -> bytes:
        """The frame of the answer to a request, from what it says."""
        return _frame(asked.api, asked.header.version, asked.header.correlation_id, values)

    def versions(self, asked: Asked, *, compares_node: bool = True) -> bytes:
        """The frame of the answer to an ApiVersions; `compares_node`: with the node that the client means."""
        header, offers = asked.header, self.offered()
        if asked.entity is None:
            values = api_versions.unsupported(offers)
            return _frame(ApiKey.API_VERSIONS, 0, header.correlation_id, values)
        error = api_versions.error_for(asked.entity, header.version, self._around.cluster_id, self.node, compares_node)
        level, epoch = self._cluster.rules.transaction_version, self._cluster.features_epoch
        if error:
            values = api_versions.refused(error)
        else:
            values = api_versions.answer(self.release, header.version, offers, level, epoch)
        return _frame(ApiKey.API_VERSIONS, header.version, header.correlation_id, values)


def _named(message: Request, client_id: str, host: str) -> Request:
    """A message that knows who its client is, if groups are described with that; hosts are written as Java does."""
    if isinstance(message, JoinGroup | ConsumerGroupHeartbeat):
        return replace(message, client_id=client_id, client_host=f"/{host}" if host else "")
    return message


def _frame(api: ApiKey, version: int, correlation_id: int, values: Values) -> bytes:
    return _response(api, version, correlation_id, values).whole()


def _response(api: ApiKey, version: int, correlation_id: int, values: Values) -> Response:
    writes, tags = _writing(api, version)
    out = Output(BEGIN_OF_ANSWER.pack(0, correlation_id))
    out += tags
    writes(out, values)
    SIZE.pack_into(out, 0, len(out) - SIZE.size + sum(records.size for _, records in out.records))
    return Response(bytes(out), tuple(out.records))


@cache
def _writing(api: ApiKey, version: int) -> tuple[Writer, bytes]:
    """How the answers of a version are written, and what their headers end with."""
    kind = entity_class(api, version, "response")
    besides = WIRE_APIS[api].besides if api in WIRE_APIS else SAYS_NOTHING
    return Writer(kind, besides), NO_TAGS if kind.__header_schema__.__flexible__ else b""


_BY_NUMBER: Mapping[int, WireApi] = {int(key): api for key, api in WIRE_APIS.items()}


@cache
def offered(release: str, unstable: bool) -> Mapping[ApiKey, range]:
    """What a broker of a release offers, as far as it is spoken here."""
    spoken = {api.key: api.versions for api in WIRE_APIS.values()} | {ApiKey.API_VERSIONS: api_versions.VERSIONS}
    found = {}
    for key, versions in sorted(spoken.items()):
        offers = offered_versions(release, key, unstable=unstable)
        understood = understood_versions(release, key)
        if offers is None or understood is None:
            continue
        first, last = max(understood[0], versions[0]), min(offers[-1], versions[-1])
        if first <= last:
            # Kafka 4 offers Produce 0 without understanding it. A version that only this codec lacks is not offered.
            found[key] = range(offers[0] if offers[0] < understood[0] else first, last + 1)
    return found
