"""Small scopes in which the live system and the checker reach the same states: data, as the checker's scenarios are.

The first three are the larger ones; the others are there so that every kind of action, old rules and both ways of
joining a transaction are among them. `distinct` and `transitions` are pinned on both sides.
"""

from dataclasses import dataclass

from zombieproof.checker.scenario import Scenario
from zombieproof.checker.transactions.scenario import transaction_scenario
from zombieproof.checker.transactions.setup import Setup
from zombieproof.checker.transactions.vocabulary import Op


@dataclass(frozen=True)
class Scope:
    """A scenario of the checker, how many transitions it has, and in how many ways each state is expanded."""

    scenario: Scenario
    transitions: int
    ways: int = 2

    @property
    def setup(self) -> Setup:
        """What is constant during a run."""
        setup = self.scenario.setup(self.scenario.own_rules(), self.scenario.bounds)
        assert isinstance(setup, Setup)
        return setup


_ONE = (Op.SEND_0, Op.COMMIT)
_LOOP = (Op.FETCH, Op.SEND_0, Op.OFFSETS, Op.COMMIT)
_OFFSETS = (Op.FETCH, Op.OFFSETS, Op.COMMIT)

SCOPES: tuple[Scope, ...] = (
    Scope(
        transaction_scenario(
            "zombie_takeover",
            "Two producers, one transactional id: the first goes on when the second has taken it. An answer gets lost.",
            ((_ONE,), (_ONE,)),
            distinct=1_783,
            sometimes=(),
            lost=1,
        ),
        transitions=3_196,
        ways=1,
    ),
    Scope(
        transaction_scenario(
            "coordinator_failover",
            "The coordinator crashes, or is deposed and does not know it; an append is durable but reported as failed.",
            ((_ONE,),),
            distinct=637,
            sometimes=(),
            failovers=1,
            deposed=1,
            unknown_appends=1,
        ),
        transitions=1_215,
        ways=1,
    ),
    Scope(
        transaction_scenario(
            "consume_transform_produce",
            "Two members of a group; the first is taken for dead and goes on. The leader of any partition changes.",
            ((_LOOP,), (_OFFSETS,)),
            distinct=1_402,
            sometimes=(),
            ids=(0, 1),
            grouped=1,
            rebalances=1,
            leader_changes=1,
        ),
        transitions=3_772,
        ways=1,
    ),
    Scope(
        transaction_scenario(
            "time_out",
            "The coordinator aborts an open transaction, and fails over.",
            ((_ONE,),),
            distinct=541,
            sometimes=(),
            failovers=1,
            timeouts=1,
            lost=1,
        ),
        transitions=851,
    ),
    Scope(
        transaction_scenario(
            "time_out_of_version_0",
            "The same by older rules, and the producer goes on with another transaction.",
            ((_ONE, _ONE),),
            distinct=274,
            sometimes=(),
            changes={"transaction_version": 0},
            timeouts=1,
            lost=1,
        ),
        transitions=427,
    ),
    Scope(
        transaction_scenario(
            "crash",
            "A producer crashes at any moment, and starts again.",
            ((_ONE, _ONE),),
            distinct=246,
            sometimes=(),
            crashes=1,
        ),
        transitions=330,
    ),
    Scope(
        transaction_scenario(
            "expiry",
            "An idle transactional id is forgotten; a request was sent twice.",
            ((_ONE, _ONE),),
            distinct=252,
            sometimes=(),
            expirations=1,
            doubled=1,
        ),
        transitions=357,
    ),
    Scope(
        transaction_scenario(
            "leaders",
            "Leaders change twice; batches and markers were sent twice; a producer gives a batch up.",
            ((_ONE,),),
            distinct=240,
            sometimes=(),
            leader_changes=2,
            late=1,
            doubled_batches=1,
            doubled_markers=1,
        ),
        transitions=516,
    ),
    Scope(
        transaction_scenario(
            "leaderless",
            "A partition has no leader for a while.",
            ((_ONE, _ONE),),
            distinct=359,
            sometimes=(),
            leaderless=1,
            lost=1,
        ),
        transitions=766,
    ),
    Scope(
        transaction_scenario(
            "readers",
            "Two consumers read what may be aborted: one as the broker tells it, one by holding back.",
            (((Op.SEND_0, Op.SEND_1, Op.ABORT), _ONE),),
            distinct=247,
            sometimes=(),
            readers=2,
            may_abort=1,
        ),
        transitions=773,
    ),
    Scope(
        transaction_scenario(
            "two_in_flight",
            "Two batches are under way at once; one was sent twice, one may be given up.",
            (((Op.SEND_0, Op.SEND_0, Op.COMMIT),),),
            distinct=495,
            sometimes=(),
            in_flight=2,
            doubled_batches=1,
            late=1,
        ),
        transitions=1_099,
    ),
    Scope(
        transaction_scenario(
            "exhaustion",
            "The epochs of a producer id are used up, and the coordinator fails over.",
            ((_ONE, _ONE, _ONE),),
            distinct=244,
            sometimes=(),
            epoch_max=3,
            failovers=1,
        ),
        transitions=377,
    ),
    Scope(
        transaction_scenario(
            "forgotten",
            "A leader forgets a silent producer, or a guard that was never used.",
            ((_ONE, _ONE),),
            distinct=484,
            sometimes=(),
            forgotten=1,
            late=1,
        ),
        transitions=850,
    ),
    Scope(
        transaction_scenario(
            "waiting_questions",
            "A leader's questions to the coordinator wait for each other, and give their places to newer ones.",
            ((_ONE, (Op.SEND_0,)),),
            distinct=716,
            sometimes=("a_newer_question_takes_the_place", "an_answer_comes_behind_a_marker"),
            verification_queue=1,
            doubled_batches=1,
            late=1,
        ),
        transitions=1_385,
        ways=1,
    ),
    Scope(
        transaction_scenario(
            "lost_questions",
            "The connection of a leader to the coordinator breaks, and a question that was lost may still arrive.",
            ((_ONE,),),
            distinct=190,
            sometimes=("a_question_waits",),
            verification_queue=1,
            doubled_batches=1,
            lost=1,
        ),
        transitions=350,
    ),
    Scope(
        transaction_scenario(
            "kafka_0_11",
            "The first rules: no verification, one epoch for every transaction.",
            ((_ONE,), (_ONE,)),
            distinct=176,
            sometimes=(),
            rules="0.11.0",
        ),
        transitions=276,
    ),
    Scope(
        transaction_scenario(
            "kafka_3_9",
            "Partitions are added by the client and verified by the leader.",
            ((_ONE,), (_ONE,)),
            distinct=402,
            sometimes=(),
            rules="3.9",
        ),
        transitions=688,
    ),
    Scope(
        transaction_scenario(
            "offsets_by_the_client",
            "Transaction version 0: the client adds the group's partition by itself.",
            ((_OFFSETS,), (_OFFSETS,)),
            distinct=216,
            sometimes=(),
            ids=(0, 1),
            grouped=1,
            rebalances=1,
            changes={"transaction_version": 0},
        ),
        transitions=350,
    ),
    Scope(
        transaction_scenario(
            "appends_in_doubt",
            "Appends take their time, and fail, or are durable but reported as failed; the coordinator is deposed.",
            (((),),),
            distinct=187,
            sometimes=(),
            appends_travel=1,
            failed_appends=1,
            unknown_appends=1,
            deposed=1,
        ),
        transitions=276,
        ways=1,
    ),
    Scope(
        transaction_scenario(
            "appends_of_the_deposed",
            "Appends take their time: the coordinator that prepared one is not in office when it is made, or told.",
            ((_ONE,),),
            distinct=244,
            sometimes=(),
            appends_travel=1,
            deposed=1,
        ),
        transitions=391,
    ),
    Scope(
        transaction_scenario(
            "appends_asked_for_again",
            "Appends take their time: whoever waits for one loses its answer, or the coordinator crashes meanwhile.",
            ((_ONE,),),
            distinct=346,
            sometimes=(),
            appends_travel=1,
            lost=1,
            failovers=1,
        ),
        transitions=499,
    ),
    Scope(
        transaction_scenario(
            "appends_of_sweeps",
            "Appends take their time, and some of them nobody has asked for: a time-out, a tombstone.",
            ((_ONE,),),
            distinct=132,
            sometimes=(),
            changes={"transaction_version": 0},
            appends_travel=1,
            timeouts=1,
            expirations=1,
        ),
        transitions=210,
        ways=1,
    ),
    Scope(
        transaction_scenario(
            "refused_appends",
            "Appends take their time, and the log refuses one for good; or its disk fails, and another one leads.",
            ((_ONE,),),
            distinct=140,
            sometimes=(),
            appends_travel=1,
            hard_appends=1,
        ),
        transitions=189,
        ways=1,
    ),
    Scope(
        transaction_scenario(
            "refused_appends_of_several",
            "The same, where an append may also be refused for the moment, and the coordinator crashes.",
            (((),),),
            distinct=169,
            sometimes=(),
            appends_travel=1,
            hard_appends=1,
            failed_appends=1,
            failovers=1,
        ),
        transitions=235,
        ways=1,
    ),
    Scope(
        transaction_scenario(
            "refused_appends_of_a_failover",
            "The log refuses an append for good, or its disk fails; the coordinator crashes, and finds a decision.",
            ((_ONE,),),
            distinct=731,
            sometimes=(),
            appends_travel=1,
            hard_appends=1,
            failovers=1,
        ),
        transitions=1_204,
        ways=1,
    ),
    Scope(
        transaction_scenario(
            "late_blocks",
            "Producer ids come in blocks of one, late or twice.",
            (((),),),
            distinct=322,
            sometimes=(),
            id_blocks=1,
            doubled=1,
        ),
        transitions=666,
    ),
    Scope(
        transaction_scenario(
            "lost_blocks",
            "Producer ids come in blocks of one, or do not come.",
            (((),),),
            distinct=194,
            sometimes=(),
            id_blocks=1,
            lost=1,
        ),
        transitions=344,
        ways=1,
    ),
    Scope(
        transaction_scenario(
            "blocks_of_the_deposed",
            "Producer ids come in blocks of two, and another coordinator has other ones.",
            ((_ONE,),),
            distinct=471,
            sometimes=(),
            id_blocks=2,
            deposed=1,
        ),
        transitions=1_017,
    ),
    Scope(
        transaction_scenario(
            "answers_on_their_way",
            "Answers to clients are on their way for a while: they are lost, or come when their client is gone.",
            ((_ONE,),),
            distinct=298,
            sometimes=(),
            answers_travel=1,
            lost=1,
            crashes=1,
        ),
        transitions=425,
        ways=1,
    ),
    Scope(
        transaction_scenario(
            "answers_to_late_batches",
            "A batch is given up when its answer is on its way; the leader that gave one is not there any more.",
            (((Op.SEND_0, Op.SEND_0, Op.COMMIT),),),
            distinct=177,
            sometimes=(),
            answers_travel=1,
            in_flight=2,
            late=1,
            leader_changes=1,
        ),
        transitions=351,
        ways=1,
    ),
)
