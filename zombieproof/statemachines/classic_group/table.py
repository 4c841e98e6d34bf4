"""A group of the classic protocol: who is in it, and in which generation.

Theory of operation: joining or leaving opens a rebalance; when every member has joined the generation rises and the
leader is asked for the assignment; with it the group is stable. This machine decides nothing about transactions, only
which generation an offset commit has to name (reference §4.1, O6); so it is not one of those that are checked.

Source: ``ClassicGroupState.java``.
"""

from zombieproof.model.vocabulary import ClassicGroupEvent as E
from zombieproof.model.vocabulary import ClassicGroupState as S
from zombieproof.statemachines.kernel import Machine, T

CLASSIC_GROUP = Machine(
    name="classic_group",
    states=S,
    events=E,
    initial=S.EMPTY,
    rows=(
        T(S.EMPTY, E.REBALANCE, S.PREPARING_REBALANCE, "the first member joins"),
        T(S.EMPTY, E.DELETE, S.DEAD, "nobody is there, and no offset is left"),
        T(S.PREPARING_REBALANCE, E.ALL_JOINED, S.COMPLETING_REBALANCE, "a new generation begins"),
        T(S.PREPARING_REBALANCE, E.NOBODY_LEFT, S.EMPTY, "the last member left"),
        T(S.COMPLETING_REBALANCE, E.ASSIGN, S.STABLE, "the leader says who reads what"),
        T(S.COMPLETING_REBALANCE, E.REBALANCE, S.PREPARING_REBALANCE, "somebody joins or leaves meanwhile"),
        T(S.STABLE, E.REBALANCE, S.PREPARING_REBALANCE, "somebody joins or leaves, or the leader joins again"),
    ),
    terminal=frozenset({S.DEAD}),
    transient=frozenset({S.PREPARING_REBALANCE, S.DEAD}),
)
