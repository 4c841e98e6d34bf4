"""Explaining: what each finding means, what became of which records, when, why it can have happened, what to do.

Finding comes first and stands alone (`replay`); nothing here changes a verdict.
"""

from zombieproof.traces.evidence import Evidence
from zombieproof.traces.explaining.causes import causes_of, in_words
from zombieproof.traces.explaining.effects import effect_of
from zombieproof.traces.explaining.models import Explanation, Values
from zombieproof.traces.explaining.records import records_of
from zombieproof.traces.explaining.remedies import remedies_of
from zombieproof.traces.explaining.scene import Scene
from zombieproof.traces.explaining.when import moments_of
from zombieproof.traces.verdict import Finding, Report


def explain(report: Report, evidence: Evidence, values: Values = Values.NONE) -> Report:
    """The report with an explanation for each finding. Batches of lost or doubled records are read once more."""
    findings = [
        finding.model_copy(update={"explanation": explain_finding(finding, evidence, values)})
        for finding in report.findings
    ]
    return report.model_copy(update={"findings": findings})


def explain_finding(finding: Finding, evidence: Evidence, values: Values = Values.NONE) -> Explanation:
    """What one finding means."""
    scene = Scene(finding, evidence)
    causes = causes_of(scene)
    return Explanation(
        effect=effect_of(scene),
        records=records_of(scene, values),
        moments=moments_of(scene),
        causes=[in_words(cause, fits) for cause, fits in causes],
        remedies=remedies_of(scene, [cause for cause, _ in causes]),
    )
