"""Where each reading of the 2014 proposal is explored the other way: a scenario, and what is off together with it.

A reading that breaks nothing by itself, because another one does its work as well, has a second exploration without
both. Everything that the scenario has to keep is judged, but where so much happens that there is no end to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from zombieproof.checker.proposal2014.scenarios import (
    ABANDONED,
    CLEANED,
    CLEANED_INTERLEAVED,
    COPY,
    CRASH,
    FAILOVER,
    INTERLEAVED,
    LEADER,
    LOST,
    RESTART,
    TWO_GROUPS,
    ZOMBIE,
    ZOMBIE_AT_A_NEW_LEADER,
)
from zombieproof.checker.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Otherwise:
    """An exploration of a scenario with some readings the other way.

    Attributes:
        off: those readings; the first is the one that it is about.
        judged: which promises; () for all that the scenario has to keep.
        bounds: those that are not the scenario's own.
    """

    scenario: Scenario
    off: tuple[str, ...]
    judged: tuple[str, ...] = ()
    bounds: Mapping[str, int] = field(default_factory=dict)


_SMALL: Final[dict[str, int]] = {"aborts": 0, "partitions": 1, "readers": 1}
_GENERATIONS: Final = "no_older_generation_appends_behind_a_newer_one"
_COPIES: Final = ("each_block_is_committed_once", "the_group_goes_on_behind_what_is_committed")

OTHERWISE: Final = (
    Otherwise(FAILOVER, ("begin_is_deduplicated",)),
    Otherwise(FAILOVER, ("begin_is_deduplicated", "time_outs_are_recorded")),
    Otherwise(LOST, ("coordinator_chooses_tx_ids",)),
    Otherwise(FAILOVER, ("coordinator_chooses_tx_ids", "begin_is_deduplicated", "time_outs_are_recorded")),
    Otherwise(COPY, ("begin_waits_for_the_last",), bounds=_SMALL),
    Otherwise(ZOMBIE, ("offsets_are_fetched_behind_begin",)),
    Otherwise(LOST, ("finished_are_remembered",)),
    Otherwise(FAILOVER, ("finished_are_remembered",)),
    Otherwise(LOST, ("ends_are_idempotent",)),
    Otherwise(COPY, ("aborts_have_control_records",), bounds=_SMALL | {"aborts": 1}),
    Otherwise(TWO_GROUPS, ("last_commit_is_of_a_group",), judged=_COPIES),
    Otherwise(FAILOVER, ("aborted_is_recorded",)),
    Otherwise(LOST, ("second_controls_are_ignored",)),
    Otherwise(LOST, ("leaders_are_told",)),
    Otherwise(LOST, ("leaders_are_told", "leaders_remember_finished")),
    Otherwise(LOST, ("leaders_remember_finished",)),
    Otherwise(LEADER, ("new_leaders_read_their_logs",)),
    Otherwise(ABANDONED, ("time_outs_are_recorded",)),
    Otherwise(ZOMBIE, ("generations_are_kept",), judged=(_GENERATIONS,)),
    Otherwise(CRASH, ("starts_store_their_generation",)),
    Otherwise(INTERLEAVED, ("buffering_starts_with_payload",)),
    Otherwise(RESTART, ("deliveries_are_counted",)),
    Otherwise(CLEANED_INTERLEAVED, ("cleaning_stops_at_watermark",)),
    Otherwise(CLEANED_INTERLEAVED, ("cleaning_stops_at_watermark", "only_committed_supersede")),
    Otherwise(CLEANED_INTERLEAVED, ("only_committed_supersede",)),
    Otherwise(CLEANED, ("controls_stay",)),
    Otherwise(ZOMBIE, ("one_connection",)),
    Otherwise(ZOMBIE, ("coordinator_fences",)),
    Otherwise(ZOMBIE_AT_A_NEW_LEADER, ("coordinator_fences",)),
    Otherwise(ZOMBIE, ("leaders_fence",)),
    Otherwise(ZOMBIE, ("leaders_fence", "begin_waits_for_the_last")),
    Otherwise(LOST, ("doubt_aborts",)),
    Otherwise(LOST, ("commit_waits_for_payload",)),
    Otherwise(LOST, ("commits_are_resent",)),
    Otherwise(FAILOVER, ("prepares_are_recorded",)),
    Otherwise(FAILOVER, ("acknowledged_before_final",)),
    Otherwise(FAILOVER, ("prepared_are_redone",)),
    Otherwise(RESTART, ("restarts_at_first_pending",)),
    Otherwise(ZOMBIE, ("fetch_waits",)),
    Otherwise(ZOMBIE, ("fetch_waits", "begin_waits_for_the_last"), judged=_COPIES),
)
