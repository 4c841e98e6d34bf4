"""The producer client: reference §5.3, §5.5 to §5.7."""

import pytest

from zombieproof.model.decisions.producer_client import (
    abortable_if_possible,
    end_is_needed,
    event_of_reaction,
    is_retriable,
    must_bump_after_end,
    react,
    react_to_produce,
)
from zombieproof.model.releases import RELEASES
from zombieproof.model.rules import Rules, preset, with_switches
from zombieproof.model.vocabulary import NOTHING, ApiKey, Error, ProducerEvent, ProducerState, Reaction
from zombieproof.statemachines.kernel import ILLEGAL
from zombieproof.statemachines.producer import PRODUCER

COLUMNS = (
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.END_TXN,
    ApiKey.FIND_COORDINATOR,
)
LETTERS = {
    "ok": Reaction.DONE,
    "R": Reaction.RETRY,
    "L": Reaction.FIND_COORDINATOR_AND_RETRY,
    "Ab": Reaction.ABORTABLE,
    "Bu": Reaction.ABORTABLE_AND_BUMP,
    "Fa": Reaction.FATAL,
}
TABLE = {
    # error     Init AddP AddO Commit End Find
    0: "        ok   ok   ok   ok   ok   ok",
    15: "       L    L    L    L    L    R",
    16: "       L    L    L    L    L    R",
    7: "        R    R    R    L    R    R",
    51: "       R    R    R    R    R    R",
    14: "       R    R    R    R    R    R",
    13: "       R    R    R    R    R    R",
    3: "        R    R    R    R    R    R",
    47: "       Fa   Fa   Fa   Fa   Fa   Fa",
    90: "       Fa   Fa   Fa   Fa   Fa   Fa",
    53: "       Ab   Fa   Fa   Fa   Fa   Fa",
    31: "       Ab   Ab   Fa   Fa   Fa   Fa",
    48: "       Fa   Fa   Fa   Fa   Fa   Fa",
    49: "       Fa   Fa   Fa   Fa   Fa   Fa",
    59: "       Fa   Bu   Bu   Fa   Bu   Fa",
    120: "      Ab   Ab   Ab   Ab   Ab   Ab",
    29: "       Fa   Ab   Fa   Fa   Fa   Fa",
    55: "       Fa   Ab   Fa   Fa   Fa   Fa",
    30: "       Fa   Ab   Ab   Ab   Fa   Ab",
    25: "       Fa   Ab   Fa   Ab   Fa   Fa",
    22: "       Fa   Ab   Fa   Ab   Fa   Fa",
    69: "       Fa   Ab   Fa   Ab   Fa   Fa",
    113: "      Fa   Ab   Fa   Ab   Fa   Fa",
    82: "       Fa   Ab   Fa   Ab   Fa   Fa",
    43: "       Fa   Ab   Fa   Fa   Fa   Fa",
    50: "       Fa   Ab   Fa   Fa   Fa   Fa",
    42: "       Fa   Ab   Fa   Fa   Fa   Fa",
    -1: "       Fa   Ab   Fa   Fa   Fa   Fa",
}
"""The table of §5.5, EndTxn as a commit."""


@pytest.mark.parametrize(
    ("error", "api", "reaction"),
    [
        (error, api, LETTERS[letter])
        for error, row in TABLE.items()
        for api, letter in zip(COLUMNS, row.split(), strict=True)
    ],
)
def test_what_a_client_makes_of_a_coordinators_answer(error: int, api: ApiKey, reaction: Reaction) -> None:
    assert Reaction(react(api, error, True, Rules())) == reaction


OLDER = {
    # error     Init AddP AddO Commit End Find
    "0.11.0 1.0 1.1": """
        53      Fa   Fa   Fa   Fa   Fa   Fa
        31      Fa   Ab   Fa   Fa   Fa   Fa
        30      Fa   Ab   Ab   Ab   Fa   Ab
        29      Fa   Ab   Fa   Fa   Fa   Fa
        15      L    L    L    L    L    R
        16      L    L    L    L    L    Fa
        14      R    R    R    Fa   R    Fa
        51      R    R    R    Fa   R    Fa
        3       Fa   R    Fa   R    Fa   Fa
        7       Fa   Ab   Fa   L    Fa   Fa
        56      Fa   Ab   Fa   Fa   Fa   Fa
        22      Fa   Ab   Fa   Fa   Fa   Fa
        25      Fa   Ab   Fa   Fa   Fa   Fa
        82      Fa   Ab   Fa   Fa   Fa   Fa
        48      Fa   Fa   Fa   Fa   Fa   Fa
        49      Fa   Fa   Fa   Fa   Fa   Fa
    """,
    "2.0 2.1 2.2 2.3 2.4": """
        14      R    R    R    R    R    Fa
    """,
    "2.5 2.6 2.7 2.8 3.0 3.1 3.2": """
        22      Fa   Ab   Fa   Ab   Fa   Fa
        25      Fa   Ab   Fa   Ab   Fa   Fa
        82      Fa   Ab   Fa   Ab   Fa   Fa
        49      Fa   Bu   Bu   Fa   Bu   Fa
    """,
    "3.3 3.4 3.5": """
        16      L    L    L    L    L    R
        14      R    R    R    R    R    R
        51      R    R    R    Fa   R    R
        3       R    R    R    R    R    R
        7       R    R    R    L    R    R
        56      R    R    R    Fa   R    R
    """,
    "3.6 3.7": """
        53      Ab   Fa   Fa   Fa   Fa   Fa
        31      Ab   Ab   Fa   Fa   Fa   Fa
    """,
    "3.8 3.9": """
        51      R    R    R    R    R    R
        56      R    R    R    R    R    R
    """,
    "4.0 4.1 4.2 4.3 4.4": """
        49      Fa   Fa   Fa   Fa   Fa   Fa
    """,
}
"""Lines of releases -> the rows in which their clients differ from those before; read in ``TransactionManager.java``
of each release. What 53 and 31 in answer to InitProducerId lead to was seen of clients 2.4.1, 2.5.1, 3.5.2, 3.6.2 and
4.3.1 at a broker that refused them.
"""


def rows_of_releases() -> dict[tuple[str, int], list[Reaction]]:
    """(line, error) -> what its clients make of the error, by the columns."""
    found: dict[tuple[str, int], list[Reaction]] = {}
    rows: dict[int, list[Reaction]] = {}
    for lines, changes in OLDER.items():
        for row in filter(None, map(str.split, changes.split("\n"))):
            rows[int(row[0])] = [LETTERS[letter] for letter in row[1:]]
        found |= {(line, error): reactions for line in lines.split() for error, reactions in rows.items()}
    return found


@pytest.mark.parametrize(("line", "error"), rows_of_releases())
def test_what_the_clients_of_a_release_make_of_an_answer(line: str, error: int) -> None:
    rules = preset(line)
    assert [Reaction(react(api, error, True, rules)) for api in COLUMNS] == rows_of_releases()[line, error]


def test_the_clients_of_every_release_are_in_the_table() -> None:
    assert " ".join(OLDER).split() == list(RELEASES)
    newest = {
        error: row for (line, error), row in rows_of_releases().items() if line == RELEASES[-1] and error in TABLE
    }
    assert newest == {error: [LETTERS[letter] for letter in TABLE[error].split()] for error in newest}


@pytest.mark.parametrize(("off", "reaction"), [([], Reaction.FATAL), (["abort_120_fatal"], Reaction.ABORTABLE)])
def test_an_abort_that_is_answered_with_abort_leads_nowhere(off: list[str], reaction: Reaction) -> None:
    rules = with_switches(Rules(), off=off)
    assert react(ApiKey.END_TXN, Error.TRANSACTION_ABORTABLE, False, rules) == reaction
    assert react(ApiKey.END_TXN, Error.TRANSACTION_ABORTABLE, True, rules) == Reaction.ABORTABLE


@pytest.mark.parametrize("error", [Error.INVALID_PRODUCER_ID_MAPPING, Error.UNKNOWN_PRODUCER_ID])
@pytest.mark.parametrize("api", [ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.END_TXN])
def test_until_3_9_an_unknown_producer_could_abort_and_bump(error: Error, api: ApiKey) -> None:
    rules = with_switches(Rules(), off=["mapping_fatal"])
    assert react(api, error, True, rules) == Reaction.ABORTABLE_AND_BUMP
    assert react(api, error, True, preset("kip98")) == Reaction.FATAL
    assert react(ApiKey.TXN_OFFSET_COMMIT, error, True, rules) == Reaction.FATAL
    assert react(ApiKey.FIND_COORDINATOR, error, True, rules) == Reaction.FATAL


def test_bumping_needs_a_coordinator_that_can() -> None:
    assert abortable_if_possible(Rules()) == Reaction.ABORTABLE_AND_BUMP
    assert abortable_if_possible(preset("kip98")) == Reaction.FATAL


RETRIABLE = frozenset({2, 3, 6, 7, 13, 14, 15, 16, 19, 20, 51, 56, 88, 100})
"""The errors whose class is retriable (reference §0)."""


@pytest.mark.parametrize("error", list(Error), ids=lambda error: error.name)
def test_which_errors_are_retriable(error: Error) -> None:
    assert is_retriable(error) == (error in RETRIABLE)


@pytest.mark.parametrize(
    ("error", "transactional", "idempotent"),
    [
        (0, Reaction.DONE, Reaction.DONE),
        (46, Reaction.DONE, Reaction.DONE),
        *[(error, Reaction.RETRY, Reaction.RETRY) for error in sorted(RETRIABLE)],
        (45, Reaction.ABORTABLE_AND_BUMP, Reaction.BUMP_LOCALLY),
        (59, Reaction.ABORTABLE_AND_BUMP, Reaction.BUMP_LOCALLY),
        (47, Reaction.ABORTABLE_AND_BUMP, Reaction.FAIL_BATCH),
        (48, Reaction.ABORTABLE_AND_BUMP, Reaction.FAIL_BATCH),
        (120, Reaction.ABORTABLE_AND_BUMP, Reaction.FAIL_BATCH),
        (29, Reaction.ABORTABLE_AND_BUMP, Reaction.FAIL_BATCH),
        (87, Reaction.ABORTABLE_AND_BUMP, Reaction.FAIL_BATCH),
        *[(error, Reaction.FATAL, Reaction.FATAL) for error in (90, 31, 53, 35, 49)],
    ],
)
def test_what_a_client_makes_of_a_leaders_answer(error: int, transactional: int, idempotent: int) -> None:
    assert Reaction(react_to_produce(error, True, True, Rules())) == transactional
    assert Reaction(react_to_produce(error, False, True, Rules())) == idempotent


@pytest.mark.parametrize("transactional", [False, True])
def test_a_batch_that_only_waits_for_an_earlier_one_is_sent_again(transactional: bool) -> None:
    assert react_to_produce(Error.OUT_OF_ORDER_SEQUENCE_NUMBER, transactional, False, Rules()) == Reaction.RETRY


@pytest.mark.parametrize(
    ("error", "transactional", "reaction"),
    [
        (45, True, Reaction.ABORTABLE),
        (59, True, Reaction.ABORTABLE),
        (45, False, Reaction.FORGET_PRODUCER_ID),
        (59, False, Reaction.FORGET_PRODUCER_ID),
        (47, True, Reaction.FATAL),
        (47, False, Reaction.FAIL_BATCH),
        (49, True, Reaction.ABORTABLE),
        (49, False, Reaction.FAIL_BATCH),
    ],
)
def test_a_client_of_0_11_cannot_raise_its_epoch(error: int, transactional: bool, reaction: Reaction) -> None:
    assert Reaction(react_to_produce(error, transactional, True, preset("kip98"))) == reaction


def test_before_kip_588_a_stale_epoch_ended_the_producer() -> None:
    rules = with_switches(Rules(), off=["kip588"])
    assert react_to_produce(Error.INVALID_PRODUCER_EPOCH, True, True, rules) == Reaction.FATAL


@pytest.mark.parametrize("state", list(ProducerState), ids=lambda state: state.name)
def test_a_failure_is_an_event_that_the_table_allows_or_the_producer_is_poisoned(state: ProducerState) -> None:
    fatal = event_of_reaction(state, Reaction.FATAL)
    assert fatal == (NOTHING if state == ProducerState.FATAL_ERROR else ProducerEvent.FATAL_FAILURE)
    for reaction in (Reaction.ABORTABLE, Reaction.ABORTABLE_AND_BUMP):
        event = event_of_reaction(state, reaction)
        if state in (ProducerState.ABORTING_TRANSACTION, ProducerState.FATAL_ERROR):
            assert event == NOTHING
        else:
            assert event == ProducerEvent.ABORTABLE_FAILURE
            outside = (ProducerState.UNINITIALIZED, ProducerState.READY, ProducerState.PREPARED_TRANSACTION)
            assert (PRODUCER.table[state][event] == ILLEGAL) == (state in outside)


@pytest.mark.parametrize("reaction", [Reaction.DONE, Reaction.RETRY, Reaction.FAIL_BATCH, Reaction.BUMP_LOCALLY])
def test_other_reactions_leave_the_state_alone(reaction: Reaction) -> None:
    assert event_of_reaction(ProducerState.IN_TRANSACTION, reaction) == NOTHING


def test_a_transaction_in_which_nothing_was_sent_is_not_ended_at_the_coordinator() -> None:
    assert end_is_needed(True)
    assert not end_is_needed(False)


@pytest.mark.parametrize(
    ("requested", "version", "follows"), [(True, 0, True), (True, 1, True), (True, 2, False), (False, 0, False)]
)
def test_only_below_transaction_version_2_the_client_raises_the_epoch_itself(
    requested: bool, version: int, follows: bool
) -> None:
    assert must_bump_after_end(requested, version) is follows
