"""ListTransactions: words of the state manager's cases."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from tests.conformance.baselines import rules_of
from tests.conformance.cases import Case, NotRunnable
from tests.conformance.host import CoordinatorHost
from tests.conformance.phrases import STATES, Fields, check, error_name, listed, matched
from zombieproof.messages.transactions import ListTransactions, ListTransactionsAnswer
from zombieproof.model.records import Transaction
from zombieproof.model.vocabulary import NONE, Error, TransactionState

VERSION = 2
"""The version of the requests: the first with a pattern."""


def _host(case: Case) -> CoordinatorHost:
    """A coordinator that holds the entries of *given*, as they stand in memory."""
    given = Fields(case.given, "given")
    host = CoordinatorHost(rules_of(case.baseline))
    host.coordinator.load(0, 0, [])
    loading = listed(given.take("loading", []))
    entries = given.take("entries")
    given.done()
    if entries is not None:
        held = host.coordinator._store.partitions[0].transactions
        held.update(_entries(entries, host.clock.now_ms()))
    for partition in loading:
        host.coordinator.begin_loading(int(partition), 1)
    return host


def _entries(phrase: object, now_ms: int) -> dict[str, Transaction]:
    """``t0 t1 Ongoing (age 3 s), t2 PrepareCommit t3 PrepareAbort (2 s), …; pid i for ti``.

    An age counts for its group; what has no age did not begin.
    """
    if not isinstance(phrase, str):
        raise NotRunnable(f"entries {phrase!r} are not understood")
    text, _, numbering = phrase.partition("; ")
    if numbering:
        matched("pid i for ti", numbering)
    found: dict[str, Transaction] = {}
    for group in text.split(", "):
        match = matched(r"(?P<words>[^()]+?)(?: \((?:age )?(?P<age>\d+) s\))?", group, "entries")
        start_ms = now_ms - 1000 * int(match["age"]) if match["age"] else NONE
        waiting: list[str] = []
        for word in match["words"].split():
            if word not in STATES:
                waiting.append(word)
                continue
            for name in waiting:
                number = int(matched(r"t(\d+)", name)[1]) if numbering else len(found)
                found[name] = Transaction(
                    known=True, state=STATES[word], producer_id=number, producer_epoch=0, start_ms=start_ms
                )
            waiting = []
        if waiting:
            raise NotRunnable(f"{' '.join(waiting)} has no state")
    return found


def _list(host: CoordinatorHost, **filters: Any) -> ListTransactionsAnswer:
    answer = getattr(host.coordinator.handle(ListTransactions(VERSION, **filters), 0)[0], "answer", None)
    assert isinstance(answer, ListTransactionsAnswer)
    return answer


def _compare(host: CoordinatorHost, what: str, wanted: object, answer: ListTransactionsAnswer) -> None:
    """A list of ids, or a mapping with the unknown names of states beside them."""
    check(f"{what}: error", "NONE", error_name(answer.error))
    got = [row.transactional_id for row in answer.transactions]
    if isinstance(wanted, dict):
        fields = Fields(wanted, what)
        unknown = fields.take("unknown")
        if any(name not in what for name in listed(unknown)):
            raise NotRunnable(f"{what}: {unknown!r} names a state that is not asked for")
        check(f"{what}: unknown", unknown, list(answer.unknown_states))
        wanted = fields.take("ids")
        fields.done()
    for name in listed(wanted):
        if name not in host.coordinator.entries(0):
            raise NotRunnable(f"{what}: {name!r} is no id that is given")
    check(what, sorted(wanted) if isinstance(wanted, list) else wanted, sorted(got))
    assert all(row.state in STATES and row.state != TransactionState.DEAD.name for row in answer.transactions)


def _each_filter(case: Case) -> None:
    host = _host(case)
    for phrase, wanted in Fields(case.expect, "expect").items():
        _compare(host, phrase, wanted, _list(host, **_filters(phrase)))


def _filters(phrase: str) -> dict[str, Any]:
    filters: dict[str, Any] = {}
    for part in [] if phrase == "none" else phrase.split(" + "):
        if re.fullmatch(r"duration>=\d+", part):
            filters["duration_ms"] = int(part.removeprefix("duration>="))
        elif re.fullmatch(r"pids \d+(,\d+)*", part):
            filters["producer_ids"] = tuple(int(number) for number in part.removeprefix("pids ").split(","))
        else:
            match = matched(r"(?:states )?([A-Z]\w*(?:,[A-Z]\w*)*)", part, "filter")
            filters["states"] = tuple(match[1].split(","))
    return filters


def _patterns(case: Case) -> None:
    host, expect = _host(case), Fields(case.expect, "expect")
    match = matched(
        r"list with pattern (?P<pattern>\S+) ; (?P<other>\w+) ; duration (?P<duration>\d+) and the pattern", case.when
    )
    pattern, other = match["pattern"], match["other"]
    _compare(host, "pattern", expect.take("pattern"), _list(host, pattern=pattern))
    _compare(host, other, expect.take(other), _list(host, pattern=other))
    both = _list(host, pattern=pattern, duration_ms=int(match["duration"]))
    _compare(host, "duration and pattern", expect.take("duration_and_pattern"), both)
    expect.done()


def _refused(case: Case) -> None:
    host, expect = _host(case), Fields(case.expect, "expect")
    match = matched(r"list (?:all|with pattern (?P<pattern>\S+))", case.when)
    answer = _list(host, pattern=match["pattern"])
    check("error", expect.take("error"), error_name(answer.error))
    check("ids beside an error", (), answer.transactions if answer.error != Error.NONE else ())
    expect.done()


HANDLERS: Mapping[str, Callable[[Case], None]] = {
    r"list with each filter": _each_filter,
    r"list with pattern \S+ ; .*": _patterns,
    r"list (?:all|with pattern \S+)": _refused,
}
