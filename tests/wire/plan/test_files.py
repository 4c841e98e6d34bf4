"""A plan is read, or refused by its place, with what is wrong and what is legal; its schema is the committed one."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from pydantic import ValidationError

from zombieproof.messages.registry import APIS
from zombieproof.wire.plan.errors import _ANSWERS, ERRORS
from zombieproof.wire.plan.files import LARGEST_BYTES, PlanError, load_plan, parse_plan
from zombieproof.wire.plan.kinds import KINDS
from zombieproof.wire.plan.parts import Fault, Plan
from zombieproof.wire.plan.schema import SCHEMA_PATH, plan_schema
from zombieproof.wire.plan.selection import Requests
from zombieproof.wire.plan.stories import FOLDER

EVERYTHING = """
name: everything
description: what a plan can say
brokers: 3
topics: {orders: 2}
release: "4.1"
transaction_version: 1
rules_off: [verification]
epoch_max: 9
controlled_clock: true
faults:
- request: {api: EndTxn, version: 3, client_id: 'a*', transactional_id: t, committed: true, nth: 2}
  inject_error: PRODUCER_FENCED
- {request: {api: Fetch, topic: orders}, inject_error: {error: NOT_LEADER_OR_FOLLOWER, effect: after}, when: {times: 3}}
- {request: {group: g}, disconnect_on: before, when: every_time}
- {request: {api: Produce, partition: [orders, 1], node: 2}, delay_on: {until: {after_ms: 5}, disconnects: true}}
- {request: {api: JoinGroup}, delay_on: {until: {answer: {api: SyncGroup}}, holds: answer}, when: {on_call: 2}}
- {request: {api: Heartbeat}, blackhole: {}}
- {request: {api: LeaveGroup}, blackhole: after}
- {request: {api: EndTxn, while_state: Ongoing}, duplicate: {until: {release: go}}, when: once}
- {request: {api: InitProducerId}, reorder: {behind: {api: InitProducerId, client_id: b}}}
- {request: {api: TxnOffsetCommit}, crash_broker: before fsync}
- {request: {api: OffsetCommit}, crash_broker: {moment: before append, node: 3, back: never}}
- {request: {api: AddPartitionsToTxn}, expire_transaction: {}}
- {request: {api: FindCoordinator}, move_coordinator: {group: g, to: 2, effect: after}}
- {request: {api: ListOffsets}, move_leader: {partition: [orders, 0]}}
- {request: {api: OffsetFetch}, skip_time: 1000}
- {request: {api: WriteTxnMarkers}, delay_on: {until: {request: {api: OffsetFetch}}}}
"""


def test_a_plan_says_everything_in_yaml_and_in_python() -> None:
    plan = parse_plan(EVERYTHING, "everything.yaml", Plan)
    assert {fault.kind for fault in plan.faults} == set(KINDS)
    assert Plan.model_validate(plan.model_dump(exclude_unset=True)) == plan
    same = Fault(request=Requests(api="OffsetFetch"), skip_time=1000)  # type: ignore[arg-type]  # short
    assert plan.faults[-2] == same
    assert (plan.rules().transaction_version, plan.rules().verification, plan.rules().epoch_max) == (1, 0, 9)


def faults(text: str, more: str = "") -> str:
    return f"{more}\nfaults:\n- {text}\n"


BROKEN = [
    ("", 1, "is empty; a plan has names such as faults"),
    ("- 1", 1, "is a list; a plan has names"),
    ("faults: [", 1, "is not YAML: expected the node content"),
    ("a: 1\na: 2", 2, "'a' stands twice; leave one out"),
    ("a: &x {}\nb: *x", 1, "refers to something by an alias; write it out"),
    ("faults: 7", 1, "faults: Input should be a valid tuple (found 7)"),
    ("colour: red", 1, "colour: is unknown here; legal: name, description, brokers, topics, release"),
    ("brokers: 0", 1, "brokers: Input should be greater than or equal to 1 (found 0)"),
    ("topics: {t: 0}", 1, "topics.t: Input should be greater than or equal to 1"),
    ("release: '2.9'", 1, "unknown Kafka release '2.9'"),
    ("release: '3.9'\ntransaction_version: 2", 1, "Kafka 3.9 does not support transaction version 2; legal: 0"),
    ("rules_off: [gravity]", 1, "rules_off.0: 'gravity' is no rule; legal: duplicate_check"),
    (faults("{request: {api: EndTxn}}"), 3, "does nothing; legal is exactly one of inject_error, disconnect_on"),
    (faults("{blackhole: before}"), 3, "faults.0: lacks request"),
    (faults("{request: {}, blackhole: before}"), 3, "faults.0.request: names no requests; say at least one of api"),
    (
        faults("{request: {api: EndTxn}, blackhole: before, duplicate: {}}"),
        3,
        "faults.0: does blackhole and duplicate; legal is exactly one of",
    ),
    (
        faults("{request: {api: ApiVersions}, blackhole: before}"),
        3,
        "(ApiVersions is answered before any broker is asked)",
    ),
    (
        faults("{request: {api: EndTransaction}, blackhole: before}"),
        3,
        "faults.0.request.api: 'EndTransaction' is no API",
    ),
    (
        faults("{request: {api: EndTxn, state: x}, blackhole: before}"),
        3,
        "faults.0.request.state: is unknown here; legal: api,",
    ),
    (
        faults("{request: {api: EndTxn, while_state: Open}, blackhole: before}"),
        3,
        "'Open' is no state of a transactional id",
    ),
    (
        faults("{request: {api: Fetch, while_state: Ongoing}, blackhole: before}"),
        3,
        "no Fetch names one; those that do: Produce",
    ),
    (faults("{request: {api: EndTxn, topic: t}, blackhole: before}"), 3, "faults.0.request.topic: no EndTxn names one"),
    (faults("{request: {api: Fetch, group: g}, blackhole: before}"), 3, "faults.0.request.group: no Fetch names one"),
    (
        faults("{request: {topic: t, partition: [t, 0]}, blackhole: before}"),
        3,
        "stands beside partition, which names its topic",
    ),
    (faults("{request: {version: 3, group: g}, blackhole: before}"), 3, "means nothing without an API; say which"),
    (faults("{request: {api: Fetch, committed: true}, blackhole: before}"), 3, "no Fetch says it; only EndTxn does"),
    (
        faults("{request: {api: EndTxn, version: 6}, blackhole: before}"),
        3,
        "EndTxn 6 reaches no broker of 4.4 here; legal are 0 to 5",
    ),
    (
        faults("{request: {api: EndTxn, version: 5}, blackhole: before}", "release: '3.9'"),
        3,
        "EndTxn 5 reaches no broker of 3.9 here; legal are 0 to 4",
    ),
    (
        faults("{request: {api: ConsumerGroupHeartbeat}, blackhole: before}", "release: '2.8'"),
        3,
        "a broker of 2.8 has no ConsumerGroupHeartbeat; say another release",
    ),
    (
        faults("{request: {api: EndTxn, sender: broker}, blackhole: before}"),
        3,
        "no broker asks EndTxn; brokers ask AddPartitionsToTxn",
    ),
    (
        faults("{request: {api: AllocateProducerIds, sender: client}, blackhole: before}"),
        3,
        "no client asks AllocateProducerIds",
    ),
    (
        faults("{request: {api: WriteTxnMarkers, client_id: x}, blackhole: before}"),
        3,
        "a broker has none; leave it out",
    ),
    (
        faults("{request: {api: WriteTxnMarkers}, inject_error: NOT_COORDINATOR}"),
        3,
        "cannot be of what a broker asks a broker",
    ),
    (
        faults("{request: {api: WriteTxnMarkers}, blackhole: after}"),
        3,
        "only the request can vanish: blackhole: before",
    ),
    (
        faults("{request: {api: WriteTxnMarkers}, delay_on: {until: {after_ms: 1}, holds: answer}}"),
        3,
        "only what it is asked can wait: holds: request",
    ),
    (
        faults("{request: {api: WriteTxnMarkers}, delay_on: {until: {after_ms: 1}, disconnects: true}}"),
        3,
        "faults.0.delay_on.disconnects: of what a broker asks a broker; say disconnect_on",
    ),
    (
        faults("{request: {api: EndTxn}, inject_error: BAD_LUCK}"),
        3,
        "'BAD_LUCK' is no error of the protocol; legal: UNKNOWN_SERVER",
    ),
    (
        faults("{request: {api: EndTxn}, inject_error: CORRUPT_MESSAGE}"),
        3,
        "no broker answers EndTxn with CORRUPT_MESSAGE; legal:",
    ),
    (
        faults("{request: {api: EndTxn, version: 1}, inject_error: PRODUCER_FENCED}"),
        3,
        "EndTxn 1 cannot be answered PRODUCER_FENCED, which came with version 2; choose another error",
    ),
    (faults("{request: {group: g}, inject_error: NOT_COORDINATOR}"), 3, "needs to know what it answers: say the api"),
    (
        faults("{request: {api: ListTransactions}, inject_error: NOT_COORDINATOR}"),
        3,
        "no answer of ListTransactions is made here",
    ),
    (
        faults("{request: {api: EndTxn}, disconnect_on: never}"),
        3,
        "faults.0.disconnect_on.effect: Input should be 'before' or 'after'",
    ),
    (
        faults("{request: {api: EndTxn}, delay_on: {until: {}}}"),
        3,
        "waits for nothing; legal is exactly one of request, answer, after_ms",
    ),
    (faults("{request: {api: EndTxn}, delay_on: {}}"), 3, "faults.0.delay_on: lacks until"),
    (
        faults("{request: {api: EndTxn}, delay_on: {until: {after_ms: 1}, holds: answer, disconnects: true}}"),
        3,
        "nobody is there to hear the answer that waits; say disconnect_on: after",
    ),
    (
        faults("{request: {api: EndTxn}, delay_on: {until: {answer: {api: X}}}}"),
        3,
        "delay_on.until.answer.api: 'X' is no API",
    ),
    (
        faults("{request: {api: EndTxn}, reorder: {behind: {api: Fetch, group: g}}}"),
        3,
        "reorder.behind.group: no Fetch names one",
    ),
    (
        faults("{request: {api: EndTxn}, crash_broker: at noon}"),
        3,
        "'before append', 'after append', 'before fsync' or 'after fsync'",
    ),
    (
        faults("{request: {api: EndTxn}, crash_broker: {moment: after append, node: 1}}"),
        3,
        "another broker has no part in the request",
    ),
    (
        faults("{request: {api: EndTxn}, crash_broker: {moment: before append, node: 2}}"),
        3,
        "there is no broker 2; legal are 1 to 1",
    ),
    (
        faults("{request: {api: EndTxn, node: 2}, blackhole: before}"),
        3,
        "faults.0.request.node: there is no broker 2; legal are 1 to 1",
    ),
    (
        faults("{request: {api: Fetch}, expire_transaction: {}}"),
        3,
        "Fetch names no transactional id; say which transaction expires",
    ),
    (
        faults("{request: {api: EndTxn}, move_coordinator: {}}"),
        3,
        "needs another broker that could lead; say brokers: 2 or more",
    ),
    (
        faults("{request: {api: EndTxn}, move_coordinator: {to: 3}}", "brokers: 2"),
        3,
        "there is no broker 3; legal are 1 to 2",
    ),
    (
        faults("{request: {api: Fetch}, move_coordinator: {}}", "brokers: 2"),
        3,
        "Fetch names no id and no group; say whose coordinator",
    ),
    (
        faults("{request: {api: Fetch}, move_coordinator: {group: g, transactional_id: t}}", "brokers: 2"),
        3,
        "names an id and a group, which have coordinators of their own",
    ),
    (
        faults("{request: {api: EndTxn}, move_leader: {}}", "brokers: 2"),
        3,
        "EndTxn names no partition; say which gets another leader",
    ),
    (
        faults("{request: {api: EndTxn}, skip_time: 0}"),
        3,
        "faults.0.skip_time.ms: Input should be greater than or equal to 1",
    ),
    (
        faults("{request: {api: EndTxn}, blackhole: before, when: sometimes}"),
        3,
        "faults.0.when: Input should be 'once' or 'every_time'",
    ),
    (
        faults("{request: {api: EndTxn}, blackhole: before, when: {on_call: 0}}"),
        3,
        "faults.0.when.on_call: Input should be greater",
    ),
    (
        faults("{request: {api: EndTxn}, blackhole: before, when: {on_call: 1, times: 2}}"),
        3,
        "says either on_call: N or times: N",
    ),
    (
        faults("{request: {api: EndTxn, nth: 2}, blackhole: before, when: every_time}"),
        3,
        "stands beside nth, which is one request",
    ),
    (
        faults(
            "{name: a, request: {api: EndTxn}, duplicate: {}}\n- {name: a, request: {api: Fetch}, blackhole: before}"
        ),
        4,
        "faults.1.name: 'a' is the name of two faults; give each its own",
    ),
    (
        faults(
            "{request: {api: EndTxn}, blackhole: before}\n- {request: {api: EndTxn}, duplicate: {}, when: every_time}"
        ),
        4,
        "duplicate and blackhole are for the same request at the same turn",
    ),
]


@pytest.mark.parametrize(("text", "line", "says"), BROKEN, ids=range(len(BROKEN)))
def test_a_plan_that_cannot_be_is_refused_at_its_place(text: str, line: int, says: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_plan(text, "plan.yaml", Plan)
    assert says in str(caught.value)
    assert str(caught.value).startswith(f"plan.yaml, line {line}: ")


@pytest.mark.parametrize(
    "text",
    [
        "{request: {api: EndTxn}, blackhole: before}\n- {request: {api: EndTxn}, duplicate: {}, when: {on_call: 2}}",
        "{request: {api: EndTxn}, blackhole: before}\n- {request: {api: EndTxn, nth: 1}, duplicate: {}}",
        "{request: {api: EndTxn}, skip_time: 5}\n- {request: {api: EndTxn}, duplicate: {}}",
        "{request: {api: WriteTxnMarkers, sender: client}, blackhole: after}",
    ],
)
def test_its_neighbours_are_plans(text: str) -> None:
    assert parse_plan(faults(text), "plan.yaml", Plan).faults


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    with pytest.raises(PlanError, match="cannot be read: No such file"):
        load_plan(path)
    path.write_bytes(b"name: x\ndescription: \xff")
    with pytest.raises(PlanError, match="line 2: byte 21 is not UTF-8"):
        load_plan(path)
    path.write_bytes(b"#" * (LARGEST_BYTES + 1))
    with pytest.raises(PlanError, match="a plan has 1,048,576 at the most"):
        load_plan(path)
    path.write_text("name: well")
    assert load_plan(path).name == "well"


def test_a_plan_in_python_is_refused_too() -> None:
    with pytest.raises(ValidationError, match="needs another broker that could lead"):
        Plan(faults=(Fault(request=Requests(api="EndTxn"), move_coordinator={}),))  # type: ignore[arg-type]  # a dict


# ---------------------------------------------------------------- tables


def test_every_error_that_can_be_told_is_of_a_version_that_there_is() -> None:
    versions = {api.key: api.versions for api in APIS}
    late = [
        (key.name, error.name)
        for key, told in ERRORS.items()
        for error, since in told.items()
        if since > versions[key][-1]
    ]
    assert late == []


def test_every_api_whose_errors_are_known_has_its_answer() -> None:
    of_requests = {api.request for api in APIS if api.key in ERRORS}
    assert of_requests == set(_ANSWERS)


# ---------------------------------------------------------------- the schema


def test_the_committed_schema_is_what_a_plan_is() -> None:
    assert SCHEMA_PATH.read_text(encoding="utf-8") == plan_schema(), "python -m zombieproof.wire.plan.schema writes it"


@pytest.fixture(scope="module")
def schema() -> Any:
    return jsonschema.Draft202012Validator(json.loads(plan_schema()))


def test_the_schema_lets_plans_pass(schema: Any) -> None:
    schema.validate(yaml.safe_load(EVERYTHING))
    for path in FOLDER.glob("*.yaml"):
        told = yaml.safe_load(path.read_text())
        schema.validate({name: told[name] for name in told if name in Plan.model_fields})


def test_the_schema_refuses_what_has_another_form(schema: Any) -> None:
    for text in ("colour: red", faults("{request: {api: X}, blackhole: before}"), faults("{blackhole: before}")):
        assert not schema.is_valid(yaml.safe_load(text))
