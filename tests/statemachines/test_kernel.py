"""What a machine is, and which tables are none."""

from enum import IntEnum

import pytest

from zombieproof.statemachines.kernel import ILLEGAL, IllegalTransition, Machine, MalformedMachine, T


class S(IntEnum):
    """States of a lamp."""

    OFF = 0
    ON = 1
    BROKEN = 2


class E(IntEnum):
    """Events of a lamp."""

    NOTHING = 0
    SWITCH = 1
    FALL = 2


ROWS = (
    T(S.OFF, E.SWITCH, S.ON, "light"),
    T(S.ON, E.SWITCH, S.OFF, "dark"),
    T(S.ON, E.FALL, S.BROKEN, "glass"),
)


def lamp(rows: tuple[T, ...] = ROWS, terminal: frozenset[IntEnum] = frozenset({S.BROKEN})) -> Machine:
    return Machine(name="lamp", states=S, events=E, initial=S.OFF, rows=rows, terminal=terminal)


def test_the_matrix_holds_the_rows_and_nothing_else() -> None:
    assert lamp().table == ((ILLEGAL, S.ON, ILLEGAL), (ILLEGAL, S.OFF, S.BROKEN), (ILLEGAL, ILLEGAL, ILLEGAL))


def test_the_table_moves_a_state() -> None:
    assert lamp().target(S.ON, E.FALL) == S.BROKEN


def test_what_is_legal_stands_in_the_rows() -> None:
    assert list(lamp().legal(S.ON)) == [E.SWITCH, E.FALL]
    assert list(lamp().legal(S.BROKEN)) == []


@pytest.mark.parametrize("target", [S.ON, S.BROKEN], ids=["repeated", "contradicted"])
def test_two_rows_for_the_same_event_are_refused(target: S) -> None:
    with pytest.raises(MalformedMachine, match="lamp: two rows for SWITCH in OFF"):
        lamp((*ROWS, T(S.OFF, E.SWITCH, target, "again")))


def test_a_state_that_no_row_leads_to_is_refused() -> None:
    with pytest.raises(MalformedMachine, match="lamp: no row leads to BROKEN"):
        lamp(ROWS[:2])


def test_a_loop_does_not_make_a_state_reachable() -> None:
    with pytest.raises(MalformedMachine, match="lamp: no row leads to BROKEN"):
        lamp((*ROWS[:2], T(S.BROKEN, E.FALL, S.BROKEN, "crumbs")), frozenset())


def test_a_state_without_exit_has_to_be_declared_terminal() -> None:
    with pytest.raises(MalformedMachine, match="lamp: BROKEN: a state is terminal exactly when it has no row"):
        lamp(terminal=frozenset())


def test_a_state_with_an_exit_is_not_terminal() -> None:
    with pytest.raises(MalformedMachine, match="lamp: ON: a state is terminal exactly when it has no row"):
        lamp(terminal=frozenset({S.BROKEN, S.ON}))


def test_an_illegal_transition_says_who_where_and_what_would_have_been_legal() -> None:
    with pytest.raises(IllegalTransition) as illegal:
        lamp().target(S.OFF, E.FALL, "kitchen")
    assert str(illegal.value) == "lamp 'kitchen': FALL is illegal in OFF; legal here: SWITCH"
    assert (illegal.value.machine, illegal.value.subject) == ("lamp", "kitchen")
    assert (illegal.value.state, illegal.value.event) == (S.OFF, E.FALL)


def test_in_a_terminal_state_nothing_is_legal() -> None:
    with pytest.raises(IllegalTransition, match=r"^lamp: SWITCH is illegal in BROKEN; legal here: nothing, the state"):
        lamp().target(S.BROKEN, E.SWITCH)
