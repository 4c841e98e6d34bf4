"""The registry: every message once, with Kafka's names, the versions that exist, and somebody who answers."""

import json
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Annotated, Any, get_args

import pytest

from tests.messages.kafka_fields import FILE, SIDES, fields_in_kio, snake, written
from zombieproof.broker.cluster import network, node
from zombieproof.broker.cluster.apis import is_understood
from zombieproof.broker.group import coordinator as group_coordinator
from zombieproof.messages import (
    admin,
    consumer_groups,
    controller,
    group_descriptions,
    groups,
    offsets,
    partitions,
    transactions,
)
from zombieproof.messages.groups import DeleteGroups, LeaveGroup, Leaver, OffsetCommit, OffsetToCommit
from zombieproof.messages.partitions import ConnectionClosed, MarkerToWrite, WriteTxnMarkers
from zombieproof.messages.registry import APIS, Api, Receiver, UnknownRequest, api_of, values_of
from zombieproof.messages.schema import Entity, Ours, UndescribedField, Wire, fields_of, paths_of, record_in
from zombieproof.messages.transactions import AddPartitionsToTxn, InitProducerId, TransactionToAdd
from zombieproof.model.releases import NEWEST_VERSIONS, OLDEST_VERSIONS, RELEASES, newest_version
from zombieproof.model.vocabulary import ApiKey, Isolation

ANSWERED_BEFORE_BROKERS = {
    ApiKey.API_VERSIONS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.ALTER_REPLICA_LOG_DIRS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.LIST_CONFIG_RESOURCES,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.SASL_HANDSHAKE,
}
"""By whoever speaks for a broker on a connection: of what all brokers know, and of what none does."""

every_api = pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)


def test_every_key_and_every_request_has_one_row() -> None:
    assert [api.key for api in APIS] == sorted({api.key for api in APIS})
    assert {api.key for api in APIS} | ANSWERED_BEFORE_BROKERS == set(ApiKey)
    assert len({api.request for api in APIS}) == len(APIS)
    assert all(api_of(api.request) is api for api in APIS)


def test_every_message_is_in_the_registry() -> None:
    def classes(module: Any) -> set[type]:
        return {each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__}

    reached: set[type] = set()
    todo = [message for api in APIS for message in (api.request, api.answer)]
    while todo:
        message = todo.pop()
        reached.add(message)
        todo += [record for field in fields_of(message) if (record := record_in(field.kind)) and record not in reached]
    not_on_the_wire = {partitions.SentBatch, ConnectionClosed, controller.ProducerIdBlock}
    modules = (admin, consumer_groups, controller, group_descriptions, groups, offsets, partitions, transactions)
    every = set().union(*(classes(module) for module in modules))
    assert every == reached | not_on_the_wire


def test_what_brokers_take_and_give_is_what_the_registry_has() -> None:
    assert set(get_args(network.Request)) == {api.request for api in APIS}
    assert set(get_args(network.Answer)) == {api.answer for api in APIS}


@every_api
def test_somebody_answers(api: Api) -> None:
    assert api.key in node.BEGINS or api.receiver in node.PARTS
    assert (api.key in group_coordinator.HANDLERS) == (api.receiver is Receiver.GROUP_COORDINATOR)


@every_api
def test_versions_are_those_of_the_releases(api: Api) -> None:
    """The newest that is described is the newest of some release."""
    if api.key not in NEWEST_VERSIONS:
        return
    newest = [newest_version(release, api.key) for release in RELEASES]
    assert api.versions[-1] == max(newest)
    assert api.versions[0] in {0, *OLDEST_VERSIONS.get(api.key, {}).values(), 3 if api.key == ApiKey.PRODUCE else 0}


@every_api
def test_fields_are_kafkas(api: Api) -> None:
    """Each field is one of Kafka's schema, in exactly the versions that have it there."""
    known = json.loads(FILE.read_text(encoding="utf-8"))
    for side, message in zip(SIDES, (api.request, api.answer), strict=True):
        kafkas = known[f"{api.name} {side}"]
        paths: dict[str, list[tuple[int, int]]] = {}
        for path in paths_of(message, api.versions):
            paths.setdefault(".".join(map(snake, path.name.split("."))), []).append((path.since, path.until))
        for name, spans in paths.items():
            assert name in kafkas, (side, name)
            assert [min(spans)[0], max(until for _, until in spans)] == kafkas[name], (side, name)
        assert paths, side


@pytest.mark.skipif(find_spec("kio") is None, reason="kio (extra `wire`) is missing; the file made of it is read")
def test_the_file_says_what_kio_says() -> None:
    assert FILE.read_text(encoding="utf-8") == written(fields_in_kio())


def test_a_field_of_another_version_would_be_seen() -> None:
    """The comparison with Kafka's schema is one that can fail."""

    @dataclass(frozen=True, slots=True)
    class Odd:
        version: int
        producer_id: Annotated[int, Wire("ProducerId", since=2)]
        colour: Annotated[int, Wire("Colour")]

    odd = replace(api_of(InitProducerId), request=Odd)
    for wrong in ("producer_id", "colour"):
        with pytest.raises(AssertionError, match=wrong):
            test_fields_are_kafkas(odd)
        odd = replace(odd, request=_only_colour())


def _only_colour() -> type:
    @dataclass(frozen=True, slots=True)
    class Coloured:
        version: int
        colour: Annotated[int, Wire("Colour")]

    return Coloured


def test_a_field_that_does_not_say_what_it_is_is_refused() -> None:
    @dataclass(frozen=True, slots=True)
    class Silent:
        version: int
        colour: int

    @dataclass(frozen=True, slots=True)
    class Both:
        colour: Annotated[int, Wire("Colour"), Ours("mine")]

    for message in (Silent, Both):
        with pytest.raises(UndescribedField, match=rf"{message.__name__}\.colour: .*legal is an annotation with"):
            fields_of(message)


def test_what_is_no_request_is_refused_by_name() -> None:
    with pytest.raises(UnknownRequest, match="Leaver is no request; requests are Produce, Fetch, "):
        api_of(Leaver)


def test_which_side_sends_a_version() -> None:
    api = api_of(AddPartitionsToTxn)
    assert [version for version in api.versions if api.comes_from_broker(version)] == [4, 5]
    assert not api_of(InitProducerId).comes_from_broker(6)
    assert api_of(WriteTxnMarkers).comes_from_broker(1)


@pytest.mark.parametrize(
    ("message", "entity", "values"),
    [
        (DeleteGroups(2, ("a", "b")), Entity.GROUP, ["a", "b"]),
        (DeleteGroups(2, ()), Entity.GROUP, []),
        (LeaveGroup(3, "g", leavers=(Leaver("m"), Leaver("n"))), Entity.MEMBER, ["", "m", "n"]),
        (AddPartitionsToTxn(4, (TransactionToAdd("x", 1, 0, (("t", 0),)),)), Entity.TRANSACTIONAL_ID, ["x"]),
        (AddPartitionsToTxn(4, (TransactionToAdd(None, 1, 0, (("t", 0),)),)), Entity.TRANSACTIONAL_ID, []),
        (
            WriteTxnMarkers(1, (MarkerToWrite(1, 0, True, 0, (("t", 0), ("t", 1))),)),
            Entity.PARTITION,
            [("t", 0), ("t", 1)],
        ),
        (OffsetCommit(8, "g", (OffsetToCommit(("t", 0), 5, ""),)), Entity.GROUP, ["g"]),
        (partitions.Fetch(11, Isolation.READ_COMMITTED, {("t", 3): 0}), Entity.PARTITION, [("t", 3)]),
    ],
)
def test_what_a_message_names(message: Any, entity: Entity, values: list[Any]) -> None:
    assert list(values_of(message, entity)) == values


def test_versions_of_requests_beside_transactions_are_understood_by_all() -> None:
    assert is_understood(LeaveGroup(5, "g"), "0.11.0")
    assert not is_understood(InitProducerId(6, None, 1), "3.9.1")
