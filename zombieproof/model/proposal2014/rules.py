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
        "a Begin that comes again from a producer whose transaction has begun is answered with its TxId",
        "each Begin makes a TxId; the one whose answer was lost lingers until its time-out",
        "§10.6, begin retried",
    )
    coordinator_chooses_tx_ids: int = _reading(
        "the coordinator generates the TxId, as the flow of the text has it",
        "the producer chooses it: a Begin that comes again is of the same transaction, whatever became of that",
        "§10.6, begin retried",
    )
    begin_waits_for_the_last: int = _reading(
        "a producer's Begin waits until its last transaction is finished in every partition",
        "a producer goes on when its Commit is answered, and control records of two transactions are under way",
        "§10.1, §10.10; §10.5, E3",
    )
    offsets_are_fetched_behind_begin: int = _reading(
        "a producer fetches the offsets of its group when Begin has fenced who is older",
        "it fetches them, recreates its input, and begins, in the order of the text",
        "§10.5, retry of the application",
    )
    finished_are_remembered: int = _reading(
        "a coordinator knows of every TxId how it ended, also behind the high watermark: it reads the whole journal",
        "behind the high watermark a TxId is unknown, and a Commit that is resent is refused",
        "§10.6, commit retried",
    )
    aborted_is_recorded: int = _reading(
        "an abort has a final record ABORTED, as a commit has COMMITTED",
        "nothing is recorded behind PREPARE_ABORT: every new coordinator aborts it again",
        "§10.3, §10.4",
    )
    ends_are_idempotent: int = _reading(
        "a Commit or Abort that comes again is answered as at first",
        "it is refused, because there is nothing left to decide",
        "§10.6, commit retried",
    )
    aborts_have_control_records: int = _reading(
        "leaders append a control record of an abort, as of a commit",
        "the text names control records of commits only: an abort is known to the coordinator alone",
        "§10.3",
    )
    last_commit_is_of_a_group: int = _reading(
        "G-LAST-COMMIT is a key for each consumer group",
        "it is one key for the partition: the last commit of any group",
        "§10.3",
    )
    second_controls_are_ignored: int = _reading(
        "a reader ignores a second control record of a TxId",
        "a reader hands over what it has of a TxId at each of its control records, and forgets nothing in between",
        "§10.6, coordinator fails over",
    )
    leaders_are_told: int = _reading(
        "the coordinator tells the leaders of a TxId when it begins, and a leader refuses one it was not told of",
        "a leader learns of a TxId from its first payload",
        "§10.7",
    )
    leaders_remember_finished: int = _reading(
        "a leader knows of every TxId that its log has ended, and says so to who sends payload of it",
        "a leader keeps pending TxIds only: one that has ended is unknown to it",
        "§10.7, late payload",
    )
    new_leaders_read_their_logs: int = _reading(
        "a new leader reads from its log which TxIds are pending and finished, and the coordinator tells it again",
        "a new leader knows of no TxId",
        "§10.6, data leader fails over",
    )
    time_outs_are_recorded: int = _reading(
        "BEGIN has the time-out of its transaction, so that a new coordinator knows it",
        "the time-out is in memory only: what was begun before a failover has none",
        "§10.3",
    )
    generations_are_kept: int = _reading(
        "coordinator and leaders keep the newest generation of a producerId",
        "they keep it while a transaction of the producerId is pending",
        "§10.7",
    )
    starts_store_their_generation: int = _reading(
        "an instance stores its generation before it begins a transaction",
        "the generation is committed with the producer's state, in its next transaction",
        "§10.7",
    )
    buffering_starts_with_payload: int = _reading(
        "a reader holds records of a TxId back from the first one on",
        "a reader begins to hold back at a control record, as the text has it",
        "§10.8",
    )
    deliveries_are_counted: int = _reading(
        "a checkpoint says how far the application got in the transaction that is being delivered",
        "a checkpoint is two offsets, and a crash within a delivery repeats it",
        "§10.8",
    )
    cleaning_stops_at_watermark: int = _reading(
        "the log cleaner never goes past the transactional high watermark",
        "it goes on to the end, and copies messages of pending transactions unchanged",
        "§10.9, (b) and (a)",
    )
    only_committed_supersede: int = _reading(
        "a message is cleaned away for a later one of its key that is plain or committed",
        "it is cleaned away for any later one in the log, whatever becomes of that",
        "§10.9",
    )
    controls_stay: int = _reading(
        "a control record is cleaned away when no message of its TxId is left",
        "it has no value, and goes with the next cleaning, as any other such record",
        "§10.9, eviction of control records",
    )
    one_connection: int = _reading(
        "a coordinator admits one connection for a producerId and generation, and closes both of two",
        "two instances with the same generation are one producer to it",
        "§10.7",
        is_open=False,
    )
    coordinator_fences: int = _reading(
        "the coordinator refuses an older generation, and aborts what it has begun",
        "the coordinator looks at no generation",
        "§10.7",
        is_open=False,
    )
    leaders_fence: int = _reading(
        "a leader refuses payload of an older generation",
        "a leader looks at no generation",
        "§10.7",
        is_open=False,
    )
    doubt_aborts: int = _reading(
        "payload that may have been appended is not sent again: the transaction is aborted, and done again",
        "payload without an answer is sent again",
        "§10.6",
        is_open=False,
    )
    commit_waits_for_payload: int = _reading(
        "a Commit is asked for when all payload is acknowledged",
        "payload without an answer counts as sent",
        "§10.5, S and E2",
        is_open=False,
    )
    commits_are_resent: int = _reading(
        "a Commit without an answer is sent again with the same TxId",
        "a Commit without an answer has failed, and the transaction is done again",
        "§10.6",
        is_open=False,
    )
    prepares_are_recorded: int = _reading(
        "PREPARE_COMMIT or PREPARE_ABORT is in the journal before leaders are asked for control records",
        "what is decided is in memory only, until it is final",
        "§10.4",
        is_open=False,
    )
    acknowledged_before_final: int = _reading(
        "COMMITTED is recorded when every leader has acknowledged",
        "COMMITTED is recorded when the leaders have been asked",
        "§10.5, E6",
        is_open=False,
    )
    prepared_are_redone: int = _reading(
        "a new coordinator sends control records again for what is prepared",
        "a new coordinator waits for acknowledgements that nobody sends",
        "§10.6",
        is_open=False,
    )
    restarts_at_first_pending: int = _reading(
        "a reader restarts at the first message of the earliest transaction that was pending (o1)",
        "a reader restarts where it was (o2)",
        "§10.8",
        is_open=False,
    )
    fetch_waits: int = _reading(
        "fetching the offsets of a group is refused while a transaction with offsets of it is pending",
        "it answers the offsets of the last committed transaction",
        "§10.5",
        is_open=False,
    )


@cache
def readings() -> tuple[Reading, ...]:
    """Every switch, in the order of `Rules`."""
    return tuple(
        Reading(each.name, **{k: v for k, v in each.metadata.items() if k != "width"}) for each in fields(Rules)
    )
