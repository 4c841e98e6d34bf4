"""Late copies that are refused for good: whoever receives them is asked (``statemachines``); no rule stands here.

What they answer depends on little: on the epochs, and on what kind of copy it is. So it is asked once for each setup
(`ask_all`), and looked up in each state. Of epochs above `EPOCHS` nothing is dropped.
"""

from dataclasses import astuple
from functools import lru_cache

from zombieproof.checker.transactions import replicas
from zombieproof.checker.transactions.setup import EPOCHS, RefusedCopies, Setup
from zombieproof.checker.transactions.state import Message, State
from zombieproof.checker.transactions.views import BatchView, MarkerView, end_txn_version, mode
from zombieproof.checker.transactions.vocabulary import Kind, Stage
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE, TransactionVersion
from zombieproof.statemachines.coordinator.late_copies import request_can_count
from zombieproof.statemachines.coordinator.records import IdRequest
from zombieproof.statemachines.partition_leader.forgetting import reads_its_log
from zombieproof.statemachines.partition_leader.late_copies import Copy, batch_can_count, marker_can_count

CLASSIC = 3
"""The version of a request by which partitions join."""

FLAGS = (False, True)

BATCHES = ((False, False, False), (False, False, True), (False, True, False), (False, True, True), (True, True, False))
"""Of a group, transactional, behind another: what a batch may be of this."""


def is_refused_for_good(state: State, setup: Setup, message: Message) -> bool:
    """Whether nobody waits for the message, and it can never again change anything."""
    if message.live or message.kind == Kind.EMPTY or message.stage == Stage.APPENDING:
        return False
    epoch = int(message.producer_epoch)
    if message.kind in (Kind.END_TXN, Kind.ADD_PARTITIONS, Kind.ADD_OFFSETS):
        k = setup.bounds.transactional_id[message.client]
        durable, memory = state.durable[k], state.nodes[state.coordinator].cache[k]
        if not durable.known or durable.producer_id != message.producer_id:
            return False
        same = memory.known and memory.producer_id == durable.producer_id
        if same and memory.producer_epoch < durable.producer_epoch:
            # What is durable counts as failed: the coordinator goes on from what it had before.
            return False
        ends = message.kind == Kind.END_TXN
        known, kind = int(durable.producer_epoch), kind_of_request(ends, message.detail == 1)
        return _are_comparable(epoch, known) and setup.refused.requests[place_of(kind, known, epoch)]
    if message.producer_id < 0 or message.kind not in (Kind.MARKER, Kind.PRODUCE, Kind.TXN_OFFSET_COMMIT):
        return False
    known = _known_epoch(state, message)
    if not _are_comparable(epoch, known):
        return False
    forgets = _forgets(state, setup, message)
    if message.kind == Kind.MARKER:
        kind = kind_of_marker(message.detail == 1, message.stage == TransactionVersion.TV2, forgets)
        return setup.refused.markers[place_of(kind, known, epoch)]
    if message.stage not in (Stage.TO_LEADER, Stage.BACK_TO_LEADER):
        return False
    if message.stage == Stage.BACK_TO_LEADER and setup.bounds.verification_queue == 1:
        # Its answer is that of the others in its request too.
        return False
    of_group = message.kind == Kind.TXN_OFFSET_COMMIT
    transactional = of_group or setup.bounds.transactional_id[message.client] >= 0
    follows = not of_group and message.value > 0
    verified = message.stage == Stage.BACK_TO_LEADER
    kind = kind_of_batch(of_group, transactional, follows, verified, forgets)
    return setup.refused.batches[place_of(kind, known, epoch)]


def _known_epoch(state: State, message: Message) -> int:
    """The epoch that the leader knows of the producer, or that it can come to know when an election cuts its log."""
    p, producer_id = int(message.partition), int(message.producer_id)
    if len(state.replicas) > 0 and state.budget.truncations > 0:
        return replicas.settled_epoch(state, p, producer_id)
    return int(state.partitions[p].entries[producer_id].producer_epoch)


def _are_comparable(epoch: int, known: int) -> bool:
    """Whether the copy is of an epoch that is over, and both were asked about."""
    return 0 <= epoch < known < EPOCHS


def _forgets(state: State, setup: Setup, message: Message) -> bool:
    """Whether the leader may come to know nothing of a producer: it forgets, or its successor does not read the log."""
    budget = state.budget
    changes = budget.leader_changes > 0 or budget.leaderless > 0 or not state.partitions[message.partition].leader
    given = setup.budget
    if given.compactions > 0 or given.snapshots > 0 or given.retentions > 0:
        return True
    return budget.forgotten > 0 or (changes and not reads_its_log(setup.rules))


def kind_of_request(ends: bool, committed: bool) -> int:
    """EndTxn (`ends`) with its outcome, or a request by which partitions join."""
    return ends * 2 + committed


def kind_of_marker(committed: bool, is_tv2: bool, forgets: bool) -> int:
    """A marker, where leaders may forget producers (`forgets`) or not."""
    return (committed * 2 + is_tv2) * 2 + forgets


def kind_of_batch(of_group: bool, transactional: bool, follows: bool, verified: bool, forgets: bool) -> int:
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
    for ends in FLAGS:
        for committed in FLAGS:
            request = IdRequest(version if ends else CLASSIC, 0, epoch, committed, 1)
            place = place_of(kind_of_request(ends, committed), known, epoch)
            refused.requests[place] = not request_can_count(request, ends, known, rules)
    for forgets in FLAGS:
        for committed in FLAGS:
            for is_tv2 in FLAGS:
                marker = MarkerView(0, epoch, committed, 0, TransactionVersion.TV2 if is_tv2 else 0)
                place = place_of(kind_of_marker(committed, is_tv2, forgets), known, epoch)
                refused.markers[place] = not marker_can_count(marker, known, forgets, rules)
        for of_group, transactional, follows in BATCHES:
            for verified in FLAGS:
                sequence = NONE if of_group else int(follows)
                batch = BatchView(0, epoch, sequence, sequence, transactional)
                copy = Copy(verified, int(verified), how, of_group, known, forgets)
                place = place_of(kind_of_batch(of_group, transactional, follows, verified, forgets), known, epoch)
                refused.batches[place] = not batch_can_count(batch, copy, rules)
