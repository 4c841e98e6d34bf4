"""Explaining: what each finding means, what became of which records, when, why it can have happened, what to do.

Finding comes first and stands alone (`replay`); nothing here changes a verdict.
"""

from zombieproof.traces.evidence import Evidence
from zombieproof.traces.explaining.causes.known import causes_of, in_words
from zombieproof.traces.explaining.meaning.effects import effect_of
from zombieproof.traces.explaining.meaning.records import records_of
from zombieproof.traces.explaining.meaning.remedies import remedies_of
from zombieproof.traces.explaining.meaning.when import moments_of
from zombieproof.traces.explaining.scene.finding_scene import Scene
from zombieproof.traces.explaining.scene.surroundings import Surroundings
from zombieproof.traces.verdict.explanation import Explanation, Values
from zombieproof.traces.verdict.report import Finding, Report

READ_FINDINGS_MAX = 200
"""For more findings than these, records are counted but not read again for their keys."""


def explain(report: Report, evidence: Evidence, values: Values = Values.NONE) -> Report:
    """The report with an explanation for each finding. Batches of lost or doubled records are read once more."""
    around = Surroundings(evidence)
    findings = []
    try:
        for number, finding in enumerate(report.findings, 1):
            explanation = explain_finding(finding, around, values, reads=number <= READ_FINDINGS_MAX)
            findings.append(finding.model_copy(update={"explanation": explanation}))
    finally:
        around.files.close()
    return report.model_copy(update={"findings": findings})


def explain_finding(
    finding: Finding, around: Surroundings, values: Values = Values.NONE, *, reads: bool = True
) -> Explanation:
    """What one finding means; without `reads` its records are counted and nothing is read for it."""
    scene = Scene(finding, around)
    records = records_of(scene, values, reads=reads)
    scene.has_keys = records is not None and bool(records.shown)
    causes = causes_of(scene)
    likely = [cause for cause, fits in causes if fits.is_likely]
    return Explanation(
        effect=effect_of(scene),
        records=records,
        moments=moments_of(scene),
        causes=[in_words(cause, fits) for cause, fits in causes],
        remedies=remedies_of(scene, likely or [cause for cause, _ in causes], is_certain=bool(likely)),
    )
