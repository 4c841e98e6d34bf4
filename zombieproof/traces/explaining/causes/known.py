"""Every cause that is known, as data, and those that fit a finding, the likely ones first."""

from functools import cache

from zombieproof.model.releases import RELEASES, is_between
from zombieproof.model.rules import switches
from zombieproof.traces.explaining.causes import of_data, of_markers, of_records
from zombieproof.traces.explaining.causes.cause import Cause, Recognised
from zombieproof.traces.explaining.causes.stories import STORIES
from zombieproof.traces.explaining.scene.finding_scene import Scene
from zombieproof.traces.verdict.explanation import CauseFound, RuleBroken, Shown

CAUSES: tuple[Cause, ...] = (*of_markers.CAUSES, *of_data.CAUSES, *of_records.CAUSES)

TRANSACTION_VERSION = RuleBroken(
    name="transaction_version",
    meaning="each transaction has an epoch of its own",
    source="KIP-890 part 2",
    lacking=[line for line in RELEASES if not is_between(line, "4.0", "")],
)
"""No switch but a field: clusters since 4.0 can be at 2, and lower ones still exist."""


def causes_of(scene: Scene) -> list[tuple[Cause, Recognised]]:
    """The causes that fit, likely ones first, each with how it was recognised; `UNKNOWN` if none does."""
    found = [
        (cause, fits)
        for cause in CAUSES
        if scene.circumstances.shape in cause.shapes and (fits := cause.recognise(scene))
    ]
    if any(fits.is_likely for _, fits in found):
        found = [(cause, fits) for cause, fits in found if not cause.is_last_resort]
    return sorted(found, key=lambda each: not each[1].is_likely) or [(of_records.UNKNOWN, Recognised(False))]


def in_words(cause: Cause, fits: Recognised) -> CauseFound:
    """A cause as it is reported."""
    witness = cause.witness
    shown = None
    if witness is not None:
        shown = Shown(scenario=witness.scenario, command=witness.command, story=STORIES[witness.scenario])
    return CauseFound(
        name=cause.name,
        sentence=cause.sentence,
        is_likely=fits.is_likely,
        because=fits.because,
        apart="" if fits.is_told else cause.apart,
        rules=[rule(name) for name in cause.switches],
        bugs=list(cause.bugs),
        issues=list(cause.issues),
        releases=cause.releases,
        shown_by=shown,
    )


@cache
def rule(name: str) -> RuleBroken:
    """A switch with what it means and the release lines that lack it."""
    if name == TRANSACTION_VERSION.name:
        return TRANSACTION_VERSION
    facts = next(each for each in switches() if each.name == name)
    lacking = [line for line in RELEASES if not is_between(line, facts.since, facts.until)]
    return RuleBroken(name=name, meaning=facts.meaning, source=facts.source, lacking=lacking)
