"""Expiry of transactional ids: words of the state manager's cases."""

from collections.abc import Callable, Mapping

from tests.conformance.baselines import rules_of
from tests.conformance.cases import Case, NotRunnable
from tests.conformance.host import CoordinatorHost
from tests.conformance.phrases import Fields, check, error_of, listed, matched, state_of
from tests.conformance.state_loading import get
from zombieproof.broker.coordinator.effects import Append
from zombieproof.model.records import Transaction
from zombieproof.model.vocabulary import NONE, TransactionState

PRODUCER_IDS = {"one": 1, "two": 2}


def _expire(case: Case) -> None:
    given, expect = Fields(case.given, "given"), Fields(case.expect, "expect")
    host = CoordinatorHost(rules_of(case.baseline))
    outcomes = [error_of(name) for name in listed(given.take("append", "NONE"))]
    host.coordinator.load(0, 0, [])
    held = host.coordinator._store.partitions[0].transactions
    for name, producer_id in PRODUCER_IDS.items():
        if name in given:
            held[name] = _entry(host, producer_id, given.take(name))
    if "entry" in given:
        held["entry"] = _entry(host, PRODUCER_IDS["one"], given.take("entry"))
    given.done()
    if case.when == "pass the expiration time and run id expiry":
        host.clock.advance(host.settings.transactional_id_expiration_ms)
    appends = [effect for effect in host.coordinator.remove_expired_ids() if isinstance(effect, Append)]
    for append, outcome in zip(appends, outcomes, strict=False):
        host.coordinator.appended(append, outcome)
    log = expect.take("log")
    if log is not None:
        names = [f"tombstone {append.transactional_id}" for append in appends if append.value is None]
        for row in listed(log):
            matched("tombstone(?: one| two)?", row, "log")
        check("log", log, [name.removesuffix(" entry") for name in names])
        check("nothing but tombstones", len(appends), len(names))
    for name, wanted in expect.items():
        _compare(host, name, wanted)


def _entry(host: CoordinatorHost, producer_id: int, given: object) -> Transaction:
    """An entry as it stands in memory; ``fresh`` is Empty and just used, ``idle: expiration`` is unused for so long."""
    now_ms, idle_ms = host.clock.now_ms(), 0
    fields = Fields({"state": "Empty"} if given == "fresh" else given, "given entry")
    idle = fields.take("idle")
    if idle is not None:
        matched("expiration", idle, "idle")
        idle_ms = host.settings.transactional_id_expiration_ms
    state = state_of(fields.take("state"))
    transaction = Transaction(
        known=True,
        state=state,
        producer_id=int(fields.take("pid", producer_id)),
        producer_epoch=int(fields.take("epoch", 0)),
        timeout_ms=1000,
        start_ms=NONE if state == TransactionState.EMPTY else now_ms - idle_ms,
        last_update_ms=now_ms - idle_ms,
    )
    fields.done()
    return transaction


def _compare(host: CoordinatorHost, name: str, wanted: object) -> None:
    entry = host.coordinator.entries(0).get(name)
    if wanted == "gone":
        check(f"{name} is gone", expected=True, got=entry is None)
        check(f"get {name}", "TRANSACTIONAL_ID_NOT_FOUND", get(host, name))
    elif wanted == "usable":
        check(f"get {name}", "NONE", get(host, name))
        check(f"{name} pending", NONE, None if entry is None else entry.pending_state)
    else:
        raise NotRunnable(f"{name} {wanted!r} is not understood")


HANDLERS: Mapping[str, Callable[[Case], None]] = {
    r"(?:pass the expiration time and )?run id expiry": _expire,
}
