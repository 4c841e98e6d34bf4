"""Causes of markers that are missing, too many, or not what was decided."""

from zombieproof.model.known_defects import defect
from zombieproof.traces.explaining.causes.cause import Cause, Prevention, Witness
from zombieproof.traces.explaining.causes.recognising import (
    abort_without_decision,
    always,
    leader_changed_behind,
    marker_repeats_the_epoch,
    marker_was_skipped,
    newer_coordinator,
)
from zombieproof.traces.verdict.circumstances import Shape

CLEAN_ELECTIONS = Prevention(
    "Keep unclean.leader.election.enable=false, and min.insync.replicas at 2 or more with acks=all.",
    "A partition whose in-sync replicas are all away stays away until one of them is back.",
)
SKIPPED = defect("B73")

NO_WRITES_WITHOUT_LEADER = Prevention(
    f"{SKIPPED.issues[0]} was open when this was written (releases {SKIPPED.span}): upgrade to one that names it as "
    "repaired. Until then let no transaction end while one of its partitions has no leader: pause producers before the "
    "last replica goes down.",
    "Producers stand still during the restart of brokers; more replicas for each partition make it rarer.",
)
WATCH_OPERATORS = Prevention(
    "Ask who ran kafka-transactions.sh abort (or an admin client's abortTransaction) at that time.",
    "None.",
)

OWN_RULES = Prevention(
    "Judge by the rules of the cluster's own release (zombieproof rules lists the presets).",
    "None.",
    ("zombieproof replay --rules RELEASE PATH...",),
)

CAUSES = (
    Cause(
        "marker_skipped_without_leader",
        (Shape.MARKER_MISSING,),
        "The partition had no live leader when the transaction was decided; the coordinator took it for deleted and "
        "skipped its marker, so the producer's next transaction there decided (or will decide) over these records too.",
        marker_was_skipped,
        "The coordinator's log says \"Couldn't find leader endpoint for partitions ...\" at the time of the decision.",
        switches=("marker_waits_for_leader",),
        bugs=(SKIPPED.bug,),
        issues=SKIPPED.issues,
        releases=f"{SKIPPED.releases}; {SKIPPED.seen}",
        witness=Witness(
            "leaderless_partition",
            "marker_skips_a_partition_without_leader",
            "an_acknowledged_commit_loses_nothing",
            without=("marker_waits_for_leader",),
        ),
        preventions=(NO_WRITES_WITHOUT_LEADER,),
    ),
    Cause(
        "marker_lost_by_unclean_election",
        (Shape.MARKER_MISSING, Shape.MARKERS_DIFFER),
        "The marker was written, but a replica that did not have it yet became leader and cut it off.",
        leader_changed_behind,
        "Another replica, or a backup, still has the marker; the brokers' logs say 'unclean' or 'Truncating' at that "
        "time.",
        bugs=("B58",),
        issues=("KAFKA-7408", "KAFKA-20716"),
        releases="all, where unclean.leader.election.enable=true or acknowledged data was lost with a disk",
        preventions=(CLEAN_ELECTIONS,),
    ),
    Cause(
        "marker_by_an_operator",
        (
            Shape.MARKER_CONTRARY,
            Shape.MARKERS_DIFFER,
            Shape.MARKER_EARLY,
            Shape.MARKER_UNDECIDED,
            Shape.MARKER_UNLISTED,
        ),
        "Somebody ended the transaction on this partition by hand, past the coordinator.",
        abort_without_decision,
        "The shell history of operators, and WriteTxnMarkers requests of no broker in the request log.",
        issues=("KIP-664",),
        releases="all since 3.0 (the tool), any since 0.11 (the request)",
        preventions=(WATCH_OPERATORS,),
    ),
    Cause(
        "marker_of_a_deposed_coordinator",
        (Shape.MARKER_CONTRARY, Shape.MARKERS_DIFFER, Shape.MARKER_FENCED, Shape.MARKER_EPOCH, Shape.MARKER_DEPOSED),
        "A coordinator that was no longer in charge delivered its marker late, and the leader took it: it did not know "
        "the newer coordinator epoch, or did not compare.",
        newer_coordinator,
        "The coordinator epoch in the marker is lower than that of the last election of its __transaction_state "
        "partition.",
        switches=("marker_coordinator_epoch",),
        bugs=("B14",),
        issues=("KAFKA-9144",),
        releases="where a leader forgets producers too early: 0.11 to 2.4",
        witness=Witness(
            "coordinator_failover",
            "markers_of_a_deposed_coordinator_count",
            "epochs_never_go_down",
            without=("marker_coordinator_epoch",),
        ),
        preventions=(Prevention("Upgrade brokers to 2.5 or newer.", "A rolling restart."),),
    ),
    Cause(
        "marker_of_the_last_transaction_came_late",
        (Shape.MARKER_FENCED, Shape.MARKER_EPOCH),
        "A marker of the producer's last transaction was delivered once more, and ended the next one: the leader asked "
        "only that its epoch is not lower.",
        marker_repeats_the_epoch,
        "The same marker stands further up already, at the end of the transaction before.",
        switches=("marker_strict",),
        issues=("KIP-1228",),
        witness=None,
        preventions=(Prevention("Upgrade brokers to 4.2 or newer.", "A rolling restart."), OWN_RULES),
    ),
    Cause(
        "coordinator_lost_its_decision",
        (Shape.MARKER_EARLY, Shape.MARKER_UNDECIDED, Shape.MARKER_UNLISTED, Shape.MARKER_CONTRARY),
        "The coordinator had decided it, and the record of that is gone from __transaction_state: a replica without it "
        "became leader, or its copy here is not whole.",
        always,
        "Another replica of that partition of __transaction_state has the record; replay both.",
        bugs=("B58",),
        issues=("KAFKA-7408",),
        releases="all, where unclean.leader.election.enable=true or transaction.state.log.min.isr is 1",
        preventions=(CLEAN_ELECTIONS,),
    ),
)
