"""What became of the records that a finding is about, in one or two sentences."""

from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.traces.explaining.scene.finding_scene import Scene
from zombieproof.traces.judging.histories.words import span
from zombieproof.traces.verdict.circumstances import Harm, Shape

NO_HARM = {
    Shape.SEQUENCE_REPEATED: "The second copy was aborted: consumers that read committed get the records once.",
    Shape.MARKER_MISSING: "No record has another fate than was decided",
    Shape.DATA_PLAIN: "The plain record is visible at once, as plain records are, whatever becomes of the transaction.",
    Shape.RECORD_ILLEGAL: "No record of data is known to be affected; what the coordinator decided in between is not "
    "known.",
}


def effect_of(scene: Scene) -> str:
    """What it means for consumers, and whether something is open still."""
    circumstances = scene.circumstances
    if circumstances.harm is Harm.NONE:
        effect = (
            NO_HARM.get(circumstances.shape, "No record has another fate than it should.")
            if circumstances.shape
            else ""
        )
        return effect + _held_back(scene) if circumstances.shape is Shape.MARKER_MISSING else effect
    effect = _form(scene).format(
        what=_what(scene), were=_were(scene), them=_them(scene), first=_opened_at(scene), place=scene.place
    )
    more = f" So it is with {', '.join(circumstances.elsewhere)}." if circumstances.elsewhere else ""
    return f"{effect[:1].upper()}{effect[1:]}{more}{_closed(scene)}"


def _form(scene: Scene) -> str:
    circumstances = scene.circumstances
    if scene.finding.topic == CONSUMER_OFFSETS and circumstances.harm in EFFECTS_ON_GROUPS:
        return EFFECTS_ON_GROUPS[circumstances.harm]
    if circumstances.shape is Shape.TOLD_NOTHING and circumstances.harm is Harm.LOST:
        return PART_OF_A_TRANSACTION
    if circumstances.shape is Shape.ABSENT:
        return NOT_THERE
    return COPIES if circumstances.shape is Shape.COPIES_DIFFER else EFFECTS[circumstances.harm]


EFFECTS = {
    Harm.LOST: "{what} should be committed, and consumers that read committed never see {them}.",
    Harm.VISIBLE: "{what} should not count, and consumers that read committed see {them}.",
    Harm.DOUBLED: "{what} {were} there a second time: every consumer gets {them} twice.",
    Harm.MISSING: "Records in front of {what} are missing: no consumer ever gets them.",
    Harm.STUCK: "{what} {were} open: the last stable offset stays at {first}, so consumers that read committed get "
    "nothing from there on, whoever wrote it, and the cleaner stops there.",
    Harm.DISCARDED: "{what} {were} aborted without a decision about it: consumers that read committed do not see "
    "{them}.",
    Harm.UNKNOWN: "Whether {what} should count cannot be told from this evidence.",
}


EFFECTS_ON_GROUPS = {
    Harm.LOST: "{what} was committed and does not count: the group reads again what it has processed.",
    Harm.VISIBLE: "{what} should not count and does: the group skips what was not processed.",
}
PART_OF_A_TRANSACTION = (
    "{what} {were} aborted, though other records of the same transaction are visible to consumers that read committed."
)
NOT_THERE = "{what} is not in the log: no consumer ever gets it."
COPIES = (
    "Consumers get what the leader of {place} holds; which of the copies that is cannot be told from this evidence."
)


def _what(scene: Scene) -> str:
    circumstances = scene.circumstances
    if circumstances.shape is Shape.ABSENT:
        return f"what was acknowledged at {_spans(scene)} of {scene.place}"
    if scene.finding.topic == CONSUMER_OFFSETS:
        return f"the position of a group at {_spans(scene)} of {scene.place}"
    if not scene.count:
        return f"what stands at offset {scene.finding.offset} of {scene.place}"
    noun = "record" if scene.count == 1 else "records"
    return f"{scene.count:,} {noun} of {scene.place} ({_spans(scene)})"


def _were(scene: Scene) -> str:
    return "is" if scene.count <= 1 else "are"


def _them(scene: Scene) -> str:
    return "it" if scene.count <= 1 else "them"


def _spans(scene: Scene) -> str:
    spans = scene.circumstances.spans
    if not spans:
        return f"offset {scene.finding.offset}"
    more = f" and {len(spans) - 3:,} more places" if len(spans) > 3 else ""
    return ", ".join(span(*each) for each in spans[:3]) + more


def _opened_at(scene: Scene) -> int | None:
    circumstances = scene.circumstances
    return circumstances.opened_at if circumstances.opened_at is not None else scene.finding.offset


def _held_back(scene: Scene) -> str:
    ended = scene.circumstances.ended_by
    if ended is None:
        return "; the partition holds no data of the transaction."
    return (
        f"; until the marker at offset {ended.offset} the last stable offset was held back. Nothing is open any more."
    )


def _closed(scene: Scene) -> str:
    ended = scene.circumstances.ended_by
    if ended is None or scene.circumstances.harm not in (Harm.LOST, Harm.VISIBLE, Harm.DISCARDED, Harm.UNKNOWN):
        return ""
    if (
        scene.circumstances.shape in (Shape.DATA_LATE, Shape.DATA_UNLISTED, Shape.DATA_UNKNOWN)
        and ended.commits is False
    ):
        return f" This is repaired by the ABORT marker at offset {ended.offset}: nothing is open any more."
    return f" The {ended.kind} marker at offset {ended.offset} has ended {_them(scene)}: nothing is open any more."
