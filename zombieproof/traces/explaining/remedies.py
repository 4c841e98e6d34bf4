"""What an operator can do about a finding: commands of Kafka's own tools with their arguments, and what each costs.

What has to be done about the records depends on what became of them (`Harm`), whatever the cause; what keeps it from
happening again depends on the cause. ``HOST:PORT`` in a command stands for a broker. Source: reference §9.5.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from zombieproof.traces.circumstances import Harm, Shape
from zombieproof.traces.evidence import OFFSETS_TOPIC, TRANSACTION_TOPIC
from zombieproof.traces.explaining.cause import Cause
from zombieproof.traces.explaining.models import Remedy
from zombieproof.traces.explaining.positions import commits_beside, reset_command
from zombieproof.traces.explaining.scene import Scene
from zombieproof.traces.explaining.when import in_words

TRANSACTIONS: Final = "kafka-transactions.sh --bootstrap-server HOST:PORT"
STRANGERS: Final = (Shape.DATA_LATE, Shape.DATA_UNLISTED, Shape.DATA_UNKNOWN, Shape.DATA_FENCED)


def remedies_of(scene: Scene, causes: Sequence[Cause]) -> list[Remedy]:
    """What can be done about the records, then what keeps it from happening again."""
    found = [*REPAIRS[scene.told.harm](scene), *_about_the_evidence(scene)]
    prevented: set[str] = set()
    for cause in causes:
        for prevention in cause.preventions:
            if prevention.sentence not in prevented:
                prevented.add(prevention.sentence)
                commands = list(prevention.commands)
                found.append(
                    Remedy(name="prevent", sentence=prevention.sentence, commands=commands, cost=prevention.cost)
                )
    return found


def _remedy(name: str, sentence: str, cost: str, *commands: str) -> Remedy:
    return Remedy(name=name, sentence=sentence, commands=list(commands), cost=cost)


# ---- what is open


def _stuck(scene: Scene) -> Iterator[Remedy]:
    decided = scene.told.decided
    if scene.told.shape is Shape.TOLD_UNDECIDED:
        yield _wait(scene)
    elif scene.told.shape is Shape.MARKER_MISSING and decided is not None and decided.commits:
        yield _commit_again(scene)
        yield _abort(
            scene,
            "Only if that cannot be done: abort what is open, then send its records again.",
            f"The abort loses {_records(scene)}, of which the application was told that they are committed.",
        )
    elif scene.told.shape is Shape.MARKER_MISSING and decided is not None:
        yield _abort(
            scene,
            "Abort what is open, before its producer commits again on this partition: that would make it visible.",
            "Nothing that should count: the coordinator had decided to abort it.",
        )
    elif scene.told.shape is Shape.MARKER_MISSING:
        yield _look_up_the_decision(scene)
    else:
        yield _abort(scene, "Abort what is open: nobody else ever will.", _cost_of_aborting_strangers(scene))


def _wait(scene: Scene) -> Remedy:
    limit, began = scene.timeout_ms, scene.began_ms
    until = in_words(began + limit)[0] if limit is not None and began is not None else ""
    when = f"from {until} on (its time-out of {limit:,} ms)" if until else "when its time-out is over"
    return _remedy(
        "wait",
        f"Wait: the coordinator aborts it by itself {when}, or its producer ends it.",
        f"Until then consumers that read committed wait. An abort loses {_records(scene)}: send again what is wanted.",
        f"{TRANSACTIONS} describe --transactional-id {scene.finding.transactional_id}",
    )


def _commit_again(scene: Scene) -> Remedy:
    return _remedy(
        "commit the next transaction",
        f"Do not abort anything yet. Let the producer with transactional id {scene.finding.transactional_id!r} commit "
        f"one more transaction that writes to {scene.place}: its COMMIT marker ends what is open there as committed "
        "too.",
        "Whatever aborts there first loses the records: an abort by the application, a restart of the producer while a "
        "transaction is open, a time-out, or kafka-transactions.sh abort. Until then consumers that read committed "
        "wait.",
    )


def _look_up_the_decision(scene: Scene) -> Remedy:
    return _remedy(
        "find out what was decided",
        f"Replay together with the partition of {TRANSACTION_TOPIC} that knows producer id "
        f"{scene.finding.producer_id}: it says whether this transaction was committed. Do not abort before.",
        "None; an abort in between loses the records if they were committed.",
        f"{TRANSACTIONS} list",
    )


def _abort(scene: Scene, sentence: str, cost: str) -> Remedy:
    topic, partition = scene.finding.topic, scene.finding.partition
    at = f"--topic {topic} --partition {partition}"
    told = scene.told
    identity = f"--producer-id {scene.finding.producer_id} --producer-epoch {told.data_epoch}"
    return _remedy(
        "abort",
        f"{sentence} The second command is for brokers 3.0 and newer, the third for older ones.",
        cost,
        f"{TRANSACTIONS} find-hanging {at}",
        f"{TRANSACTIONS} abort {at} --start-offset {told.opened_at}",
        f"{TRANSACTIONS} abort {at} {identity} --coordinator-epoch {_coordinator_epoch(scene)}",
    )


def _coordinator_epoch(scene: Scene) -> int:
    """Of the newest marker of the producer on the partition; 0 where it has none, as Kafka's tool sends it."""
    batches = scene.log.batches if scene.log else ()
    epochs = [b.marker.coordinator_epoch for b in batches if b.marker and b.producer_id == scene.finding.producer_id]
    return epochs[-1] if epochs else 0


def _cost_of_aborting_strangers(scene: Scene) -> str:
    decided = scene.told.decided
    cost = f"The abort loses {_records(scene)}, which consumers that read committed then never see."
    if decided is not None and decided.commits is False:
        return f"{cost} The last transaction of this epoch was aborted, so it is likely that nobody waits for that."
    return f"{cost} If the application takes that for written, send it again by key."


# ---- what is lost, visible, doubled or missing


def _lost(scene: Scene) -> Iterator[Remedy]:
    if scene.told.shape is Shape.INDEX_INVENTS:
        yield _rebuild_index(scene)
        return
    if _is_of_groups(scene):
        yield _set_positions(scene, "The group will read again what it has processed: set its position forward.")
        return
    yield _send_again(scene)
    yield from _read_again(scene)


def _send_again(scene: Scene) -> Remedy:
    where = "" if scene.told.ended_by is None else " Nothing is open any more, so there is nothing to abort."
    shown = " (keys above)" if scene.count else ""
    return _remedy(
        "send again",
        f"Send {_records(scene)} again{shown}, in a new transaction.{where}",
        "What is sent again comes behind what was written since: of a key that has a newer record, send only what is "
        "still right. Consumers that read uncommitted get it twice.",
    )


def _read_again(scene: Scene) -> Iterator[Remedy]:
    """Where the same transaction committed positions of a group, its input can be read again."""
    for commit, before in commits_beside(scene):
        yield _remedy(
            "read the input again",
            f"Or make them anew from their input: stop group {commit.group!r} and set it back on {commit.topic}-"
            f"{commit.partition} to where the transaction began.",
            "What the group wrote to other partitions from there on is written a second time.",
            reset_command(commit, before),
        )


def _visible(scene: Scene) -> Iterator[Remedy]:
    if scene.told.shape is Shape.INDEX_LACKS:
        yield _rebuild_index(scene)
    elif _is_of_groups(scene):
        yield _set_positions(scene, "The group will skip input that was not processed: set its position back.")
    else:
        yield _remedy(
            "correct",
            f"Write corrections for {_records(scene)} by key (tombstones, or what was right before). They cannot be "
            "taken out of the log: kafka-delete-records.sh only cuts at its beginning.",
            f"Consumers that read {scene.place} beyond offset {_last(scene)} have used them: let them read again from "
            f"offset {_first(scene)}, or correct their results.",
        )


def _doubled(scene: Scene) -> Iterator[Remedy]:
    yield _remedy(
        "skip the second copy",
        f"Let consumers of {scene.place} leave {_records(scene)} out: the same records stand at offset "
        f"{scene.told.repeats_offset} already. They cannot be taken out of the log.",
        f"Consumers that are beyond offset {_last(scene)} have used them: correct their results by key, or let them "
        f"read again from offset {_first(scene)}. Where records are idempotent by key nothing is to do.",
    )


def _missing(scene: Scene) -> Iterator[Remedy]:
    told = scene.told
    which = "what is missing"
    if told.expected_sequence is not None and told.found_sequence is not None:
        count = told.found_sequence - told.expected_sequence
        # Sequences wrap to 0 behind the largest one.
        which = f"the {count:,} missing records" if count > 0 else which
    yield _remedy(
        "find and send again",
        f"Look for {which} on the other replicas of {scene.place}, or on the disk of the leader before (segments that "
        "were cut off are gone from a running broker), and send them again.",
        "What is sent again comes behind what was written since. Which keys it has is not in this evidence: the "
        "application's own "
        "log, or its input, may tell.",
    )


def _discarded(scene: Scene) -> Iterator[Remedy]:
    decided = scene.told.decided
    if decided is not None and decided.commits is False:
        wanted = "The last transaction of their epoch was aborted too, so it is likely that nobody waits for them"
    else:
        wanted = "If the application takes them for written, send them again by key"
    yield _remedy(
        "check whether they are wanted", f"Nothing is open any more, and nothing is to abort. {wanted}.", "None."
    )


def _unknown(scene: Scene) -> Iterator[Remedy]:
    if scene.told.shape is Shape.COPIES_DIFFER:
        yield _remedy(
            "replace the wrong copy",
            f"Find out which copy the leader of {scene.place} serves; stop the other broker, move the partition's "
            "folder away, and start it: it fetches the partition anew.",
            "While it is away the partition has one replica less. What consumers read from the wrong copy is not "
            "undone.",
            f"kafka-topics.sh --bootstrap-server HOST:PORT --describe --topic {scene.finding.topic}",
        )
    else:
        yield _look_up_the_decision(scene)


def _nothing(_: Scene) -> Iterator[Remedy]:
    yield from ()


REPAIRS: Final[dict[Harm, Callable[[Scene], Iterator[Remedy]]]] = {
    Harm.NONE: _nothing,
    Harm.LOST: _lost,
    Harm.VISIBLE: _visible,
    Harm.DOUBLED: _doubled,
    Harm.MISSING: _missing,
    Harm.STUCK: _stuck,
    Harm.DISCARDED: _discarded,
    Harm.UNKNOWN: _unknown,
}


# ---- parts


def _rebuild_index(scene: Scene) -> Remedy:
    return _remedy(
        "make the index anew",
        f"Stop the broker, move .index, .timeindex and .txnindex of the segment of {scene.place} that holds offset "
        f"{_first(scene)} away, and start it: it makes them from the log. Or let another replica lead.",
        f"Consumers that were beyond offset {_first(scene)} have read by the wrong index: let them read again from "
        "there.",
    )


def _set_positions(scene: Scene, sentence: str) -> Remedy:
    commands = [reset_command(commit, before) for commit, before in commits_beside(scene, wanted=scene.told.harm)]
    return _remedy(
        "set the position", f"{sentence} Stop the group first.", "The group stands still meanwhile.", *commands
    )


def _about_the_evidence(scene: Scene) -> Iterator[Remedy]:
    """Where nothing can be repaired by what is known: what to fetch."""
    if scene.told.harm is not Harm.NONE or scene.told.shape is None:
        return
    if scene.told.shape.name.startswith("RECORD") or scene.told.shape is Shape.LINE_WITHOUT_RECORD:
        yield _remedy(
            "look at its state",
            f"See what the coordinator has now for {scene.finding.transactional_id!r}; replay the other replicas of "
            "its "
            f"partition of {TRANSACTION_TOPIC}, and the data partitions that its transactions list.",
            "None.",
            f"{TRANSACTIONS} describe --transactional-id {scene.finding.transactional_id}",
        )
    else:
        yield _remedy("nothing to repair", "Nothing has to be repaired in the log.", "None.")


def _is_of_groups(scene: Scene) -> bool:
    return scene.finding.topic == OFFSETS_TOPIC


def _records(scene: Scene) -> str:
    if scene.count == 1:
        return "the record"
    return f"the {scene.count:,} records" if scene.count else "the records"


def _first(scene: Scene) -> int | None:
    return scene.offsets[0] if scene.offsets else scene.finding.offset


def _last(scene: Scene) -> int | None:
    return scene.offsets[-1] if scene.offsets else scene.finding.offset
