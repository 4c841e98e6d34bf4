"""The states of a transactional id, and what none of them allows: words of the metadata suite."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tests.conformance.baselines import rules_of
from tests.conformance.cases import Case, Failed
from tests.conformance.phrases import STATES, Fields, check, listed, matched, state_name, state_of
from zombieproof.model.decisions.add_partitions_to_txn import decide_add_partitions_to_txn
from zombieproof.model.decisions.describe_transactions import decide_describe_transactions
from zombieproof.model.decisions.end_txn import decide_end_txn
from zombieproof.model.decisions.init_producer_id import decide_init_producer_id
from zombieproof.model.decisions.list_transactions import STATE_NAMES, is_listed
from zombieproof.model.decisions.transaction_timeout import decide_timeout
from zombieproof.model.decisions.transactional_id_expiration import decide_expiration
from zombieproof.model.records import Transaction, Verdict
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, NOTHING, Error, TransactionState
from zombieproof.statemachines.coordinator import COORDINATOR

NOW_MS = 1_000_000
PRODUCER_ID = 23423


@dataclass(frozen=True, slots=True)
class Asked:
    """What a decision is asked: a producer, and as far as it matters the rest."""

    producer_id: int = NONE
    producer_epoch: int = NONE
    version: int = 0
    committed: bool = False
    partitions: int = 0


def while_pending(case: Case) -> None:
    """Nothing may be prepared while something is pending, but the abort that a fence is handed over to."""
    given, fields = Fields(case.given, "given"), Fields(case.expect, "expect")
    pending = given.take("pending")
    given.done()
    matched("IllegalStateException", fields.take("raises"), "raises")
    fields.done()
    for under_way in STATES.values() if pending == "any" else [state_of(pending)]:
        for state in COORDINATOR.states:
            if state in COORDINATOR.transient:
                continue
            txn = Transaction(
                known=True, state=state, pending_state=under_way, producer_id=PRODUCER_ID, producer_epoch=5
            )
            for what, verdict in _every_decision(txn, rules_of(case.baseline)):
                handed_over = under_way == TransactionState.PREPARE_EPOCH_FENCE and what == "end"
                if verdict.event != NOTHING and not handed_over:
                    raise Failed(f"{what} in {state_name(state)} is prepared while {state_name(under_way)} is pending")


def _every_decision(txn: Transaction, rules: Rules) -> list[tuple[str, Verdict]]:
    asked = Asked(txn.producer_id, txn.producer_epoch, 5, False, 1)
    return [
        ("bump", decide_init_producer_id(txn, Asked(), rules, PRODUCER_ID + 1)),
        ("add", decide_add_partitions_to_txn(txn, asked, rules)),
        ("end", decide_end_txn(txn, replace(asked, version=4), rules, True, PRODUCER_ID + 1)),
        ("end", decide_end_txn(txn, asked, rules, True, PRODUCER_ID + 1)),
        ("fence", decide_timeout(txn, txn.producer_id, rules)),
        ("expire", decide_expiration(txn, NOW_MS, 0, rules)),
    ]


def _map_states(expect: object) -> None:
    fields = Fields(expect, "expect")
    check("ids", fields.take("ids"), {name: int(state) for name, state in STATES.items()})
    check("names", {state: name for name, state in STATES.items()}, {s: state_name(s) for s in TransactionState})
    known = fields.take("admin_knows")
    if known is not None:
        unknown = matched(r"all but (\w+)", known, "admin_knows")[1]
        check("hidden from an administrator", state_of(unknown), _hidden_from_administrators())
    fields.done()


def _hidden_from_administrators() -> TransactionState:
    """The one state that neither DescribeTransactions nor ListTransactions shows."""
    entries = {state: Transaction(known=True, state=state, start_ms=0) for state in TransactionState}
    told = {state for state in entries if decide_describe_transactions(entries[state], False, 0).error == Error.NONE}
    seen = {state for state in entries if is_listed(entries[state], NOW_MS, NONE, True)}
    check("described and listed", told, seen)
    check("names in answers", {int(state): name for name, state in STATES.items()}, dict(STATE_NAMES))
    hidden = set(TransactionState) - told
    if len(hidden) != 1:
        raise Failed(f"an administrator is not shown {sorted(hidden)}")
    return hidden.pop()


def _enumerate_states(expect: object) -> None:
    check("states", {state_of(name) for name in listed(expect)}, set(TransactionState))
    check("states of the machine", set(TransactionState), set(COORDINATOR.states))


ENUMERATIONS: Mapping[str, Callable[[object], None]] = {
    "map every state to id and name and back": _map_states,
    "enumerate states": _enumerate_states,
}
