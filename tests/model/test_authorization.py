"""What entries say, which rights requests need, and what comes before it is known who asks: in Kafka's order."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from zombieproof.messages.registry import APIS
from zombieproof.model.access import AclOperation, Asked, PatternType, Permission, ResourceType, Rights
from zombieproof.model.decisions.add_partitions_to_txn import error_of_partition_to_add
from zombieproof.model.decisions.alter_configs import Fault, error_of, fault_of_description, fault_of_rights
from zombieproof.model.decisions.authentication import Arrival, Reaction, decide_arrival
from zombieproof.model.decisions.authorization import decide_access, decide_access_to_some, effect_of_entry
from zombieproof.model.decisions.create_topics import Refusal, Refused, refusal_of_more, refusal_of_name
from zombieproof.model.decisions.delete_topics import error_of_topic_deletion
from zombieproof.model.decisions.request_rights import (
    error_of_cluster,
    error_of_request,
    error_of_row,
    operation_on_cluster,
    operation_on_group,
    operation_on_rows,
    operation_on_told,
)
from zombieproof.model.vocabulary import NONE, ApiKey, ConnectionEvent, ConnectionState, Error, Evaluation
from zombieproof.statemachines.topics import asked_for

O, DENY, ALLOW = AclOperation, Permission.DENY, Permission.ALLOW  # noqa: E741  # as in Kafka's tables


def test_the_numbers_are_kafkas() -> None:
    operations = "ALL READ WRITE CREATE DELETE ALTER DESCRIBE CLUSTER_ACTION DESCRIBE_CONFIGS ALTER_CONFIGS"
    more = "IDEMPOTENT_WRITE CREATE_TOKENS DESCRIBE_TOKENS TWO_PHASE_COMMIT"
    assert {each.name: int(each) for each in O} == {n: i for i, n in enumerate(f"{operations} {more}".split(), start=2)}
    kinds = "TOPIC GROUP CLUSTER TRANSACTIONAL_ID DELEGATION_TOKEN USER"
    assert {each.name: int(each) for each in ResourceType} == {n: i for i, n in enumerate(kinds.split(), start=2)}
    assert (PatternType.LITERAL, PatternType.PREFIXED, DENY, ALLOW) == (3, 4, 2, 3)


# ---------------------------------------------------------------- entries


IMPLIED = {O.DESCRIBE: {O.READ, O.WRITE, O.DELETE, O.ALTER}, O.DESCRIBE_CONFIGS: {O.ALTER_CONFIGS}}


@pytest.mark.parametrize("asked", [each for each in O if each != O.ALL])
def test_an_entry_is_about_its_operation_and_allows_what_that_implies(asked: AclOperation) -> None:
    for of_entry in O:
        is_of_it = of_entry in (O.ALL, asked)
        is_implied = of_entry in IMPLIED.get(asked, ())
        assert effect_of_entry(ALLOW, of_entry, asked) == (ALLOW if is_of_it or is_implied else NONE)
        assert effect_of_entry(DENY, of_entry, asked) == (DENY if is_of_it else NONE)


ACCESS = [
    # super user, denied, allowed, named, everyone if none is found
    ((True, True, False, True, False), True),
    ((False, True, True, True, True), False),
    ((False, False, True, True, False), True),
    ((False, False, False, True, True), False),
    ((False, False, False, False, True), True),
    ((False, False, False, False, False), False),
]


@pytest.mark.parametrize(("facts", "may"), ACCESS)
def test_super_users_then_denials_then_allowances_then_the_setting(facts: Any, may: bool) -> None:
    assert decide_access(*facts) is may


SOME = [
    # to one that no entry is about, all denied, all allowed, an allowance is left
    ((True, True, False, False), True),
    ((False, True, True, True), False),
    ((False, False, True, False), True),
    ((False, False, False, True), True),
    ((False, False, False, False), False),
]


@pytest.mark.parametrize(("facts", "may"), SOME)
def test_some_resource_of_a_type(facts: Any, may: bool) -> None:
    assert decide_access_to_some(*facts) is may


# ---------------------------------------------------------------- requests, top to bottom

EVERY = Rights(*[True] * 12)
WITHOUT: Callable[..., Rights] = lambda *names: replace(EVERY, **dict.fromkeys(names, False))  # noqa: E731  # a table's word
NOTHING = Rights()
ID_DENIED, GROUP_DENIED = Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, Error.GROUP_AUTHORIZATION_FAILED
CLUSTER_DENIED, TOPIC_DENIED = Error.CLUSTER_AUTHORIZATION_FAILED, Error.TOPIC_AUTHORIZATION_FAILED


OF_THEIR_OWN_ORDER = (
    *(ApiKey.CREATE_TOPICS, ApiKey.CREATE_PARTITIONS, ApiKey.DELETE_TOPICS),
    *(ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS),
)
"""These ask for rights within an order of their own: see below."""


def asked(api: ApiKey, version: int = 3, **more: Any) -> Asked:
    facts = {"names_id": True, "is_transactional": False, "enables_2pc": False, "key_type": NONE} | more
    return Asked(api, version, **facts)


LADDER: list[tuple[Asked, list[tuple[Rights, int]]]] = [
    (
        asked(ApiKey.INIT_PRODUCER_ID, 6, enables_2pc=True),
        [(NOTHING, ID_DENIED), (WITHOUT("commit_id_in_two_phases"), ID_DENIED), (EVERY, 0)],
    ),
    (asked(ApiKey.INIT_PRODUCER_ID, 6), [(WITHOUT("write_id"), ID_DENIED), (WITHOUT("commit_id_in_two_phases"), 0)]),
    (
        asked(ApiKey.INIT_PRODUCER_ID, 4, names_id=False),
        [
            (WITHOUT("idempotent_write", "write_some_topic"), CLUSTER_DENIED),
            (WITHOUT("idempotent_write"), 0),
            (WITHOUT("write_some_topic", "write_id"), 0),
        ],
    ),
    (
        asked(ApiKey.FIND_COORDINATOR, key_type=0),
        [(WITHOUT("describe_group"), GROUP_DENIED), (WITHOUT("describe_id"), 0)],
    ),
    (asked(ApiKey.FIND_COORDINATOR, key_type=1), [(WITHOUT("describe_id"), ID_DENIED), (WITHOUT("describe_group"), 0)]),
    (asked(ApiKey.FIND_COORDINATOR, key_type=9), [(NOTHING, 0)]),
    (asked(ApiKey.ADD_PARTITIONS_TO_TXN, 3), [(WITHOUT("write_id"), ID_DENIED), (WITHOUT("cluster_action"), 0)]),
    (
        asked(ApiKey.ADD_PARTITIONS_TO_TXN, 4),
        [(WITHOUT("cluster_action"), CLUSTER_DENIED), (replace(NOTHING, cluster_action=True), 0)],
    ),
    (
        asked(ApiKey.ADD_OFFSETS_TO_TXN),
        [(NOTHING, ID_DENIED), (WITHOUT("read_group"), GROUP_DENIED), (EVERY, 0)],
    ),
    (
        asked(ApiKey.TXN_OFFSET_COMMIT),
        [(NOTHING, ID_DENIED), (WITHOUT("read_group"), GROUP_DENIED), (EVERY, 0)],
    ),
    (asked(ApiKey.END_TXN), [(WITHOUT("write_id"), ID_DENIED), (replace(NOTHING, write_id=True), 0)]),
    (asked(ApiKey.PRODUCE, 11), [(NOTHING, 0)]),
    (asked(ApiKey.PRODUCE, 11, is_transactional=True), [(WITHOUT("write_id"), ID_DENIED), (EVERY, 0)]),
    (asked(ApiKey.PRODUCE, 11, is_transactional=True, names_id=False), [(NOTHING, ID_DENIED)]),
    (
        asked(ApiKey.WRITE_TXN_MARKERS),
        [
            (WITHOUT("cluster_action", "alter_cluster"), CLUSTER_DENIED),
            (WITHOUT("alter_cluster"), 0),
            (WITHOUT("cluster_action"), 0),
        ],
    ),
    (asked(ApiKey.ELECT_LEADERS), [(WITHOUT("alter_cluster"), CLUSTER_DENIED), (WITHOUT("cluster_action"), 0)]),
    (asked(ApiKey.DESCRIBE_LOG_DIRS), [(WITHOUT("describe_cluster"), CLUSTER_DENIED), (WITHOUT("alter_cluster"), 0)]),
    (asked(ApiKey.ALLOCATE_PRODUCER_IDS), [(WITHOUT("cluster_action"), CLUSTER_DENIED), (WITHOUT("alter_cluster"), 0)]),
    (asked(ApiKey.OFFSET_FETCH), [(WITHOUT("describe_group"), GROUP_DENIED), (WITHOUT("read_group"), 0)]),
    (asked(ApiKey.OFFSET_DELETE), [(WITHOUT("delete_group"), GROUP_DENIED), (WITHOUT("read_group"), 0)]),
    (
        asked(ApiKey.CONSUMER_GROUP_HEARTBEAT),
        [(NOTHING, GROUP_DENIED), (WITHOUT("describe_topics"), TOPIC_DENIED), (EVERY, 0)],
    ),
    *(
        (asked(each), [(WITHOUT("read_group"), GROUP_DENIED), (WITHOUT("describe_group", "write_id"), 0)])
        for each in (
            *(ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP, ApiKey.OFFSET_COMMIT),
        )
    ),
    *(
        (asked(each), [(NOTHING, 0)])
        for each in (
            *OF_THEIR_OWN_ORDER,
            *(ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.METADATA, ApiKey.DESCRIBE_PRODUCERS, ApiKey.DELETE_RECORDS),
            *(ApiKey.DESCRIBE_TRANSACTIONS, ApiKey.LIST_TRANSACTIONS, ApiKey.DELETE_GROUPS),
            *(ApiKey.DESCRIBE_GROUPS, ApiKey.CONSUMER_GROUP_DESCRIBE, ApiKey.LIST_GROUPS),
            ApiKey.OFFSET_FOR_LEADER_EPOCH,
        )
    ),
]


@pytest.mark.parametrize(
    ("request_", "rungs"), LADDER, ids=lambda each: ApiKey(each.api).name if isinstance(each, Asked) else ""
)
def test_the_first_right_that_is_missing_is_the_answer(request_: Asked, rungs: list[tuple[Rights, int]]) -> None:
    for rights, error in rungs:
        assert error_of_request(request_, rights) == error
    assert error_of_request(request_, EVERY) == Error.NONE


def test_every_api_is_on_the_ladder_and_asks_for_something() -> None:
    """A request that is added has to say which rights it needs: as a whole, in its rows, or of what it tells."""
    assert {each.api for each, _ in LADDER} == {api.key for api in APIS}
    for api in APIS:
        whole = any(error_of_request(each, NOTHING) for each, _ in LADDER if each.api == api.key)
        rows = any(operation_on_rows(api.key, each) != NONE for each in ResourceType)
        told = any(operation_on_told(api.key, each) != NONE for each in ResourceType)
        assert (whole or rows or told) is not (api.key in OF_THEIR_OWN_ORDER), api.name


def test_rows_of_what_is_named_and_what_is_told_unasked() -> None:
    rows = {api.name: operation_on_rows(api.key, ResourceType.TOPIC) for api in APIS}
    assert {name: O(operation).name for name, operation in rows.items() if operation != NONE} == {
        **dict.fromkeys(("Fetch", "OffsetCommit", "TxnOffsetCommit", "OffsetDelete", "DescribeProducers"), "READ"),
        **dict.fromkeys(("ListOffsets", "Metadata", "OffsetFetch", "OffsetForLeaderEpoch"), "DESCRIBE"),
        "Produce": "WRITE",
        "DeleteRecords": "DELETE",
    }
    assert operation_on_rows(ApiKey.DESCRIBE_TRANSACTIONS, ResourceType.TRANSACTIONAL_ID) == O.DESCRIBE
    assert operation_on_rows(ApiKey.DELETE_GROUPS, ResourceType.GROUP) == O.DELETE
    assert operation_on_rows(ApiKey.DELETE_GROUPS, ResourceType.TRANSACTIONAL_ID) == NONE
    assert operation_on_told(ApiKey.LIST_TRANSACTIONS, ResourceType.TRANSACTIONAL_ID) == O.DESCRIBE
    assert operation_on_told(ApiKey.LIST_TRANSACTIONS, ResourceType.TOPIC) == NONE
    for api in (ApiKey.DESCRIBE_GROUPS, ApiKey.CONSUMER_GROUP_DESCRIBE):
        assert operation_on_rows(api, ResourceType.GROUP) == O.DESCRIBE
    assert operation_on_told(ApiKey.LIST_GROUPS, ResourceType.GROUP) == O.DESCRIBE
    assert operation_on_told(ApiKey.METADATA, ResourceType.TOPIC) == O.DESCRIBE
    assert operation_on_told(ApiKey.CONSUMER_GROUP_DESCRIBE, ResourceType.TOPIC) == O.DESCRIBE
    assert operation_on_group(ApiKey.END_TXN) == NONE
    errors = [
        error_of_row(each, False) for each in (ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID, ResourceType.GROUP)
    ]
    assert errors == [29, 53, 30]
    assert error_of_row(ResourceType.TOPIC, True) == 0


def test_what_all_brokers_know_needs_a_right_on_the_cluster() -> None:
    needed = {each: operation_on_cluster(each) for each in ApiKey}
    assert {each: O(operation) for each, operation in needed.items() if operation != NONE} == {
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: O.ALTER,
        ApiKey.ALTER_REPLICA_LOG_DIRS: O.ALTER,
        ApiKey.CREATE_ACLS: O.ALTER,
        ApiKey.DELETE_ACLS: O.ALTER,
        ApiKey.DESCRIBE_ACLS: O.DESCRIBE,
        ApiKey.DESCRIBE_QUORUM: O.DESCRIBE,
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: O.DESCRIBE,
        ApiKey.LIST_PARTITION_REASSIGNMENTS: O.DESCRIBE,
        ApiKey.LIST_CONFIG_RESOURCES: O.DESCRIBE_CONFIGS,
    }
    assert (error_of_cluster(False), error_of_cluster(True)) == (31, 0)


# exists, internal, version, may write -> the error of a partition that is to join
PARTITIONS = [
    ((False, False, 3, False), 29),
    ((True, True, 3, True), 29),
    ((False, False, 3, True), 3),
    ((True, False, 3, True), 0),
]
OF_BROKERS = [((False, False, 4, False), 3), ((True, True, 4, False), 0)]


@pytest.mark.parametrize(("facts", "error"), [*PARTITIONS, *OF_BROKERS])
def test_a_partition_that_one_may_not_write_to_is_not_told_to_be_unknown(facts: Any, error: int) -> None:
    assert error_of_partition_to_add(*facts) == error


# enabled, named twice, exists, by id, internal, may describe, may delete
DELETIONS = [
    ((False, True, False, False, True, False, False), 73),
    ((True, True, False, False, True, False, False), 42),
    ((True, False, False, False, True, False, False), 29),
    ((True, False, False, True, True, False, False), 100),
    ((True, False, False, False, True, True, False), 3),
    ((True, False, True, True, True, False, False), 29),
    ((True, False, True, False, True, True, False), 29),
    ((True, False, True, False, True, True, True), 17),
    ((True, False, True, True, False, False, True), 0),
]


@pytest.mark.parametrize(("facts", "error"), DELETIONS)
def test_topics_are_deleted_by_who_may_and_told_of_to_who_may_know(facts: Any, error: int) -> None:
    assert error_of_topic_deletion(*facts) == error


# named twice, of Kafka's own, exists, legal, collides, may create
NEW_TOPICS = [
    ((True, True, True, False, True, False), Refusal.NAMED_TWICE),
    ((False, True, True, False, True, False), Refusal.PROHIBITED),
    ((False, False, True, False, True, False), Refusal.MAY_NOT),
    ((False, False, False, True, False, False), Refusal.MAY_NOT),
    ((False, False, True, False, True, True), Refusal.ALREADY_THERE),
    ((False, False, False, True, False, True), Refusal.NOTHING),
]


@pytest.mark.parametrize(("facts", "refusal"), NEW_TOPICS)
def test_who_may_make_no_topic_is_not_told_whether_there_is_one(facts: Any, refusal: Refusal) -> None:
    assert refusal_of_name(*facts) == refusal
    assert (Refused(refusal).error == TOPIC_DENIED) is (refusal == Refusal.MAY_NOT)


# named twice, partitions that are there, wanted, assigned, may alter
MORE_PARTITIONS = [
    ((True, 0, 2, NONE, False), Refusal.NAMED_TWICE),
    ((False, 0, 2, NONE, False), Refusal.MAY_NOT),
    ((False, 2, 2, NONE, False), Refusal.MAY_NOT),
    ((False, 0, 2, NONE, True), Refusal.UNKNOWN_TOPIC),
    ((False, 1, 2, NONE, True), Refusal.NOTHING),
]


@pytest.mark.parametrize(("facts", "refusal"), MORE_PARTITIONS)
def test_who_may_not_alter_a_topic_is_not_told_how_many_partitions_it_has(facts: Any, refusal: Refusal) -> None:
    assert refusal_of_more(*facts).why == refusal


# exists, by id, legal, may be made, may create -> error, is made
ASKED_FOR = [
    ((True, False, True, True, False), (0, False)),
    ((False, True, True, True, False), (100, False)),
    ((False, False, True, True, False), (29, False)),
    ((False, False, False, True, False), (29, False)),
    ((False, False, True, False, False), (3, False)),
    ((False, False, False, False, False), (17, False)),
    ((False, False, True, True, True), (3, True)),
    ((False, False, False, True, True), (17, False)),
]


@pytest.mark.parametrize(("facts", "told"), ASKED_FOR)
def test_a_topic_that_would_be_made_needs_the_right_to_make_it(facts: Any, told: tuple[int, bool]) -> None:
    assert asked_for(*facts) == told


@pytest.mark.parametrize(("kind", "error"), [(2, 29), (4, 31)])
def test_settings_need_a_right_on_the_topic_or_on_the_cluster(kind: int, error: int) -> None:
    assert error_of(fault_of_rights(kind, may=False)) == error
    assert error_of(fault_of_rights(kind, may=True)) == Error.NONE
    for exists in (False, True):
        assert error_of(fault_of_description(kind, exists, exists, exists, exists, may_describe=False)) == error
    assert fault_of_description(kind, True, True, True, True) == Fault.NOTHING


def test_what_has_no_settings_needs_no_right() -> None:
    assert fault_of_description(7, True, True, True, True, may_describe=False) == Fault.UNKNOWN_KIND


# ---------------------------------------------------------------- before it is known who asks

S, E = ConnectionState, ConnectionEvent
OK = Arrival(int(ApiKey.API_VERSIONS), 3, True, True, True, int(Evaluation.ACCEPTED), False, False, False, False, False)
HANDSHAKE = OK._replace(api=int(ApiKey.SASL_HANDSHAKE), version=1)
AUTHENTICATE = OK._replace(api=int(ApiKey.SASL_AUTHENTICATE), version=2)
TOKEN, FETCH = OK._replace(api=NONE), OK._replace(api=int(ApiKey.FETCH))
CLOSED = (E.CLOSE, 0, False, False)

ARRIVALS: list[tuple[ConnectionState, Arrival, tuple[int, int, bool, bool]]] = [
    (S.NEW, OK._replace(is_understood=False, is_valid=False), (E.NOTHING, 35, True, False)),
    (S.NEW, OK._replace(is_valid=False), (E.NOTHING, 42, True, False)),
    (S.NEW, OK, (E.TELL_VERSIONS, 0, True, False)),
    (S.VERSIONS_TOLD, OK._replace(is_understood=False), CLOSED),
    (S.VERSIONS_TOLD, OK, CLOSED),
    *(
        (state, arrival, reaction)
        for state in (S.NEW, S.VERSIONS_TOLD)
        for arrival, reaction in (
            (HANDSHAKE._replace(is_understood=False, is_enabled=False), CLOSED),
            (HANDSHAKE._replace(is_enabled=False), (E.CLOSE, 33, True, False)),
            (HANDSHAKE, (E.AGREE, 0, True, False)),
            (HANDSHAKE._replace(version=0), (E.AGREE_ON_TOKENS, 0, True, False)),
            (AUTHENTICATE, CLOSED),
            (FETCH, CLOSED),
            (TOKEN, CLOSED),
        )
    ),
    (S.AUTHENTICATING, FETCH._replace(is_understood=False), CLOSED),
    (S.AUTHENTICATING, TOKEN, CLOSED),
    (S.AUTHENTICATING, FETCH, (E.CLOSE, 34, True, False)),
    (S.AUTHENTICATING, OK, (E.CLOSE, 34, True, False)),
    (S.AUTHENTICATING, HANDSHAKE, (E.CLOSE, 34, True, False)),
    (S.AUTHENTICATING, AUTHENTICATE._replace(is_understood=False), CLOSED),
    (S.AUTHENTICATING, AUTHENTICATE._replace(evaluation=int(Evaluation.REFUSED)), (E.CLOSE, 58, True, False)),
    (S.AUTHENTICATING, AUTHENTICATE._replace(evaluation=int(Evaluation.CHALLENGED)), (E.CHALLENGE, 0, True, False)),
    (S.AUTHENTICATING, AUTHENTICATE, (E.ACCEPT, 0, True, False)),
    (S.EXCHANGING_TOKENS, AUTHENTICATE, CLOSED),
    (S.EXCHANGING_TOKENS, TOKEN._replace(evaluation=int(Evaluation.REFUSED)), CLOSED),
    (S.EXCHANGING_TOKENS, TOKEN._replace(evaluation=int(Evaluation.CHALLENGED)), (E.CHALLENGE, 0, True, False)),
    (S.EXCHANGING_TOKENS, TOKEN, (E.ACCEPT, 0, True, False)),
    *((S.CLOSED, each, (E.NOTHING, 0, False, False)) for each in (OK, HANDSHAKE, AUTHENTICATE, TOKEN, FETCH)),
    (S.AUTHENTICATED, HANDSHAKE, (E.NOTHING, 34, True, False)),
    (S.AUTHENTICATED, AUTHENTICATE, (E.NOTHING, 34, True, False)),
    (S.AUTHENTICATED, OK, (E.NOTHING, 0, False, True)),
    (S.AUTHENTICATED, FETCH, (E.NOTHING, 0, False, True)),
    # who changes his mechanism, and whose session has an end
    (S.AUTHENTICATING, AUTHENTICATE._replace(is_changed=True), CLOSED),
    (S.AUTHENTICATING, FETCH._replace(is_changed=True), CLOSED),
    (S.AUTHENTICATING, AUTHENTICATE._replace(is_another=True), (E.CLOSE, 58, True, False)),
    (
        S.AUTHENTICATING,
        AUTHENTICATE._replace(is_another=True, evaluation=int(Evaluation.CHALLENGED)),
        (E.CHALLENGE, 0, True, False),
    ),
    (S.EXCHANGING_TOKENS, TOKEN._replace(is_another=True), CLOSED),
    (S.EXCHANGING_TOKENS, TOKEN._replace(is_changed=True), CLOSED),
    *(
        (S.AUTHENTICATED, arrival._replace(ends=True, has_ended=has_ended), reaction)
        for has_ended in (False, True)
        for arrival, reaction in (
            (HANDSHAKE, (E.AGREE, 0, True, False)),
            (HANDSHAKE._replace(version=0), (E.AGREE_ON_TOKENS, 0, True, False)),
            (HANDSHAKE._replace(is_enabled=False), CLOSED),
            (HANDSHAKE._replace(is_understood=False), CLOSED),
            (HANDSHAKE._replace(is_too_soon=True), CLOSED if has_ended else (E.NOTHING, 34, True, False)),
            (AUTHENTICATE, CLOSED if has_ended else (E.NOTHING, 34, True, False)),
            (FETCH, CLOSED if has_ended else (E.NOTHING, 0, False, True)),
            (OK, CLOSED if has_ended else (E.NOTHING, 0, False, True)),
        )
    ),
]


@pytest.mark.parametrize(("state", "arrival", "reaction"), ARRIVALS)
def test_what_comes_on_a_connection_is_answered_passed_on_or_its_end(
    state: ConnectionState, arrival: Arrival, reaction: tuple[int, int, bool, bool]
) -> None:
    assert decide_arrival(state, arrival) == Reaction(*reaction)
