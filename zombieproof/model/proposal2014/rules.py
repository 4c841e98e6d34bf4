"""The readings of the 2014 proposal: one switch for each sentence that is missing, or that says two things.

The default of each is the reading that keeps the promises best, where one does. What the text says in so many words is
a switch too, so that a mutant can show what it is there for.
Source: reference §10, where such places are marked.
"""

from dataclasses import dataclass, field, fields
from functools import cache
from typing import NamedTuple


class Reading(NamedTuple):
    """A switch.

    Attributes:
        name: the field of `Rules`.
        meaning: what holds while it is on.
        otherwise: what holds while it is off.
        row: where the reference states it.
        is_open: whether the text leaves it open, or contradicts itself; otherwise it says so.
    """

    name: str
    meaning: str
    otherwise: str
    row: str
    is_open: bool


def _reading(meaning: str, otherwise: str, row: str, *, is_open: bool = True) -> int:
    facts = {"meaning": meaning, "otherwise": otherwise, "row": row, "is_open": is_open}
    return field(default=1, metadata={"width": "i1", **facts})


@dataclass(slots=True)
class Rules:
    """Which readings are in force; each is 1 or 0."""

    begin_is_deduplicated: int = _reading(
        "a repeated Begin of a producer whose transaction has begun returns the same TxId",
        "each Begin creates a TxId; the one whose response was lost lingers until its timeout",
        "§10.6, begin retried",
    )
    coordinator_chooses_tx_ids: int = _reading(
        "the coordinator generates the TxId, as in the flow of the text",
        "the producer chooses it: a repeated Begin belongs to the same transaction, whatever its state",
        "§10.6, begin retried",
    )
    begin_waits_for_the_last: int = _reading(
        "a producer's Begin waits until its last transaction is finished in every partition",
        "a producer continues when its Commit is answered, and control records of two transactions are in flight",
        "§10.1, §10.10; §10.5, E3",
    )
    offsets_are_fetched_behind_begin: int = _reading(
        "a producer fetches the offsets of its group after Begin has fenced older instances",
        "it fetches them, recreates its input, and begins, in the order of the text",
        "§10.5, retry of the application",
    )
    finished_are_remembered: int = _reading(
        "a coordinator knows the outcome of every TxId, even before the high watermark: it reads the whole journal",
        "a TxId before the high watermark is unknown, and a repeated Commit is refused",
        "§10.6, commit retried",
    )
    aborted_is_recorded: int = _reading(
        "an abort has a final record ABORTED, like COMMITTED for a commit",
        "nothing is recorded after PREPARE_ABORT: every new coordinator aborts it again",
        "§10.3, §10.4",
    )
    ends_are_idempotent: int = _reading(
        "a repeated Commit or Abort gets the same response",
        "it is refused, because the transaction is already decided",
        "§10.6, commit retried",
    )
    aborts_have_control_records: int = _reading(
        "leaders append a control record for an abort, as for a commit",
        "the text has control records for commits only: only the coordinator knows of an abort",
        "§10.3",
    )
    last_commit_is_of_a_group: int = _reading(
        "G-LAST-COMMIT is a key for each consumer group",
        "it is one key for the partition: the last commit of any group",
        "§10.3",
    )
    second_controls_are_ignored: int = _reading(
        "a reader ignores a second control record of a TxId",
        "a reader delivers its messages of a TxId at each of its control records, and drops none in between",
        "§10.6, coordinator fails over",
    )
    leaders_are_told: int = _reading(
        "the coordinator announces a new TxId to the leaders, and a leader refuses a TxId that was not announced",
        "a leader learns of a TxId from its first payload",
        "§10.7",
    )
    leaders_remember_finished: int = _reading(
        "a leader knows every TxId that has ended in its log, and rejects payload of it with that reason",
        "a leader keeps pending TxIds only: it does not know one that has ended",
        "§10.7, late payload",
    )
    new_leaders_read_their_logs: int = _reading(
        "a new leader reads from its log which TxIds are pending and finished, and the coordinator announces them "
        "again",
        "a new leader knows no TxIds",
        "§10.6, data leader fails over",
    )
    time_outs_are_recorded: int = _reading(
        "BEGIN has the timeout of its transaction, so that a new coordinator knows it",
        "the timeout is in memory only: a transaction that began before a failover has none",
        "§10.3",
    )
    generations_are_kept: int = _reading(
        "coordinator and leaders keep the newest generation of a producerId",
        "they keep it only while a transaction of the producerId is pending",
        "§10.7",
    )
    starts_store_their_generation: int = _reading(
        "an instance stores its generation before it begins a transaction",
        "the generation is committed with the producer's state, in its next transaction",
        "§10.7",
    )
    buffering_starts_with_payload: int = _reading(
        "a reader holds back records of a TxId from the first one on",
        "a reader begins to hold back at a control record, as the text says",
        "§10.8",
    )
    deliveries_are_counted: int = _reading(
        "a checkpoint includes how much of the current transaction has been delivered",
        "a checkpoint is two offsets, and a crash during a delivery repeats it",
        "§10.8",
    )
    cleaning_stops_at_watermark: int = _reading(
        "the log cleaner never goes past the transactional high watermark",
        "it continues to the end, and copies messages of pending transactions unchanged",
        "§10.9, (b) and (a)",
    )
    only_committed_supersede: int = _reading(
        "only a later message of the same key that is plain or committed makes the cleaner remove a message",
        "any later message of the same key makes the cleaner remove it, even one that is aborted",
        "§10.9",
    )
    controls_stay: int = _reading(
        "the cleaner removes a control record once no message of its TxId is left",
        "it has no value, and the next cleaning removes it, like any other such record",
        "§10.9, eviction of control records",
    )
    one_connection: int = _reading(
        "a coordinator admits one connection for a producerId and generation, and closes both if there are two",
        "it treats two instances with the same generation as one producer",
        "§10.7",
        is_open=False,
    )
    coordinator_fences: int = _reading(
        "the coordinator refuses an older generation, and aborts its open transaction",
        "the coordinator does not check generations",
        "§10.7",
        is_open=False,
    )
    leaders_fence: int = _reading(
        "a leader refuses payload of an older generation",
        "a leader does not check generations",
        "§10.7",
        is_open=False,
    )
    doubt_aborts: int = _reading(
        "payload that may have been appended is not sent again: the transaction is aborted and redone",
        "payload without a response is sent again",
        "§10.6",
        is_open=False,
    )
    commit_waits_for_payload: int = _reading(
        "a producer sends Commit once all payload is acknowledged",
        "payload without a response counts as sent",
        "§10.5, S and E2",
        is_open=False,
    )
    commits_are_resent: int = _reading(
        "a Commit without a response is sent again with the same TxId",
        "a Commit without a response has failed, and the transaction is redone",
        "§10.6",
        is_open=False,
    )
    prepares_are_recorded: int = _reading(
        "PREPARE_COMMIT or PREPARE_ABORT is in the journal before the coordinator sends control records",
        "a decision is in memory only until it is final",
        "§10.4",
        is_open=False,
    )
    acknowledged_before_final: int = _reading(
        "COMMITTED is recorded once every leader has acknowledged",
        "COMMITTED is recorded once the control records have been sent",
        "§10.5, E6",
        is_open=False,
    )
    prepared_are_redone: int = _reading(
        "a new coordinator sends control records again for prepared transactions",
        "a new coordinator waits for acknowledgements that never arrive",
        "§10.6",
        is_open=False,
    )
    restarts_at_first_pending: int = _reading(
        "a reader restarts at the first message of the earliest pending transaction (o1)",
        "a reader restarts where it stopped (o2)",
        "§10.8",
        is_open=False,
    )
    fetch_waits: int = _reading(
        "fetching the offsets of a group is refused while a transaction with such offsets is pending",
        "it returns the offsets of the last committed transaction",
        "§10.5",
        is_open=False,
    )


@cache
def readings() -> tuple[Reading, ...]:
    """Every switch, in the order of `Rules`."""
    return tuple(
        Reading(each.name, **{k: v for k, v in each.metadata.items() if k != "width"}) for each in fields(Rules)
    )
