"""What can be done about a transaction that is open, by what was decided about it. Source: reference §9.5."""

from collections.abc import Iterator

from zombieproof.formats.topics import TRANSACTION_STATE
from zombieproof.traces.explaining.meaning.when import in_words
from zombieproof.traces.explaining.scene.finding_scene import Scene
from zombieproof.traces.explaining.scene.shell import quoted
from zombieproof.traces.verdict.circumstances import Shape
from zombieproof.traces.verdict.explanation import Remedy

TRANSACTIONS = "kafka-transactions.sh --bootstrap-server HOST:PORT"


def remedy(name: str, sentence: str, cost: str, *commands: str) -> Remedy:
    """A remedy as it is reported."""
    return Remedy(name=name, sentence=sentence, commands=list(commands), cost=cost)


def records_in_words(scene: Scene) -> str:
    """The records of a finding, as the object of a sentence."""
    if scene.count == 1:
        return "the record"
    return f"the {scene.count:,} records" if scene.count else "the records"


def end_what_is_open(scene: Scene) -> Iterator[Remedy]:
    """Wait, commit or abort, whichever loses nothing that should count."""
    decided = scene.circumstances.decided
    if scene.circumstances.shape is Shape.TOLD_UNDECIDED:
        yield _wait(scene)
    elif scene.circumstances.shape is Shape.MARKER_MISSING and decided is not None and decided.commits:
        yield _commit_again(scene)
        yield _abort(
            scene,
            "Only if that cannot be done: abort what is open, then send its records again.",
            f"The abort loses {records_in_words(scene)}, of which the application was told that they are committed.",
        )
    elif scene.circumstances.shape is Shape.MARKER_MISSING and decided is not None:
        yield _abort(
            scene,
            "Abort what is open, before its producer commits again on this partition: that would make it visible.",
            "Nothing that should count: the coordinator had decided to abort it.",
        )
    elif scene.circumstances.shape is Shape.MARKER_MISSING:
        yield look_up_the_decision(scene)
    else:
        yield _abort(scene, "Abort what is open: nobody else ever will.", _cost_of_aborting_strangers(scene))


def _wait(scene: Scene) -> Remedy:
    limit, began = scene.timeout_ms, scene.began_ms
    until = in_words(began + limit)[0] if limit is not None and began is not None else ""
    when = f"from {until} on (its time-out of {limit:,} ms)" if until else "when its time-out is over"
    return remedy(
        "wait",
        f"Wait: the coordinator aborts it by itself {when}, or its producer ends it.",
        f"Until then consumers that read committed wait. An abort loses {records_in_words(scene)}: send again what is "
        "wanted.",
        f"{TRANSACTIONS} describe --transactional-id {quoted(scene.finding.transactional_id)}",
    )


def _commit_again(scene: Scene) -> Remedy:
    return remedy(
        "commit the next transaction",
        f"Do not abort anything yet. Let the producer with transactional id {scene.finding.transactional_id!r} commit "
        f"one more transaction that writes to {scene.place}: its COMMIT marker ends what is open there as committed "
        "too.",
        "Whatever aborts there first loses the records: an abort by the application, a restart of the producer while a "
        "transaction is open, a time-out, or kafka-transactions.sh abort. Until then consumers that read committed "
        "wait.",
    )


def look_up_the_decision(scene: Scene) -> Remedy:
    """Where it is not known what was decided: what says it."""
    is_open = scene.circumstances.ended_by is None
    return remedy(
        "find out what was decided",
        f"Replay together with the partition of {TRANSACTION_STATE} that knows producer id "
        f"{scene.finding.producer_id}: it says whether this transaction was "
        f"committed.{' Do not abort before.' if is_open else ''}",
        "An abort in between loses the records if they were committed." if is_open else "None.",
        f"{TRANSACTIONS} list",
    )


def _abort(scene: Scene, sentence: str, cost: str) -> Remedy:
    topic, partition = scene.finding.topic, scene.finding.partition
    at = f"--topic {topic} --partition {partition}"
    circumstances = scene.circumstances
    identity = f"--producer-id {scene.finding.producer_id} --producer-epoch {circumstances.data_epoch}"
    return remedy(
        "abort",
        f"{sentence} The second command is for brokers 3.0 and newer, the third for older ones.",
        cost,
        f"{TRANSACTIONS} find-hanging {at}",
        f"{TRANSACTIONS} abort {at} --start-offset {circumstances.opened_at}",
        f"{TRANSACTIONS} abort {at} {identity} --coordinator-epoch {_coordinator_epoch(scene)}",
    )


def _coordinator_epoch(scene: Scene) -> int:
    """Of the newest marker of the producer on the partition; 0 where it has none, as Kafka's tool sends it."""
    batches = scene.log.log.batches if scene.log else ()
    epochs = [b.marker.coordinator_epoch for b in batches if b.marker and b.producer_id == scene.finding.producer_id]
    return epochs[-1] if epochs else 0


def _cost_of_aborting_strangers(scene: Scene) -> str:
    decided = scene.circumstances.decided
    cost = f"The abort loses {records_in_words(scene)}, which consumers that read committed then never see."
    if decided is not None and decided.commits is False:
        return f"{cost} The last transaction of this epoch was aborted, so it is likely that nobody waits for that."
    return f"{cost} If the application takes that for written, send it again by key."
