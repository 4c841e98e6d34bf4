"""Whether a recorded sequence can be played at a cluster that can be told nothing; and if not, why."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from pydantic import JsonValue

from zombieproof.conformance.forms import Form
from zombieproof.conformance.in_process import LAYOUT
from zombieproof.conformance.outside.introduction import Spoken
from zombieproof.conformance.recording import Recorded
from zombieproof.conformance.steps import Step
from zombieproof.formats.topics import INTERNAL_TOPICS
from zombieproof.model.releases import NEWEST_VERSIONS, RELEASES, UnknownRelease, newest_version
from zombieproof.model.rules import preset_for
from zombieproof.model.vocabulary import NONE, ApiKey

FAULTS: Final = frozenset({"Restart", "Move", "Stop", "Kill", "Return"})
READ_INSIDE: Final = frozenset({"AddPartitionsToTxn", "DescribeProducers"})
"""What may name a partition of an internal topic: it writes there no more than every transaction with offsets does."""
COMMITS: Final = frozenset({"OffsetCommit", "TxnOffsetCommit", "JoinGroup", "ConsumerGroupHeartbeat"})
WRITERS: Final = frozenset({"Metadata", "DeleteTopics", "CreateTopics", "CreatePartitions"})
MOST_SLEEP_MS: Final = 30_000


def release_of(spoken: Spoken) -> str:
    """The line of Kafka whose transactional requests are most like those of a broker; of equals the newest."""

    def likeness(line: str) -> int:
        return sum(newest_version(line, api) == _newest(spoken, api) for api in NEWEST_VERSIONS)

    return max(RELEASES, key=lambda line: (likeness(line), RELEASES.index(line)))


def _newest(spoken: Spoken, api: ApiKey) -> int:
    versions = spoken.versions.get(int(api), range(0))
    return versions[-1] if versions else NONE


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a broker is like, as far as a sequence has to fit: what it speaks, as which release, with which settings."""

    spoken: Spoken
    release: str
    settings: Mapping[str, str | None] = field(default_factory=dict)

    def reason_against(self, recorded: Recorded) -> str | None:
        """Why a sequence cannot be played; None: it can be. Sequences of the same kind have the same reason."""
        return next(self._reasons(recorded), None)

    def _reasons(self, recorded: Recorded) -> Iterator[str]:
        sequence = recorded.sequence
        if sequence.security is not None:
            yield "users and rights: brokers are asked without authentication"
        if sequence.tv != self.spoken.transaction_version:
            yield f"transaction.version {sequence.tv}: the broker is at {self.spoken.transaction_version}"
        if not self._has_rules_of(sequence.kafka, sequence.tv):
            yield f"release {sequence.kafka}: the broker speaks as {self.release} does"
        yield from self._unlike(sequence.config)
        for step in sequence.steps:
            yield from self._of_step(step)

    def _has_rules_of(self, kafka: str, transaction_version: int) -> bool:
        try:
            return preset_for(kafka, transaction_version) == preset_for(self.release, transaction_version)
        except UnknownRelease:
            return False

    def _unlike(self, config: Mapping[str, JsonValue]) -> Iterator[str]:
        for name, value in config.items():
            if name in LAYOUT:
                if name != "transaction.version":
                    yield f"setting {name}: brokers outside are as they are"
                continue
            own = self.settings.get(name, value if (name, value) in DEFAULTS else None)
            if str(own).lower() != str(value).lower():
                yield f"setting {name}={value}: the broker has {own}"

    def _of_step(self, step: Step) -> Iterator[str]:
        if step.api in FAULTS or step.node is not None:
            yield "a fault: brokers outside are neither restarted nor moved"
        if step.later is not None or step.api == "Answered":
            yield "whether an answer is still to come cannot be known outside"
        if step.API is not None and step.version not in self.spoken.versions.get(int(step.API.key), range(0)):
            yield f"{step.api} {step.version}: the broker does not speak it"
        if step.api == "Sleep" and step.request.ms > MOST_SLEEP_MS:  # type: ignore[attr-defined]  # a SleepForm
            yield f"it waits for longer than {MOST_SLEEP_MS} ms"
        if step.api == "Wait" and int(ApiKey.DESCRIBE_TRANSACTIONS) not in self.spoken.versions:
            yield "DescribeTransactions 0: the broker does not speak it"
        yield from _not_own(step)


DEFAULTS: Final = frozenset(
    {
        ("offset.metadata.max.bytes", 4096),
        ("transaction.max.timeout.ms", 900_000),
        ("transaction.partition.verification.enable", True),
        ("transaction.two.phase.commit.enable", False),
    }
)
"""Settings as every broker of Kafka has them that nobody has told otherwise: so they are taken where none is told."""


def _not_own(step: Step) -> Iterator[str]:
    """What of a step would touch more than what is the sequence's own."""
    if step.api in WRITERS and not (step.api == "Metadata" and getattr(step.request, "topics", None)):
        yield f"{step.api}: it is about more than the topics of the sequence"
    if step.api in COMMITS and getattr(step.request, "group", None) == "":
        yield "the group without a name may be somebody's"
    if step.api not in READ_INSIDE and any(topic in INTERNAL_TOPICS for topic in _topics_in(step.request)):
        yield f"{step.api} in an internal topic: others live there"


def _topics_in(form: object) -> Iterator[str]:
    """Every text in a form that may be the name of a topic."""
    if isinstance(form, str):
        yield form
    elif isinstance(form, Form):
        for name in type(form).model_fields:
            yield from _topics_in(getattr(form, name))
    elif isinstance(form, tuple):
        for each in form:
            yield from _topics_in(each)
