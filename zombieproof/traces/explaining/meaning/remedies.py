"""What an operator can do about a finding: commands of Kafka's own tools with their arguments, and what each costs.

What has to be done about the records depends on what became of them (`Harm`), whatever the cause; what keeps it from
happening again depends on the cause. ``HOST:PORT`` in a command stands for a broker. Source: reference §9.5.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from zombieproof.traces.explaining.causes.cause import Cause
from zombieproof.traces.explaining.meaning.ending_what_is_open import (
    TRANSACTIONS,
    end_what_is_open,
    look_up_the_decision,
    records_in_words,
    remedy,
)
from zombieproof.traces.explaining.meaning.positions import commits_beside, reset_command
from zombieproof.traces.explaining.scene.finding_scene import Scene
from zombieproof.traces.explaining.scene.shell import quoted
from zombieproof.traces.verdict.circumstances import Harm, Shape
from zombieproof.traces.verdict.explanation import Remedy


def remedies_of(scene: Scene, causes: Sequence[Cause], *, is_certain: bool) -> list[Remedy]:
    """What can be done about the records, then what keeps it from happening again.

    `causes` are the likely ones (`is_certain`), or, where none is, those that are possible.
    """
    found = [*REPAIRS[scene.circumstances.harm](scene), *_about_the_evidence(scene)]
    prevented: set[str] = set()
    for cause in causes:
        for prevention in cause.preventions:
            if prevention.sentence in prevented:
                continue
            prevented.add(prevention.sentence)
            given = "" if is_certain else f'If the cause is "{cause.name.replace("_", " ")}": '
            found.append(remedy("prevent", f"{given}{prevention.sentence}", prevention.cost, *prevention.commands))
    return found


# ---- what is lost, visible, doubled or missing


def _lost(scene: Scene) -> Iterator[Remedy]:
    if scene.circumstances.shape is Shape.INDEX_INVENTS:
        yield _rebuild_index(scene)
        return
    if _is_of_groups(scene):
        yield _set_positions(scene, "The group will read again what it has processed: set its position forward.")
        return
    yield _send_again(scene)
    yield from _read_again(scene)


def _send_again(scene: Scene) -> Remedy:
    where = "" if scene.circumstances.ended_by is None else " Nothing is open any more, so there is nothing to abort."
    shown = " (their keys are listed)" if scene.has_keys and scene.count > 1 else ""
    return remedy(
        "send again",
        f"Send {records_in_words(scene)} again{shown}, in a new transaction.{where}",
        "What is sent again comes behind what was written since: of a key that has a newer record, send only what is "
        "still right. Consumers that read uncommitted get it twice.",
    )


def _read_again(scene: Scene) -> Iterator[Remedy]:
    """Where the same transaction committed positions of a group, its input can be read again."""
    for commit, before in commits_beside(scene):
        yield remedy(
            "read the input again",
            f"Or make them anew from their input: stop group {commit.group!r} and set it back on {commit.topic}-"
            f"{commit.partition} to where the transaction began.",
            "What the group wrote to other partitions from there on is written a second time.",
            reset_command(commit, before),
        )


def _visible(scene: Scene) -> Iterator[Remedy]:
    if scene.circumstances.shape is Shape.INDEX_LACKS:
        yield _rebuild_index(scene)
    elif _is_of_groups(scene):
        yield _set_positions(scene, "The group will skip input that was not processed: set its position back.")
    else:
        yield remedy(
            "correct",
            f"Write corrections for {records_in_words(scene)} by key (tombstones, or what was right before). They "
            "cannot be taken out of the log: kafka-delete-records.sh only cuts at its beginning.",
            f"Consumers that read {scene.place} beyond offset {_last(scene)} have used what stands there: let them "
            "read again from "
            f"offset {_first(scene)}, or correct their results.",
        )


def _doubled(scene: Scene) -> Iterator[Remedy]:
    yield remedy(
        "skip the second copy",
        f"Let consumers of {scene.place} leave {records_in_words(scene)} out: it stands at offset "
        f"{scene.circumstances.repeats_offset} already. It cannot be taken out of the log.",
        f"Consumers that are beyond offset {_last(scene)} have used it: correct their results by key, or let them "
        f"read again from offset {_first(scene)}. Where records are idempotent by key nothing is to do.",
    )


def _missing(scene: Scene) -> Iterator[Remedy]:
    circumstances = scene.circumstances
    which = "what is missing"
    if circumstances.expected_sequence is not None and circumstances.found_sequence is not None:
        count = circumstances.found_sequence - circumstances.expected_sequence
        # Sequences wrap to 0 behind the largest one.
        which = "the missing record" if count == 1 else f"the {count:,} missing records" if count > 0 else which
    yield remedy(
        "find and send again",
        f"Look for {which} on the other replicas of {scene.place}, or on the disk of the leader before (segments that "
        "were cut off are gone from a running broker), and send again what is found.",
        "What is sent again comes behind what was written since. Which keys it has is not in this evidence: the "
        "application's own "
        "log, or its input, may tell.",
    )


def _discarded(scene: Scene) -> Iterator[Remedy]:
    decided = scene.circumstances.decided
    if decided is not None and decided.commits is False:
        wanted = "The last transaction of this epoch was aborted too, so it is likely that nobody misses anything"
    else:
        wanted = f"If the application takes {records_in_words(scene)} for written, send again by key"
    yield remedy("check what is wanted", f"Nothing is open any more, and nothing is to abort. {wanted}.", "None.")


def _unknown(scene: Scene) -> Iterator[Remedy]:
    if scene.circumstances.shape is Shape.COPIES_DIFFER:
        yield remedy(
            "replace the wrong copy",
            f"Find out which copy the leader of {scene.place} serves; stop the other broker, move the partition's "
            "folder away, and start it: it fetches the partition anew.",
            "While it is away the partition has one replica less. What consumers read from the wrong copy is not "
            "undone.",
            f"kafka-topics.sh --bootstrap-server HOST:PORT --describe --topic {scene.finding.topic}",
        )
    else:
        yield look_up_the_decision(scene)


def _nothing(_: Scene) -> Iterator[Remedy]:
    yield from ()


REPAIRS: Final[dict[Harm, Callable[[Scene], Iterator[Remedy]]]] = {
    Harm.NONE: _nothing,
    Harm.LOST: _lost,
    Harm.VISIBLE: _visible,
    Harm.DOUBLED: _doubled,
    Harm.MISSING: _missing,
    Harm.STUCK: end_what_is_open,
    Harm.DISCARDED: _discarded,
    Harm.UNKNOWN: _unknown,
}


# ---- parts


def _rebuild_index(scene: Scene) -> Remedy:
    return remedy(
        "make the index anew",
        f"Stop the broker, move .index, .timeindex and .txnindex of the segment of {scene.place} that holds offset "
        f"{_first(scene)} away, and start it: it makes them from the log. Or let another replica lead.",
        f"Consumers that were beyond offset {_first(scene)} have read by the wrong index: let them read again from "
        "there.",
    )


def _set_positions(scene: Scene, sentence: str) -> Remedy:
    commands = [
        reset_command(commit, before) for commit, before in commits_beside(scene, wanted=scene.circumstances.harm)
    ]
    return remedy(
        "set the position", f"{sentence} Stop the group first.", "The group stands still meanwhile.", *commands
    )


def _about_the_evidence(scene: Scene) -> Iterator[Remedy]:
    """Where nothing can be repaired by what is known: what to fetch."""
    if scene.circumstances.harm is not Harm.NONE or scene.circumstances.shape is None:
        return
    if scene.circumstances.shape.name.startswith("RECORD") or scene.circumstances.shape is Shape.LINE_WITHOUT_RECORD:
        yield remedy(
            "look at its state",
            f"See what the coordinator has now for {scene.finding.transactional_id!r}; replay the other replicas of "
            f"its partition of {TRANSACTION_STATE}, and the data partitions that its transactions list.",
            "None.",
            f"{TRANSACTIONS} describe --transactional-id {quoted(scene.finding.transactional_id)}",
        )
    else:
        yield remedy("nothing to repair", "Nothing has to be repaired in the log.", "None.")


def _is_of_groups(scene: Scene) -> bool:
    return scene.finding.topic == CONSUMER_OFFSETS


def _first(scene: Scene) -> int | None:
    return scene.offsets[0] if scene.offsets else scene.finding.offset


def _last(scene: Scene) -> int | None:
    return scene.offsets[-1] if scene.offsets else scene.finding.offset
