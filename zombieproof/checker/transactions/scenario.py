"""Scenarios of the transaction protocol: what each of them owes, what its bounds mean, and how it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from zombieproof.checker.engine.model import Model
from zombieproof.checker.scenario import Mutant, Scenario, Terms, UnknownBound
from zombieproof.checker.transactions.budget import FAULTS, Budget
from zombieproof.checker.transactions.model import BETWEEN_BROKERS, ON_REPLICAS, TRANSACTIONS, setup_of
from zombieproof.checker.transactions.programs import check_programs
from zombieproof.checker.transactions.setup import Bounds
from zombieproof.checker.transactions.vocabulary import Op
from zombieproof.checker.validation import unknown_bounds
from zombieproof.model.rules import Rules
from zombieproof.model.vocabulary import NONE

ALWAYS = (
    "only_what_was_asked_to_commit_is_committed",
    "an_acknowledged_commit_loses_nothing",
    "a_transaction_is_all_or_nothing",
    "every_open_transaction_is_known_to_its_coordinator",
    "a_transaction_has_one_decision",
    "only_its_owner_ends_a_transaction",
    "no_machine_leaves_its_table",
    "no_durable_record_contradicts_memory",
    "epochs_never_go_down",
    "sequences_follow_each_other",
    "memory_is_the_fold_of_the_log",
)
"""What holds in every transaction scenario under the rules that repair everything."""

VISIBLE = tuple(
    name
    for name in ALWAYS
    if name
    not in (
        "only_its_owner_ends_a_transaction",
        "a_transaction_has_one_decision",
        "every_open_transaction_is_known_to_its_coordinator",
    )
)
"""What applications and readers can see: for scenarios whose shortest counterexample is to show the damage itself."""


AT_REST = (
    "a_decided_transaction_is_complete",
    "what_is_open_can_time_out",
    "nobody_waits_for_ever",
    "an_acknowledged_commit_is_visible",
)
"""What holds in every transaction scenario when nothing more can happen but new faults."""

_ALONE = "an_unrivalled_producer_is_never_fenced"

NOT_OWED_WITH: Mapping[str, tuple[str, ...]] = {
    "forgotten": ("memory_is_the_fold_of_the_log",),
    **dict.fromkeys(("doubled", "crashes", "timeouts", "deposed", "expirations", "stale_lookups"), (_ALONE,)),
    **dict.fromkeys(
        ("group_deletions", "recreations"),
        ("each_input_has_one_committed_output", "a_committed_position_never_goes_back"),
    ),
    "aborts_by_hand": (
        "an_acknowledged_commit_loses_nothing",
        "an_acknowledged_commit_is_visible",
        "a_transaction_is_all_or_nothing",
    ),
}
"""Fault -> promises that nobody gives where it happens.

A leader that forgot a silent producer has it in its log. A late copy of its own InitProducerId, a time-out, or a
coordinator that is deposed fences a producer that has no rival: scenarios that say so have it as *known*. Who aborts by
hand without looking can abort what is committed. A group whose offsets are deleted begins at the first input again.
"""


_AT_ONCE = ("an append is durable at once", "appends_travel")
_MEANS_NOTHING = {
    "failed_appends": _AT_ONCE,
    "hard_appends": _AT_ONCE,
    "failed_commits": ("a commit of offsets is answered at once", "group_appends"),
    "controller_changes": ("producer ids are counted", "id_blocks"),
}
"""A fault of coordinators -> where it changes nothing, and which bound it needs."""
_OF_COORDINATORS = ("ends_given_up", "ends_timed_out", "resumptions", "stale_lookups")
_MEANS_NOTHING_ALONE = {
    **_MEANS_NOTHING,
    "truncations": ("what is in a log is replicated", "replicated"),
    "group_deletions": ("the group has members", "no_members"),
}


SWITCHES_OF_TRAVEL = ("appends_travel", "verification_queue")
_MORE_IDS = "more_producer_ids"
_TRAVELS = (*SWITCHES_OF_TRAVEL, "id_blocks", "group_appends")
_NOT_ON_REPLICAS = (*_TRAVELS, _MORE_IDS, "plain_commits", "aborts_by_hand")
_FORGETS = "forgotten_partitions"
_AT_GROUP = ("group_deletions", "recreations")
_AT_LOGS = ("reads_in_steps", "compactions", "snapshots", "retentions")
_ON_OR_OFF = (
    *SWITCHES_OF_TRAVEL,
    "keeps_position",
    "looks_first",
    "group_appends",
    _MORE_IDS,
    "replicated",
    "reads_in_steps",
    "no_members",
)
_CHOICES = (
    "in_flight",
    "may_abort",
    "answers_travel",
    "keep_refused_copies",
    "keeps_position",
    "looks_first",
    "replicated",
    "reads_in_steps",
    "no_members",
    *_TRAVELS,
    _MORE_IDS,
)
_NAMED = ("restarts", "inputs")
"""Choices that only those scenarios have that name them."""
RENAMED = {"keep_dead_letters": "keep_refused_copies"}
"""What a bound was called -> what it is called."""
_OF_RULES = ("epoch_max", "cached_batches")


def _refuse(name: str, own: Mapping[str, int]) -> None:
    """Raises UnknownBound: one of these bounds changes nothing without another, or cannot be beside it."""
    if own.get("group_appends") and own.get("verification_queue"):
        raise UnknownBound(
            f"{name}: group_appends and verification_queue are not explored together: what waits at a leader "
            "is a question, or a commit; leave one of them 0",
            "group_appends",
        )
    for fault, (where, needed) in _MEANS_NOTHING_ALONE.items():
        if own.get(fault) and not own.get(needed):
            raise UnknownBound(f"{name}: {fault}={own[fault]} changes nothing where {where}; add {needed}=1", fault)
    for other in _NOT_ON_REPLICAS:
        if own.get("replicated") and own.get(other):
            raise UnknownBound(
                f"{name}: replicated=1 and {other}={own[other]} are not in one world; leave one of them away", other
            )
    # A snapshot that lies behind the end of a log that was cut would have to go with what was lost.
    apart = [(one, other) for one in (*_AT_LOGS, _FORGETS) for other in (*_TRAVELS, _MORE_IDS)] + [
        ("snapshots", "truncations"),
        # Cleaner, elections and copies know nothing of tombstones, or of the topic id that a request was built with.
        *((one, other) for one in _AT_GROUP for other in (*_AT_LOGS, _FORGETS, "replicated", "plain_commits")),
        *((one, "group_appends") for one in _AT_GROUP),
        *(("recreations", other) for other in ("doubled_batches", "crashes", "ends_given_up", "resumptions")),
    ]
    for one, other in apart:
        if own.get(one) and own.get(other):
            raise UnknownBound(
                f"{name}: {one}={own[one]} and {other}={own[other]} are not in one world; leave one of them away", other
            )


TERMS = Terms(on_or_off=_ON_OR_OFF, renamed=RENAMED, not_owed_with=NOT_OWED_WITH, refuse=_refuse)

Programs = tuple[tuple[tuple[Op, ...], ...], ...]


def _model_of(chosen: Mapping[str, int]) -> Model:
    """The model that has room for what these bounds ask for, and for no more."""
    if any(map(chosen.get, ("replicated", *_AT_LOGS, _FORGETS))):
        return ON_REPLICAS
    return BETWEEN_BROKERS if any(map(chosen.get, (*_TRAVELS, _MORE_IDS, *_AT_GROUP))) else TRANSACTIONS


def transaction_scenario(  # noqa: PLR0913  # a scenario is data: each of its fields has a name here
    name: str,
    story: str,
    programs: Programs,
    *,
    distinct: int = 0,
    sometimes: tuple[str, ...],
    always: tuple[str, ...] = ALWAYS,
    at_rest: tuple[str, ...] = AT_REST,
    leads_to: tuple[str, ...] = (),
    ids: tuple[int, ...] = (0, 0),
    grouped: int = 0,
    inputs: int = 1,
    readers: int = 0,
    mutants: tuple[Mutant, ...] = (),
    rules: str = "newest",
    changes: Mapping[str, int] | None = None,
    **bounds: int,
) -> Scenario:
    """A scenario of the transaction protocol.

    Args:
        programs: for each client, for each of its transactions, what it does.
        ids: for each client the index of its transactional id, -1 for an idempotent producer without one.
        grouped: 1 if the clients are members of one consumer group and consume, transform, produce.
        inputs: how many inputs there are to consume, at most as many as a client has transactions.
        readers: how many consumers read partition 0.
        distinct: the number of distinct states, pinned; 0 while it is not.
        bounds: budgets of faults and other bounds that are not 0 (``in_flight`` is 1 by default).

    Raises:
        UnknownBound: a bound is neither a fault nor a choice.
        ScenarioFault: programs do not fit into a state, or something is named that does not exist.
    """
    check_programs(name, programs, ids, grouped, readers, inputs)
    own = {**dict.fromkeys(FAULTS, 0), **dict.fromkeys(_CHOICES, 0), "in_flight": 1}
    own |= {"epoch_max": 100, "cached_batches": 3}
    if NONE in ids[: len(programs)]:
        for of_coordinator in (*_TRAVELS, *_MEANS_NOTHING, *_OF_COORDINATORS):
            # Without a transactional id nobody asks a coordinator, and producer ids are counted.
            del own[of_coordinator]
    else:
        # Behind each transaction, or its abort, a producer with a transactional id numbers everything anew.
        del own[_FORGETS]
    unknown = set(bounds) - set(own) - {*_NAMED}
    if unknown:
        renamed = "".join(f"; {old} is called {RENAMED[old]} now" for old in sorted(unknown & set(RENAMED)))
        raise UnknownBound(unknown_bounds(name, unknown, own) + renamed, min(unknown))
    own |= bounds

    def build(base: Rules, chosen: Mapping[str, int]) -> object:
        limits = Bounds(grouped=grouped, inputs=inputs, readers=readers)
        for choice in (*_CHOICES, *_NAMED):
            setattr(limits, choice, chosen.get(choice, getattr(limits, choice)))
        limits.transactional_id[: len(ids)] = list(ids)
        small = replace(base, **{limit: min(getattr(base, limit), chosen[limit]) for limit in _OF_RULES})
        return setup_of(small, limits, Budget(**{fault: chosen.get(fault, 0) for fault in FAULTS}), programs)

    return Scenario(
        name=name,
        story=story,
        always=always,
        at_rest=at_rest,
        leads_to=leads_to,
        sometimes=sometimes,
        distinct=distinct,
        bounds=own,
        model=_model_of,
        setup=build,
        mutants=mutants,
        rules=rules,
        changes=changes or {},
        terms=TERMS,
    )
