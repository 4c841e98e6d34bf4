"""Late copies that are refused for good: whoever receives them is asked (``statemachines``); no rule stands here.

What they answer depends on little: on the epochs, and on what kind of copy it is. So it is asked once for each setup
(`ask_all`), and looked up in each state. Of epochs above `EPOCHS` nothing is dropped.
"""

from dataclasses import astuple
from functools import lru_cache

from zombieproof.checker.transactions.state import EPOCHS, Kind, Message, RefusedCopies, Setup, Stage, State
from zombieproof.checker.transactions.views import BatchView, MarkerView, end_txn_version, mode
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, TransactionVersion
from zombieproof.statemachines.coordinator.late_copies import request_can_count
from zombieproof.statemachines.coordinator.records import IdRequest
from zombieproof.statemachines.partition_leader.forgetting import reads_its_log
from zombieproof.statemachines.partition_leader.late_copies import Copy, batch_can_count, marker_can_count

CLASSIC = 3
"""The version of a request by which partitions join."""


def is_refused_for_good(state: State, setup: Setup, message: Message) -> bool:
    """Whether nobody waits for the message, and it can never again change anything."""
    if message.live == 1 or message.kind == Kind.EMPTY or message.stage == Stage.APPENDING:
        return False
    epoch = int(message.producer_epoch)
    if message.kind in (Kind.END_TXN, Kind.ADD_PARTITIONS, Kind.ADD_OFFSETS):
        durable = state.durable[setup.bounds.transactional_id[message.client]]
        if not durable.known or durable.producer_id != message.producer_id:
            return False
        ends = 1 if message.kind == Kind.END_TXN else 0
        known, kind = int(durable.producer_epoch), kind_of_request(ends, message.detail)
        return _are_comparable(epoch, known) and setup.refused.requests[place_of(kind, known, epoch)] == 1
    if message.producer_id < 0 or message.kind not in (Kind.MARKER, Kind.PRODUCE, Kind.TXN_OFFSET_COMMIT):
        return False
    known = int(state.partitions[message.partition].entries[message.producer_id].producer_epoch)
    forgets = _forgets(state, setup, message)
    if not _are_comparable(epoch, known):
        return False
    if message.kind == Kind.MARKER:
        kind = kind_of_marker(message.detail, 1 if message.stage == TransactionVersion.TV2 else 0, forgets)
        return setup.refused.markers[place_of(kind, known, epoch)] == 1
    if message.stage not in (Stage.TO_LEADER, Stage.BACK_TO_LEADER):
        return False
    if message.stage == Stage.BACK_TO_LEADER and setup.bounds.verification_queue == 1:
        # Its answer is that of the others in its request too.
        return False
    of_group = 1 if message.kind == Kind.TXN_OFFSET_COMMIT else 0
    transactional = 1 if of_group == 1 or setup.bounds.transactional_id[message.client] >= 0 else 0
    follows = 1 if of_group == 0 and message.value > 0 else 0
    verified = 1 if message.stage == Stage.BACK_TO_LEADER else 0
    kind = kind_of_batch(of_group, transactional, follows, verified, forgets)
    return setup.refused.batches[place_of(kind, known, epoch)] == 1


def _are_comparable(epoch: int, known: int) -> bool:
    """Whether the copy is of an epoch that is over, and both were asked about."""
    return 0 <= epoch < known < EPOCHS


def _forgets(state: State, setup: Setup, message: Message) -> int:
    """Whether the leader may come to know nothing of a producer: it forgets, or its successor does not read the log."""
    budget = state.budget
    changes = budget.leader_changes > 0 or budget.leaderless > 0 or state.partitions[message.partition].leader == 0
    return 1 if budget.forgotten > 0 or (changes and not reads_its_log(setup.rules)) else 0


def kind_of_request(ends: int, committed: int) -> int:
    """EndTxn (`ends` 1) with its outcome, or a request by which partitions join."""
    return ends * 2 + committed


def kind_of_marker(committed: int, is_tv2: int, forgets: int) -> int:
    """A marker, where leaders may forget producers (`forgets` 1) or not."""
    return (committed * 2 + is_tv2) * 2 + forgets


def kind_of_batch(of_group: int, transactional: int, follows: int, verified: int, forgets: int) -> int:
    """A batch: behind another or the first (`follows`), with the coordinator's word under way or not (`verified`)."""
    return (((of_group * 2 + transactional) * 2 + follows) * 2 + verified) * 2 + forgets


def place_of(kind: int, known: int, epoch: int) -> int:
    """Where the answer stands for a copy of `epoch` that comes to who knows the epoch `known`."""
    return (kind * EPOCHS + known) * EPOCHS + epoch


def ask_all(setup: Setup) -> None:
    """Fill `setup.refused`, once rules and bounds are chosen."""
    found = _asked(astuple(setup.rules), mode(setup), end_txn_version(setup))
    setup.refused = RefusedCopies(list(found.requests), list(found.markers), list(found.batches))


@lru_cache(maxsize=256)
def _asked(values: tuple[int, ...], how: int, version: int) -> RefusedCopies:
    rules, refused = Rules(*values), RefusedCopies()
    for known in range(EPOCHS):
        for epoch in range(known):
            _ask(refused, rules, how, version, known, epoch)
    return refused


def _ask(refused: RefusedCopies, rules: Rules, how: int, version: int, known: int, epoch: int) -> None:
    for ends in (0, 1):
        for committed in (0, 1):
            request = IdRequest(version if ends else CLASSIC, 0, epoch, committed == 1, 1)
            place = place_of(kind_of_request(ends, committed), known, epoch)
            refused.requests[place] = 0 if request_can_count(request, ends == 1, known, rules) else 1
    for forgets in (0, 1):
        for committed in (0, 1):
            for is_tv2 in (0, 1):
                marker = MarkerView(0, epoch, committed == 1, 0, TransactionVersion.TV2 if is_tv2 else 0)
                place = place_of(kind_of_marker(committed, is_tv2, forgets), known, epoch)
                refused.markers[place] = 0 if marker_can_count(marker, known, forgets == 1, rules) else 1
        for of_group, transactional, follows in ((0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 1, 0)):
            for verified in (0, 1):
                sequence = NONE if of_group else follows
                batch = BatchView(0, epoch, sequence, sequence, transactional == 1)
                copy = Copy(verified == 1, verified, how, of_group == 1, known, forgets == 1)
                place = place_of(kind_of_batch(of_group, transactional, follows, verified, forgets), known, epoch)
                refused.batches[place] = 0 if batch_can_count(batch, copy, rules) else 1
