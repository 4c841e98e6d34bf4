"""A scenario: a small system with a story, the faults that may happen, and what must hold. Scenarios are data.

A scenario holds when every reachable state keeps every *always* promise and, where nothing more can happen but new
faults, every *at rest* promise, when every *sometimes* promise is reached, and no capacity of the record was. Each has
mutants: the same system with one rule removed, the promise that then breaks, and the length of the shortest way there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from zombieproof.checker.engine.model import Model
from zombieproof.checker.transactions.model import BETWEEN_BROKERS, ON_REPLICAS, TRANSACTIONS, setup_of
from zombieproof.checker.transactions.setup import Bounds, Budget
from zombieproof.checker.transactions.vocabulary import Op
from zombieproof.checker.validation import (
    MOST,
    ScenarioFault,
    check_mutant,
    check_programs,
    check_scenario,
    unknown_bounds,
)
from zombieproof.model.rules import NUMBERS, Rules, preset, with_switches
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


def options_of_changes(changes: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """What `--with` and `--without` take to change fields of `Rules` like this."""
    on = [f"{name}={value}" if name in NUMBERS else name for name, value in changes.items() if name in NUMBERS or value]
    return on, [name for name, value in changes.items() if name not in NUMBERS and not value]


def rules_in_words(preset_name: str, on: Sequence[str], off: Sequence[str]) -> str:
    """Rules in words: a preset, and what was switched on and off."""
    words = preset_name
    words += f" with {', '.join(on)}" if on else ""
    return words + (f" without {', '.join(off)}" if off else "")


FAULTS = tuple(f.name for f in fields(Budget))
"""The faults of the transaction protocol."""


_ALONE = "an_unrivalled_producer_is_never_fenced"

NOT_OWED_WITH: Mapping[str, tuple[str, ...]] = {
    "forgotten": ("memory_is_the_fold_of_the_log",),
    **dict.fromkeys(("doubled", "crashes", "timeouts", "deposed", "expirations", "stale_lookups"), (_ALONE,)),
    "aborts_by_hand": (
        "an_acknowledged_commit_loses_nothing",
        "an_acknowledged_commit_is_visible",
        "a_transaction_is_all_or_nothing",
    ),
}
"""Fault -> promises that nobody gives where it happens.

A leader that forgot a silent producer has it in its log. A late copy of its own InitProducerId, a time-out, or a
coordinator that is deposed fences a producer that has no rival: scenarios that say so have it as *known*. Who aborts by
hand without looking can abort what is committed.
"""


class UnknownBound(ScenarioFault):
    """A bound that the scenario does not have, or a value that it cannot have."""


@dataclass(frozen=True)
class Mutant:
    """A scenario with rules removed; or as it is, where Kafka's own rules break a promise (`known`).

    Attributes:
        name: what is wrong, in words joined by underscores.
        without: switches of `Rules` that are off; `changes` sets other fields of `Rules`, `bounds` bounds.
        breaks: the promise that breaks (the only one that a run of the mutant judges).
        steps: the length of the shortest counterexample.
        bug: the entry of the list of published bugs that this is, if it is one.
        rules: the preset to start from, if not the scenario's own.
        known: what is known of it, if nothing is taken away: the scenario's own rules break the promise, where `bounds`
            are given under these.

    Raises:
        ScenarioFault: it names a rule or preset that does not exist, or a value that cannot be.
    """

    name: str
    breaks: str
    steps: int
    without: tuple[str, ...] = ()
    changes: Mapping[str, int] = field(default_factory=dict)
    bounds: Mapping[str, int] = field(default_factory=dict)
    bug: str = ""
    rules: str = ""
    known: str = ""

    def __post_init__(self) -> None:
        check_mutant(self)


@dataclass(frozen=True)
class Scenario:
    """A scenario.

    Attributes:
        name: what it is called on the command line.
        story: what happens, in about three sentences.
        rules: the preset of rules under which it holds; `changes` sets fields of those `Rules`.
        bounds: name -> value; what `--bounds` may change.
        always, sometimes, at_rest, leads_to: names of promises.
        mutants: what breaks it, and what is broken as it is.
        model: bounds -> the model; `setup`: rules, bounds -> what is constant during a run.
        distinct: the number of distinct states, pinned; 0 while it is not.
        origin: the file that it was read from, as it was named; "" for those that are registered.
        faults: which bounds say how often something may go wrong.
        readings: which bounds are switches, 1 or 0, of the model's own rules: `--with` and `--without` set them.

    Raises:
        ScenarioFault: it names a promise, rule or preset that does not exist, or a value that cannot be.
    """

    name: str
    story: str
    always: tuple[str, ...]
    sometimes: tuple[str, ...]
    bounds: Mapping[str, int]
    model: Callable[[Mapping[str, int]], Model]
    setup: Callable[[Rules, Mapping[str, int]], object]
    distinct: int = 0
    mutants: tuple[Mutant, ...] = ()
    rules: str = "newest"
    changes: Mapping[str, int] = field(default_factory=dict)
    origin: str = ""
    faults: tuple[str, ...] = FAULTS
    at_rest: tuple[str, ...] = ()
    leads_to: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_scenario(self)

    @property
    def kept(self) -> tuple[str, ...]:
        """The promises that no behaviour may break: always, at rest, and what it leads to."""
        return (*self.always, *self.at_rest, *self.leads_to)

    def not_owed(self, bounds: Mapping[str, int]) -> set[str]:
        """The promises that nobody gives within these bounds, because of their faults."""
        return {name for fault, promises in NOT_OWED_WITH.items() if bounds.get(fault) for name in promises}

    def owed_within(self, changed: Mapping[str, int]) -> Scenario:
        """The scenario with the promises that are owed where some of its bounds are changed.

        Raises:
            UnknownBound: as of `own_bounds`.
        """
        return self.without(self.not_owed(self.own_bounds(changed)))

    def without(self, promises: Collection[str]) -> Scenario:
        """The scenario with less to keep."""
        always, at_rest, leads_to = (
            tuple(name for name in names if name not in promises)
            for names in (self.always, self.at_rest, self.leads_to)
        )
        return replace(self, always=always, at_rest=at_rest, leads_to=leads_to)

    def judged(self, promise: str | None) -> tuple[str, ...]:
        """What a story about a promise is judged by: what is kept, and the promise if it is known to be broken."""
        also = [mutant.breaks for mutant in self.mutants if mutant.known and mutant.breaks == promise]
        return (*self.kept, *also)

    @property
    def asked(self) -> str:
        """What it is asked for by on the command line: its name, behind its file if it has one."""
        return f"{self.origin}:{self.name}" if self.origin else self.name

    def mutant(self, name: str) -> Mutant | None:
        """The mutant of that name, if there is one."""
        return next((mutant for mutant in self.mutants if mutant.name == name), None)

    def own_rules(self, preset_name: str = "", mutant: Mutant | None = None) -> Rules:
        """The rules of a run: a preset (the mutant's, the scenario's), the scenario's changes, the mutant's removals.

        Raises:
            UnknownRule: the preset does not exist.
        """
        base = preset(preset_name or (mutant.rules if mutant else "") or self.rules)
        rules = replace(base, **self.changes)
        if mutant is not None:
            rules = with_switches(replace(rules, **mutant.changes), off=mutant.without)
        return rules

    @property
    def rules_in_words(self) -> str:
        """The rules under which it holds, in words: the preset and what differs from it."""
        return rules_in_words(self.rules, *options_of_changes(self.changes))

    def own_bounds(self, changed: Mapping[str, int]) -> dict[str, int]:
        """The scenario's bounds with some of them changed.

        Raises:
            UnknownBound: no such bound, a value outside of 0 to 100 (a field of a state is one signed byte), or one
                of a switch that is neither 0 nor 1.
        """
        for name, value in changed.items():
            if name not in self.bounds:
                legal = ", ".join(self.bounds) or "none"
                now = f"it is called {RENAMED[name]} now; " if name in RENAMED else ""
                raise UnknownBound(f"{self.name}: there is no bound {name!r}; {now}there are: {legal}", name)
            if name not in self.readings and not 0 <= value <= MOST:
                raise UnknownBound(f"{self.name}: {name}={value} is out of range; give 0 to {MOST}", name)
        own = {**self.bounds, **changed}
        for name in (*_ON_OR_OFF, *self.readings):
            if own.get(name, 0) not in (0, 1):
                raise UnknownBound(f"{self.name}: {name}={own[name]} is neither off nor on; give 0 or 1", name)
        if own.get("group_appends") and own.get("verification_queue"):
            raise UnknownBound(
                f"{self.name}: group_appends and verification_queue are not explored together: what waits at a leader "
                "is a question, or a commit; leave one of them 0",
                "group_appends",
            )
        _refuse_what_goes_not_together(self.name, own)
        return own


_AT_ONCE = ("an append is durable at once", "appends_travel")
_MEANS_NOTHING = {
    "failed_appends": _AT_ONCE,
    "hard_appends": _AT_ONCE,
    "failed_commits": ("a commit of offsets is answered at once", "group_appends"),
    "controller_changes": ("producer ids are counted", "id_blocks"),
}
"""A fault of coordinators -> where it changes nothing, and which bound it needs."""
_OF_COORDINATORS = ("ends_given_up", "ends_timed_out", "resumptions", "stale_lookups")
_MEANS_NOTHING_ALONE = {**_MEANS_NOTHING, "truncations": ("what is in a log is replicated", "replicated")}


def _refuse_what_goes_not_together(name: str, own: Mapping[str, int]) -> None:
    """Raises UnknownBound: one of these bounds changes nothing without another, or cannot be beside it."""
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
        ("snapshots", "truncations")
    ]
    for one, other in apart:
        if own.get(one) and own.get(other):
            raise UnknownBound(
                f"{name}: {one}={own[one]} and {other}={own[other]} are not in one world; leave one of them away", other
            )


SWITCHES_OF_TRAVEL = ("appends_travel", "verification_queue")
_MORE_IDS = "more_producer_ids"
_TRAVELS = (*SWITCHES_OF_TRAVEL, "id_blocks", "group_appends")
_NOT_ON_REPLICAS = (*_TRAVELS, _MORE_IDS, "plain_commits", "aborts_by_hand")
_FORGETS = "forgotten_partitions"
_AT_LOGS = ("reads_in_steps", "compactions", "snapshots", "retentions")
_ON_OR_OFF = (
    *SWITCHES_OF_TRAVEL,
    "keeps_position",
    "looks_first",
    "group_appends",
    _MORE_IDS,
    "replicated",
    "reads_in_steps",
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
    *_TRAVELS,
    _MORE_IDS,
)
_NAMED = ("restarts", "inputs")
"""Choices that only those scenarios have that name them."""
RENAMED = {"keep_dead_letters": "keep_refused_copies"}
"""What a bound was called -> what it is called."""
_OF_RULES = ("epoch_max", "cached_batches")

Programs = tuple[tuple[tuple[Op, ...], ...], ...]


def _model_of(chosen: Mapping[str, int]) -> Model:
    """The model that has room for what these bounds ask for, and for no more."""
    if any(map(chosen.get, ("replicated", *_AT_LOGS, _FORGETS))):
        return ON_REPLICAS
    return BETWEEN_BROKERS if any(map(chosen.get, (*_TRAVELS, _MORE_IDS))) else TRANSACTIONS


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
    )
