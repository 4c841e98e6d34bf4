"""Late copies that are refused for good: whoever receives them is asked (``statemachines``); no rule stands here."""

from zombieproof.checker.transactions.views import batch_view, end_txn_version, marker_view, mode
from zombieproof.checker.transactions.world import Kind, Message, Setup, Stage, World
from zombieproof.model.vocabulary import NONE
from zombieproof.statemachines.coordinator.late_copies import request_can_count
from zombieproof.statemachines.coordinator.records import IdRequest
from zombieproof.statemachines.partition_leader.forgetting import reads_its_log
from zombieproof.statemachines.partition_leader.late_copies import Copy, batch_can_count, marker_can_count


def is_refused_for_good(world: World, setup: Setup, message: Message) -> bool:
    """Whether nobody waits for the message, and it can never again change anything."""
    if message.live == 1 or message.kind == Kind.EMPTY or message.stage == Stage.APPENDING:
        return False
    if message.kind == Kind.MARKER:
        known, forgets = _known_epoch(world, message), _forgets(world, setup, message)
        return not marker_can_count(marker_view(message), known, forgets, setup.rules)
    if message.kind in (Kind.PRODUCE, Kind.TXN_OFFSET_COMMIT):
        if message.stage == Stage.TO_COORDINATOR:
            return False
        return not batch_can_count(batch_view(message, setup), _copy(world, setup, message), setup.rules)
    if message.kind in (Kind.END_TXN, Kind.ADD_PARTITIONS, Kind.ADD_OFFSETS):
        return _moves_nothing(world, setup, message)
    return False


def _copy(world: World, setup: Setup, message: Message) -> Copy:
    """What the coordinator has answered is left open: at best the copy comes to the log."""
    return Copy(
        1 if message.stage == Stage.BACK_TO_LEADER else 0,
        int(message.guard),
        mode(setup),
        1 if message.kind == Kind.TXN_OFFSET_COMMIT else 0,
        _known_epoch(world, message),
        _forgets(world, setup, message),
    )


def _known_epoch(world: World, message: Message) -> int:
    if message.producer_id < 0:
        return NONE
    return int(world.partitions[message.partition].entries[message.producer_id].producer_epoch)


def _forgets(world: World, setup: Setup, message: Message) -> int:
    """Whether the leader may come to know nothing of a producer: it forgets, or its successor does not read the log."""
    budget = world.budget
    changes = budget.leader_changes > 0 or budget.leaderless > 0 or world.partitions[message.partition].leader == 0
    return 1 if budget.forgotten > 0 or (changes and not reads_its_log(setup.rules)) else 0


def _moves_nothing(world: World, setup: Setup, message: Message) -> bool:
    durable = world.durable[setup.bounds.transactional_id[message.client]]
    if durable.known == 0 or durable.producer_id != message.producer_id:
        return False
    ends = 1 if message.kind == Kind.END_TXN else 0
    version = end_txn_version(setup) if ends == 1 else 3
    request = IdRequest(version, int(message.producer_id), int(message.producer_epoch), int(message.detail), 1)
    return not request_can_count(request, ends, durable.producer_epoch, setup.rules)
