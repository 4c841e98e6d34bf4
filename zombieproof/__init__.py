"""Kafka's exactly-once protocol as explicit state machines: the public API.

- Check a scenario: `check("zombie_takeover")`, `tell`, `save`; the scenarios that come with it are `SCENARIOS`.
- Define one of your own, and check it: `transaction_scenario` and `Op` for producers of Kafka, `Model`, `Promise`,
  `Machine` and `Scenario` for any protocol; `Mutant`, `array`, `integer`.
- Judge what a real cluster left behind: `replay(folder)`, which gives a `Report`.
- Judge what clients were told and read: `judge_history(file)`, of what a `HistoryWriter` wrote around them.
- Compare brokers in this process with recorded answers of real ones: `conform(recording)`.
- Run brokers in this process: `Cluster`, its messages (`InitProducerId`, `Produce`, `EndTxn`, `Fetch`, ...); over logs
  on disk `Embedded`, with a `Durability`; with a trace of all that they do `LiveTraceFile`.
- Run clients at them: `Producer` and `Consumer` (for asyncio `AsyncProducer` and `AsyncConsumer`) over a
  `ClusterTransport` or `EmbeddedTransport`, `ProducerSettings` and `ConsumerSettings` by Kafka's names, failures that
  say what to do next (`AbortableError`, `FatalError`, `CommitRefused`, ...).
- Let brokers misbehave for a test: a `Plan` of faults (`load_plan`); the fixture `txn_broker` is of `TestedBrokers`.
- Choose rules: `preset("3.9")`, `with_switches`, `PRESETS`.

Names are loaded when they are first used: importing this package loads nothing else. The deep paths are open to read
(`zombieproof.model`: what is true, `zombieproof.statemachines`: what may follow what, `zombieproof.checker`: what can
happen, `zombieproof.traces`: what happened) and may move between releases; the names here stay.
"""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from zombieproof.api.checking import check, save, tell
    from zombieproof.api.conforming import conform
    from zombieproof.api.judging import judge_history
    from zombieproof.api.replaying import replay
    from zombieproof.api.scenarios import UnknownScenario, scenario
    from zombieproof.bridge.under_test import TestedBrokers
    from zombieproof.broker.cluster.cluster import Cluster
    from zombieproof.broker.cluster.live_trace import LiveTraceFile
    from zombieproof.broker.cluster.network import Answer, Request
    from zombieproof.broker.cluster.settings import Settings
    from zombieproof.broker.data_directory import DataDirectoryError
    from zombieproof.broker.embedded import Embedded
    from zombieproof.broker.store.config import Durability, LogConfig
    from zombieproof.checker.checking import UnknownMutant
    from zombieproof.checker.engine.model import Malformed, Model, Promise
    from zombieproof.checker.own import OwnFault
    from zombieproof.checker.scenario import Mutant, Scenario, UnknownBound
    from zombieproof.checker.scenarios import SCENARIOS
    from zombieproof.checker.transactions.scenario import ALWAYS, transaction_scenario
    from zombieproof.checker.transactions.vocabulary import Op
    from zombieproof.checker.validation import ScenarioFault
    from zombieproof.clients.aio import AsyncProducer
    from zombieproof.clients.aio_consumer import AsyncConsumer
    from zombieproof.clients.consumer import Consumer
    from zombieproof.clients.consumer_errors import (
        CommitRefused,
        ConsumerFailure,
        FencedInstance,
        GroupRefused,
        NoOffset,
        ReadRefused,
        RebalanceUnderWay,
        TimedOut,
    )
    from zombieproof.clients.consumer_operations import RebalanceListener
    from zombieproof.clients.embedded_transport import EmbeddedTransport
    from zombieproof.clients.errors import (
        AbortableError,
        ApplicationRecoverable,
        CallTimedOut,
        FatalError,
        IllegalState,
        InvalidConfiguration,
        ProducerFailure,
        ProducerFenced,
    )
    from zombieproof.clients.partition_reader import ConsumerRecord
    from zombieproof.clients.pending_transactions import SpillFailed
    from zombieproof.clients.producer import Producer
    from zombieproof.clients.read_committed import CorruptBatchError
    from zombieproof.clients.settings import ConsumerSettings, ProducerSettings, SettingsError
    from zombieproof.clients.transactional_requests import GroupMetadata
    from zombieproof.clients.transport import ClusterTransport, Transport
    from zombieproof.clients.values import OffsetAndMetadata, RecordMetadata
    from zombieproof.conformance.recording import RecordingError
    from zombieproof.conformance.tally import Tally
    from zombieproof.formats.batches import Batch, Record
    from zombieproof.messages.partitions import Fetch, FetchAnswer, Produce, ProduceAnswer, SentBatch
    from zombieproof.messages.transactions import (
        AddPartitionsToTxn,
        EndTxn,
        EndTxnAnswer,
        InitProducerId,
        InitProducerIdAnswer,
    )
    from zombieproof.model.fields import array, integer
    from zombieproof.model.rules import PRESETS, Rules, UnknownRule, preset, preset_for, switches, with_switches
    from zombieproof.model.vocabulary import Error, Isolation
    from zombieproof.report.runs import Run
    from zombieproof.report.story import Story
    from zombieproof.statemachines.kernel import ILLEGAL, Machine, T
    from zombieproof.traces.evidence import EvidenceError
    from zombieproof.traces.history.anomalies import Anomaly
    from zombieproof.traces.history.events import Input
    from zombieproof.traces.history.history_file import History, HistoryError
    from zombieproof.traces.history.verdict import HistoryFinding, HistoryVerdict
    from zombieproof.traces.history.writer import HistoryWriter
    from zombieproof.traces.verdict.explanation import Explanation, Values
    from zombieproof.traces.verdict.report import Finding, Judgement, Report, TransactionOutcome
    from zombieproof.wire.plan.files import PlanError, load_plan
    from zombieproof.wire.plan.parts import Plan

__all__ = [
    "ALWAYS",
    "ILLEGAL",
    "PRESETS",
    "SCENARIOS",
    "AbortableError",
    "AddPartitionsToTxn",
    "Anomaly",
    "Answer",
    "ApplicationRecoverable",
    "AsyncConsumer",
    "AsyncProducer",
    "Batch",
    "CallTimedOut",
    "Cluster",
    "ClusterTransport",
    "CommitRefused",
    "Consumer",
    "ConsumerFailure",
    "ConsumerRecord",
    "ConsumerSettings",
    "CorruptBatchError",
    "DataDirectoryError",
    "Durability",
    "Embedded",
    "EmbeddedTransport",
    "EndTxn",
    "EndTxnAnswer",
    "Error",
    "EvidenceError",
    "Explanation",
    "FatalError",
    "FencedInstance",
    "Fetch",
    "FetchAnswer",
    "Finding",
    "GroupMetadata",
    "GroupRefused",
    "History",
    "HistoryError",
    "HistoryFinding",
    "HistoryVerdict",
    "HistoryWriter",
    "IllegalState",
    "InitProducerId",
    "InitProducerIdAnswer",
    "Input",
    "InvalidConfiguration",
    "Isolation",
    "Judgement",
    "LiveTraceFile",
    "LogConfig",
    "Machine",
    "Malformed",
    "Model",
    "Mutant",
    "NoOffset",
    "OffsetAndMetadata",
    "Op",
    "OwnFault",
    "Plan",
    "PlanError",
    "Produce",
    "ProduceAnswer",
    "Producer",
    "ProducerFailure",
    "ProducerFenced",
    "ProducerSettings",
    "Promise",
    "ReadRefused",
    "RebalanceListener",
    "RebalanceUnderWay",
    "Record",
    "RecordMetadata",
    "RecordingError",
    "Report",
    "Request",
    "Rules",
    "Run",
    "Scenario",
    "ScenarioFault",
    "SentBatch",
    "Settings",
    "SettingsError",
    "SpillFailed",
    "Story",
    "T",
    "Tally",
    "TestedBrokers",
    "TimedOut",
    "TransactionOutcome",
    "Transport",
    "UnknownBound",
    "UnknownMutant",
    "UnknownRule",
    "UnknownScenario",
    "Values",
    "array",
    "check",
    "conform",
    "integer",
    "judge_history",
    "load_plan",
    "preset",
    "preset_for",
    "replay",
    "save",
    "scenario",
    "switches",
    "tell",
    "transaction_scenario",
    "with_switches",
]

_HOMES: Final[Mapping[str, tuple[str, ...]]] = {
    "zombieproof.api.checking": ("check", "save", "tell"),
    "zombieproof.api.conforming": ("conform",),
    "zombieproof.api.judging": ("judge_history",),
    "zombieproof.api.replaying": ("replay",),
    "zombieproof.api.scenarios": ("UnknownScenario", "scenario"),
    "zombieproof.broker.cluster.cluster": ("Cluster",),
    "zombieproof.broker.cluster.network": ("Answer", "Request"),
    "zombieproof.broker.cluster.live_trace": ("LiveTraceFile",),
    "zombieproof.broker.cluster.settings": ("Settings",),
    "zombieproof.broker.data_directory": ("DataDirectoryError",),
    "zombieproof.bridge.under_test": ("TestedBrokers",),
    "zombieproof.wire.plan.files": ("PlanError", "load_plan"),
    "zombieproof.wire.plan.parts": ("Plan",),
    "zombieproof.broker.embedded": ("Embedded",),
    "zombieproof.broker.store.config": ("Durability", "LogConfig"),
    "zombieproof.checker.checking": ("UnknownMutant",),
    "zombieproof.checker.engine.model": ("Malformed", "Model", "Promise"),
    "zombieproof.checker.own": ("OwnFault",),
    "zombieproof.checker.scenario": ("Mutant", "Scenario", "UnknownBound"),
    "zombieproof.checker.scenarios": ("SCENARIOS",),
    "zombieproof.checker.transactions.scenario": ("ALWAYS", "transaction_scenario"),
    "zombieproof.checker.transactions.vocabulary": ("Op",),
    "zombieproof.checker.validation": ("ScenarioFault",),
    "zombieproof.clients.aio": ("AsyncProducer",),
    "zombieproof.clients.aio_consumer": ("AsyncConsumer",),
    "zombieproof.clients.consumer": ("Consumer",),
    "zombieproof.clients.consumer_errors": (
        "CommitRefused",
        "ConsumerFailure",
        "FencedInstance",
        "GroupRefused",
        "NoOffset",
        "ReadRefused",
        "RebalanceUnderWay",
        "TimedOut",
    ),
    "zombieproof.clients.consumer_operations": ("RebalanceListener",),
    "zombieproof.clients.partition_reader": ("ConsumerRecord",),
    "zombieproof.clients.pending_transactions": ("SpillFailed",),
    "zombieproof.clients.read_committed": ("CorruptBatchError",),
    "zombieproof.clients.embedded_transport": ("EmbeddedTransport",),
    "zombieproof.clients.errors": (
        "AbortableError",
        "ApplicationRecoverable",
        "CallTimedOut",
        "FatalError",
        "IllegalState",
        "InvalidConfiguration",
        "ProducerFailure",
        "ProducerFenced",
    ),
    "zombieproof.clients.producer": ("Producer",),
    "zombieproof.clients.settings": (
        "ConsumerSettings",
        "ProducerSettings",
        "SettingsError",
    ),
    "zombieproof.clients.transactional_requests": ("GroupMetadata",),
    "zombieproof.clients.transport": (
        "ClusterTransport",
        "Transport",
    ),
    "zombieproof.clients.values": (
        "OffsetAndMetadata",
        "RecordMetadata",
    ),
    "zombieproof.conformance.recording": ("RecordingError",),
    "zombieproof.conformance.tally": ("Tally",),
    "zombieproof.formats.batches": ("Batch", "Record"),
    "zombieproof.messages.partitions": ("Fetch", "FetchAnswer", "Produce", "ProduceAnswer", "SentBatch"),
    "zombieproof.messages.transactions": (
        "AddPartitionsToTxn",
        "EndTxn",
        "EndTxnAnswer",
        "InitProducerId",
        "InitProducerIdAnswer",
    ),
    "zombieproof.model.fields": ("array", "integer"),
    "zombieproof.model.rules": ("PRESETS", "Rules", "UnknownRule", "preset", "preset_for", "switches", "with_switches"),
    "zombieproof.model.vocabulary": ("Error", "Isolation"),
    "zombieproof.report.runs": ("Run",),
    "zombieproof.report.story": ("Story",),
    "zombieproof.statemachines.kernel": ("ILLEGAL", "Machine", "T"),
    "zombieproof.traces.evidence": ("EvidenceError",),
    "zombieproof.traces.history.anomalies": ("Anomaly",),
    "zombieproof.traces.history.events": ("Input",),
    "zombieproof.traces.history.history_file": ("History", "HistoryError"),
    "zombieproof.traces.history.verdict": ("HistoryFinding", "HistoryVerdict"),
    "zombieproof.traces.history.writer": ("HistoryWriter",),
    "zombieproof.traces.verdict.explanation": ("Explanation", "Values"),
    "zombieproof.traces.verdict.report": ("Finding", "Judgement", "TransactionOutcome", "Report"),
}
"""Where each name of the API is defined; nothing of it is imported before it is asked for."""

_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # or no checker of types would refuse a name that is not there

    def __getattr__(name: str) -> Any:
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}; its names are in {__name__}.__all__")
        value = globals()[name] = getattr(importlib.import_module(home), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
