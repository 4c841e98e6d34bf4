"""What became of the records that a finding is about, in one or two sentences."""

from zombieproof.traces.circumstances import Harm, Shape
from zombieproof.traces.evidence import OFFSETS_TOPIC
from zombieproof.traces.explaining.scene import Scene
from zombieproof.traces.words import span

NO_HARM = {
    Shape.SEQUENCE_REPEATED: "The second copy was aborted: consumers that read committed get the records once.",
    Shape.MARKER_MISSING: "No record has another fate than was decided",
    Shape.DATA_PLAIN: "The plain record is visible at once, as plain records are, whatever becomes of the transaction.",
    Shape.RECORD_ILLEGAL: "No record of data is known to be affected; what the coordinator decided in between is not "
    "known.",
}


def effect_of(scene: Scene) -> str:
    """What it means for consumers, and whether something is open still."""
    told = scene.told
    if told.harm is Harm.NONE:
        effect = NO_HARM.get(told.shape, "No record has another fate than it should.") if told.shape else ""
        return effect + _held_back(scene) if told.shape is Shape.MARKER_MISSING else effect
    what = _what(scene)
    effect = EFFECTS[told.harm].format(
        what=what, were=_were(scene), them=_them(scene), place=scene.place, first=_opened_at(scene)
    )
    return f"{effect}{_closed(scene)}"


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


def _what(scene: Scene) -> str:
    told = scene.told
    if told.shape is Shape.ABSENT:
        return f"What was acknowledged at {_spans(scene)} of {scene.place}"
    if scene.log is not None and scene.log.topic == OFFSETS_TOPIC:
        return f"The position of a group at {_spans(scene)} of {scene.place}"
    if not scene.count:
        return f"What stands at offset {scene.finding.offset} of {scene.place}"
    noun = "record" if scene.count == 1 else "records"
    return f"{scene.count:,} {noun} of {scene.place} ({_spans(scene)})"


def _were(scene: Scene) -> str:
    return "is" if scene.count <= 1 else "are"


def _them(scene: Scene) -> str:
    return "it" if scene.count <= 1 else "them"


def _spans(scene: Scene) -> str:
    spans = scene.told.spans
    if not spans:
        return f"offset {scene.finding.offset}"
    more = f" and {len(spans) - 3:,} more places" if len(spans) > 3 else ""
    return ", ".join(span(*each) for each in spans[:3]) + more


def _opened_at(scene: Scene) -> int | None:
    told = scene.told
    return told.opened_at if told.opened_at is not None else scene.finding.offset


def _held_back(scene: Scene) -> str:
    ended = scene.told.ended_by
    if ended is None:
        return "; the partition holds no data of the transaction."
    return (
        f"; until the marker at offset {ended.offset} the last stable offset was held back. Nothing is open any more."
    )


def _closed(scene: Scene) -> str:
    ended = scene.told.ended_by
    if ended is None or scene.told.harm is Harm.STUCK:
        return ""
    if scene.told.shape in (Shape.DATA_LATE, Shape.DATA_UNLISTED, Shape.DATA_UNKNOWN) and ended.commits is False:
        return f" This is repaired by the ABORT marker at offset {ended.offset}: nothing is open any more."
    return f" The {ended.kind} marker at offset {ended.offset} has ended it: nothing is open any more."
