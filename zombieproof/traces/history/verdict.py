"""What the judge of histories answers: models of its JSON. Fields are added, never renamed or taken away."""

from pydantic import BaseModel, ConfigDict

from zombieproof.traces.history.anomalies import Anomaly


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Shown(_Data):
    """An event that shows an anomaly: where it stands, and the line itself."""

    file: str
    line: int
    at: int
    event: str


class HistoryFinding(_Data):
    """One anomaly. `sentence` says what its name means, `message` what was found."""

    anomaly: Anomaly
    sentence: str
    message: str
    events: list[Shown]


class HistoryCounts(_Data):
    """How much was judged: a verdict about nothing is worth nothing."""

    events: int
    processes: int
    transactions: int
    committed: int
    aborted: int
    unknown: int
    writes: int
    acknowledged: int
    reads: int
    readers: int


class HistoryVerdict(_Data):
    """The answer of `judge_history`: nothing that clients were told or have read contradicts the promises, or findings.

    Of transactions whose outcome is unknown it says only that they are one thing for everybody.
    """

    files: list[str]
    counts: HistoryCounts
    findings: list[HistoryFinding]

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings
