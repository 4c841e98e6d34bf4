"""Instances: whoever lost its transactional id to another process gets nothing committed any more."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate

from zombieproof.traces.history.anomalies import Anomaly, Found
from zombieproof.traces.history.events import CommitOffsets, End, Event, Init, Initialized, Send
from zombieproof.traces.history.facts import Facts

Asked = Send | CommitOffsets | End


def a_zombie_writes_nothing_that_counts(facts: Facts) -> Iterator[Found]:
    """What a process began after another one has its transactional id is not committed: records, offsets, ends."""
    taken_at = _taken_over(facts)
    for transaction in facts.transactions.values():
        successor = taken_at.get(transaction.begin.process)
        if successor is None or not transaction.is_committed:
            continue
        writes = (write.send for write in transaction.writes if write.is_acknowledged)
        offsets = (commit.sent for commit in transaction.offsets if commit.is_acknowledged)
        begun = (*writes, *offsets, *((transaction.commit,) if transaction.commit is not None else ()))
        late = next((event for event in begun if event.at > successor.at), None)
        if late is not None:
            known = transaction.seen or transaction.told
            assert known is not None, "it is known to be committed"
            message = (
                f"{transaction.name} of {transaction.begin.process} is committed, "
                f"with what it did after {successor.process} had its transactional id"
            )
            yield Found(Anomaly.ZOMBIE_WRITE, message, (successor, late, known))


def _taken_over(facts: Facts) -> dict[str, Initialized]:
    """By process who had its id first, of those that asked for it after the process had it; others may be older."""
    by_id: dict[str, list[tuple[Init, Initialized]]] = defaultdict(list)
    for one in facts.instances.values():
        if one.init is not None and one.initialized is not None:
            by_id[one.init.transactional_id].append((one.init, one.initialized))
    found: dict[str, Initialized] = {}
    for instances in by_id.values():
        instances.sort(key=lambda each: each[0].at)
        asked = [init.at for init, _ in instances]
        # From each place on: who was told first.
        first = list(accumulate([told for _, told in reversed(instances)], _earlier))[::-1]
        for _, told in instances:
            index = bisect_right(asked, told.at)
            if index < len(first):
                found[told.process] = first[index]
    return found


def _earlier(one: Initialized, other: Initialized) -> Initialized:
    return one if one.at < other.at else other


def who_is_fenced_stays_so(facts: Facts) -> Iterator[Found]:
    """What a process begins after it was told that it is fenced does not succeed."""
    fenced = {one.process: one.fenced for one in facts.instances.values() if one.fenced is not None}
    if not fenced:
        return
    for asked, told in _successes(facts):
        known = fenced.get(asked.process)
        if known is not None and asked.at > known.at:
            message = f"{asked.process} was told that it is fenced, and succeeded with what it began afterwards"
            yield Found(Anomaly.ACKNOWLEDGED_AFTER_FENCED, message, (known, asked, told))


def _successes(facts: Facts) -> Iterator[tuple[Asked, Event]]:
    for write in facts.writes.values():
        if write.sent is not None and write.is_acknowledged:
            yield write.send, write.sent
    for commit in facts.commits:
        if commit.told is not None and commit.told.outcome == "ok":
            yield commit.sent, commit.told
    for transaction in facts.transactions.values():
        if transaction.commit is not None and transaction.told and transaction.told.outcome == "committed":
            yield transaction.commit, transaction.told
