"""Each broken promise is explained: with causes that exist, what to do, and whatever else is known of it.

What an explanation names (scenarios, mutants, rules, published bugs) is compared with where it is kept.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.formats.topics import CONSUMER_OFFSETS
from zombieproof.model.releases import RELEASES
from zombieproof.model.rules import switches
from zombieproof.model.vocabulary import TransactionState as S
from zombieproof.traces.evidence import BrokerLine, ClientFact, ClientLine, LoggedMarker
from zombieproof.traces.explaining.causes.known import CAUSES, TRANSACTION_VERSION, rule
from zombieproof.traces.explaining.causes.stories import STORIES
from zombieproof.traces.explaining.explain import explain
from zombieproof.traces.explaining.scene.shell import quoted
from zombieproof.traces.replay import replay
from zombieproof.traces.verdict.circumstances import Harm, Shape
from zombieproof.traces.verdict.explanation import Explanation
from zombieproof.traces.verdict.report import Finding

if TYPE_CHECKING:
    from tests.traces.replay.conftest import History

T0, T1, GROUPS = ("t", 0), ("t", 1), (CONSUMER_OFFSETS, 0)


def explained(history: "History") -> Finding:
    """The only finding of a history, with its explanation."""
    report = explain(replay(history.evidence), history.evidence)
    assert len(report.findings) == 1, report.findings
    return report.findings[0]


def explanation_of(history: "History") -> Explanation:
    found = explained(history).explanation
    assert found is not None
    return found


def shape_of(history: "History") -> tuple[Shape | None, Harm]:
    told = explained(history).circumstances
    assert told is not None
    return told.shape, told.harm


def likely(explanation: Explanation) -> list[str]:
    return [cause.name for cause in explanation.causes if cause.is_likely]


def possible(explanation: Explanation) -> list[str]:
    return [cause.name for cause in explanation.causes if not cause.is_likely]


def repairs(explanation: Explanation) -> list[str]:
    return [remedy.name for remedy in explanation.remedies if remedy.name != "prevent"]


# ---------------------------------------------------------------- what the data names


def test_names_of_causes_are_different_and_every_shape_has_one() -> None:
    assert len({cause.name for cause in CAUSES}) == len(CAUSES)
    assert {shape for cause in CAUSES for shape in cause.shapes} == set(Shape)


def test_switches_that_causes_name_exist_and_their_releases_are_one_stretch() -> None:
    known = {facts.name for facts in switches()} | {TRANSACTION_VERSION.name}
    named = {name for cause in CAUSES for name in cause.switches}
    assert named <= known
    for name in named:
        lacking = [RELEASES.index(line) for line in rule(name).lacking]
        assert lacking == list(range(lacking[0], lacking[-1] + 1)) if lacking else True, name


def test_bugs_that_causes_name_are_in_the_list(repository_root: Path) -> None:
    listed = set(re.findall(r"^\| (B\d\d) \|", (repository_root / "docs/bugs.md").read_text(), re.MULTILINE))
    assert {bug for cause in CAUSES for bug in cause.bugs} <= listed


def test_published_issues_are_written_as_their_trackers_write_them() -> None:
    for cause in CAUSES:
        assert all(re.fullmatch(r"(?:KAFKA|KIP)-\d+", issue) for issue in cause.issues), cause.name
        assert cause.switches or cause.issues or cause.releases or cause.name == "evidence_is_not_whole", cause.name


def test_scenarios_and_mutants_that_causes_name_exist_and_break_the_promise_that_is_said() -> None:
    witnesses = [cause.witness for cause in CAUSES if cause.witness is not None]
    assert len(witnesses) >= 12
    for witness in witnesses:
        mutant = SCENARIOS[witness.scenario].mutant(witness.mutant)
        assert mutant is not None, witness
        assert mutant.breaks == witness.breaks, witness
        if witness.without:
            others = (dict(mutant.changes), dict(mutant.bounds), mutant.rules)
            assert (mutant.without, *others) == (witness.without, {}, {}, ""), witness


def test_a_switch_of_a_cause_is_one_that_its_mutant_takes_away() -> None:
    for cause in CAUSES:
        if cause.witness is None or not cause.switches:
            continue
        mutant = SCENARIOS[cause.witness.scenario].mutant(cause.witness.mutant)
        assert mutant is not None
        assert set(cause.switches) & {*mutant.without, *mutant.changes}, cause.name


def test_stories_are_those_of_the_scenarios() -> None:
    assert {name: SCENARIOS[name].story for name in STORIES} == dict(STORIES)
    assert {cause.witness.scenario for cause in CAUSES if cause.witness} <= set(STORIES)


def test_sentences_end_and_say_no_more_than_one_line_would() -> None:
    for cause in CAUSES:
        assert cause.sentence.endswith("."), cause.name
        assert cause.apart.endswith("."), cause.name
        assert all(p.sentence.endswith(".") and p.cost.endswith(".") for p in cause.preventions), cause.name


# ---------------------------------------------------------------- two steps


def test_explaining_changes_neither_verdict_nor_finding(made: "type[History]") -> None:
    history = made.two_transactions()
    history.remove(T1, 1)
    found = replay(history.evidence)
    told = explain(found, history.evidence)
    unexplained = [finding.model_copy(update={"explanation": None}) for finding in told.findings]
    assert told.model_copy(update={"findings": unexplained}) == found


# ---------------------------------------------------------------- a marker that is missing


def without_marker(made: "type[History]", *, commit: bool, leader_epoch: int | None) -> "History":
    """A transaction whose marker on t-1 is missing, and another one behind it (under a leader epoch)."""
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.transaction(0, T0, T1, commit=commit)
    history.remove(T1, 1)
    if leader_epoch is not None:
        history.transaction(1, T1, commit=not commit)
        for index in (1, 2):
            history.change(T1, index, partition_leader_epoch=leader_epoch)
    return history


def test_a_leader_that_was_away_makes_a_skipped_marker_likely(made: "type[History]") -> None:
    found = explanation_of(without_marker(made, commit=True, leader_epoch=2))
    assert likely(found) == ["marker_skipped_without_leader"]
    assert possible(found) == ["marker_lost_by_unclean_election"]
    cause = found.causes[0]
    assert "from 0 to 2" in cause.because
    assert (cause.issues, cause.bugs) == (["KAFKA-20734"], ["B73"])
    assert cause.rules[0].lacking == ["4.1", "4.2", "4.3", "4.4"]
    assert cause.shown_by is not None
    assert cause.shown_by.command == "zombieproof check leaderless_partition --without marker_waits_for_leader"


def test_a_leader_that_never_changed_skipped_no_marker(made: "type[History]") -> None:
    found = explanation_of(without_marker(made, commit=True, leader_epoch=0))
    assert [cause.name for cause in found.causes] == ["evidence_is_not_whole"]


def test_where_nothing_follows_several_causes_are_possible_and_told_apart(made: "type[History]") -> None:
    found = explanation_of(without_marker(made, commit=True, leader_epoch=None))
    assert likely(found) == []
    assert possible(found) == [
        "marker_skipped_without_leader",
        "marker_lost_by_unclean_election",
        "evidence_is_not_whole",
    ]
    assert all(cause.apart for cause in found.causes)
    assert found.remedies[-1].sentence.startswith('If the cause is "')


def test_an_older_protocol_makes_a_skipped_marker_only_possible(made: "type[History]") -> None:
    history = without_marker(made, commit=True, leader_epoch=2)
    for index in range(1, len(history.evidence.transaction_states)):
        history.restate(index, client_transaction_version=None)
    found = explain(replay(history.evidence), history.evidence).findings
    causes = [finding.explanation.causes for finding in found if finding.explanation]
    skipped = [cause for each in causes for cause in each if cause.name == "marker_skipped_without_leader"]
    assert not any(cause.is_likely for cause in skipped)


@pytest.mark.parametrize(
    ("commit", "leader_epoch", "harm", "repair"),
    [
        (True, 2, Harm.LOST, ["send again"]),
        (False, 2, Harm.VISIBLE, ["correct"]),
        (True, None, Harm.STUCK, ["commit the next transaction", "abort"]),
        (False, None, Harm.STUCK, ["abort"]),
    ],
)
def test_what_to_do_about_a_missing_marker_depends_on_what_became_of_the_data(
    made: "type[History]", commit: bool, leader_epoch: int | None, harm: Harm, repair: list[str]
) -> None:
    history = without_marker(made, commit=commit, leader_epoch=leader_epoch)
    assert shape_of(history) == (Shape.MARKER_MISSING, harm)
    assert repairs(explanation_of(history)) == repair


def test_a_marker_of_the_same_kind_behind_it_harms_nothing(made: "type[History]") -> None:
    history = without_marker(made, commit=True, leader_epoch=2)
    history.turn(T1, 2)
    history.restate(5, state=S.PREPARE_COMMIT)
    history.restate(6, state=S.COMPLETE_COMMIT)
    found = explained(history)
    assert found.circumstances is not None
    assert found.circumstances.harm is Harm.NONE
    assert found.explanation is not None
    assert "held back" in found.explanation.effect
    assert repairs(found.explanation) == ["nothing to repair"]


def test_an_input_that_was_committed_in_the_same_transaction_can_be_read_again(made: "type[History]") -> None:
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.state(S.ONGOING, 7, 0, GROUPS)
    history.offset(7, 0, 3)
    history.state(S.PREPARE_COMMIT, 7, 1, GROUPS)
    history.marker(GROUPS, 7, 1)
    history.state(S.COMPLETE_COMMIT, 7, 1)
    history.state(S.ONGOING, 7, 1, GROUPS, T1)
    history.data(T1, 7, 1, 0)
    history.offset(7, 1, 8)
    history.state(S.PREPARE_COMMIT, 7, 2, GROUPS, T1)
    history.marker(GROUPS, 7, 2)
    history.marker(T1, 7, 2, commit=False)
    history.state(S.COMPLETE_COMMIT, 7, 2)
    found = explanation_of(history)
    assert repairs(found) == ["send again", "read the input again"]
    [command] = found.remedies[1].commands
    assert command == (
        "kafka-consumer-groups.sh --bootstrap-server HOST:PORT --group copier --topic in:0 "
        "--reset-offsets --to-offset 3 --execute"
    )


# ---------------------------------------------------------------- data that nobody owns


def late(made: "type[History]", ended: bool | None = None) -> "History":
    """Data of the old protocol behind the abort marker of its epoch; `ended` by a marker that nobody decided."""
    history = made.two_transactions(tv=0)
    history.data(T0, 7, 0, 4)
    if ended is not None:
        history.marker(T0, 7, 0, commit=ended)
    return history


def test_what_hangs_is_aborted_by_the_offset_at_which_it_opened(made: "type[History]") -> None:
    history = late(made)
    assert shape_of(history) == (Shape.DATA_LATE, Harm.STUCK)
    found = explanation_of(history)
    tool = "kafka-transactions.sh --bootstrap-server HOST:PORT"
    assert found.remedies[0].commands == [
        f"{tool} find-hanging --topic t --partition 0",
        f"{tool} abort --topic t --partition 0 --start-offset 6",
        f"{tool} abort --topic t --partition 0 --producer-id 7 --producer-epoch 0 --coordinator-epoch 0",
    ]
    assert "loses the record" in found.remedies[0].cost
    assert likely(found) == ["late_record_opened_a_transaction"]


def test_the_coordinator_epoch_of_an_abort_is_that_of_the_newest_marker(made: "type[History]") -> None:
    history = late(made)
    history.change(T0, 1, marker=LoggedMarker(True, 3))
    history.change(T0, 3, marker=LoggedMarker(False, 4))
    assert explanation_of(history).remedies[0].commands[2].endswith("--coordinator-epoch 4")


def test_what_was_aborted_by_hand_is_said_to_be_repaired(made: "type[History]") -> None:
    history = late(made, ended=False)
    assert shape_of(history) == (Shape.DATA_LATE, Harm.DISCARDED)
    found = explanation_of(history)
    assert "repaired by the ABORT marker at offset 7" in found.effect
    assert not any("abort" in command for remedy in found.remedies for command in remedy.commands)


def test_data_on_a_partition_that_was_never_added_has_its_own_cause(made: "type[History]") -> None:
    history = made.two_transactions(tv=0)
    history.forget_states(1, 2, 3)
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.transaction(0, T0)
    history.data(T1, 7, 0, 0)
    assert shape_of(history) == (Shape.DATA_UNLISTED, Harm.STUCK)
    assert likely(explanation_of(history)) == ["partition_was_never_added"]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("orders-1", "orders-1"),
        ("orders 1; rm -rf x", "'orders 1; rm -rf x'"),
        ("it's", "'it'\"'\"'s'"),
        ("a\nb\x1b[2J'", "$'a\\nb\\x1b[2J\\''"),
        ("", "''"),
        (None, "''"),
    ],
)
def test_a_name_stays_one_argument_of_a_command(name: str | None, word: str) -> None:
    assert quoted(name) == word


def test_commands_quote_the_names_of_applications(made: "type[History]") -> None:
    history = made()
    for state in (S.EMPTY, S.PREPARE_COMMIT):
        history.state(state, 7, 0, transactional_id="a b")
    commands = [command for remedy in explanation_of(history).remedies for command in remedy.commands]
    assert "kafka-transactions.sh --bootstrap-server HOST:PORT describe --transactional-id 'a b'" in commands


# ---------------------------------------------------------------- sequences and epochs


def idempotent(made: "type[History]") -> "History":
    history = made()
    for sequence in range(4):
        history.data(T0, 7, 0, sequence, plain=True)
    return history


def test_the_same_leader_that_takes_a_sequence_twice_has_forgotten_its_producer(made: "type[History]") -> None:
    history = idempotent(made)
    history.change(T0, 3, base_sequence=2, last_sequence=2, max_timestamp_ms=history.now + 100_000_000)
    assert shape_of(history) == (Shape.SEQUENCE_REPEATED, Harm.DOUBLED)
    found = explanation_of(history)
    assert likely(found) == ["producer_state_expired"]
    assert "more than the default of 1 day" in found.causes[0].because
    assert [moment.what for moment in found.moments] == ["it had been written before", "the record was written"]


def test_a_new_leader_that_takes_a_sequence_twice_did_not_know(made: "type[History]") -> None:
    history = idempotent(made)
    history.change(T0, 3, base_sequence=2, last_sequence=2, partition_leader_epoch=1)
    assert likely(explanation_of(history)) == ["new_leader_did_not_know"]


def test_a_copy_that_was_aborted_doubles_nothing(made: "type[History]") -> None:
    history = made.two_transactions()
    history.state(S.ONGOING, 7, 2, T0)
    for _ in range(2):
        history.data(T0, 7, 2, 0)
    history.state(S.PREPARE_ABORT, 7, 3, T0)
    history.marker(T0, 7, 3, commit=False)
    history.state(S.COMPLETE_ABORT, 7, 3)
    assert shape_of(history) == (Shape.SEQUENCE_REPEATED, Harm.NONE)


def test_a_gap_says_how_many_are_missing_and_who_can_have_lost_them(made: "type[History]") -> None:
    history = idempotent(made)
    history.remove(T0, 2)
    history.change(T0, 2, partition_leader_epoch=3)
    found = explanation_of(history)
    assert likely(found) == ["records_lost_by_unclean_election"]
    assert "the missing record " in found.remedies[0].sentence


def test_a_producer_with_an_open_transaction_is_never_forgotten(made: "type[History]") -> None:
    history = made.two_transactions()
    history.change(T0, 3, producer_epoch=0)
    assert "leader_had_forgotten_the_producer" not in possible(explanation_of(history))


def test_a_producer_that_was_silent_for_long_can_have_been_forgotten(made: "type[History]") -> None:
    history = made.two_transactions().without_coordinator()
    history.marker(T0, 7, 5, commit=False)
    history.now += 100_000_000
    history.data(T0, 7, 2, 0, plain=True)
    found = explanation_of(history)
    assert likely(found) == ["leader_had_forgotten_the_producer", "zombie_was_not_fenced"]
    assert found.causes[0].because == "the producer had been silent there for 100,000.0 s"


def test_a_marker_is_of_a_deposed_coordinator_only_if_there_is_a_newer_one(made: "type[History]") -> None:
    history = made.two_transactions()
    history.change(T0, 3, producer_epoch=0)
    assert "marker_of_a_deposed_coordinator" not in {cause.name for cause in explanation_of(history).causes}
    history.change(T1, 1, marker=LoggedMarker(True, 5))
    assert likely(explanation_of(history)) == ["marker_of_a_deposed_coordinator"]


def test_a_marker_with_the_epoch_of_its_data_is_what_releases_before_4_2_let_pass(made: "type[History]") -> None:
    history = made.two_transactions()
    history.change(T0, 3, producer_epoch=1)
    found = explanation_of(history)
    assert likely(found) == ["marker_of_the_last_transaction_came_late"]
    assert found.causes[0].rules[0].lacking[-2:] == ["4.0", "4.1"]


def test_an_epoch_raised_twice_is_known(made: "type[History]") -> None:
    history = made.two_transactions()
    history.restate(5, producer_epoch=3)
    history.restate(6, producer_epoch=3)
    history.change(T0, 3, producer_epoch=3)
    findings = explain(replay(history.evidence), history.evidence).findings
    found = next(each.explanation for each in findings if each.promise == "records_are_what_decisions_write")
    assert found is not None
    assert likely(found) == ["fence_raised_the_epoch_twice"]


# ---------------------------------------------------------------- what applications were told


def told(made: "type[History]", lasted_ms: int) -> "History":
    """Of what was told committed, t-0 was aborted `lasted_ms` after its record, and t-1 committed (old protocol)."""
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.state(S.ONGOING, 7, 0, T0, tv=0)
    history.call("begin")
    history.sent(T0, history.data(T0, 7, 0, 0))
    history.now += lasted_ms
    history.state(S.PREPARE_ABORT, 7, 0, T0, tv=0)
    history.marker(T0, 7, 0, commit=False)
    history.state(S.COMPLETE_ABORT, 7, 0, tv=0)
    history.state(S.ONGOING, 7, 0, T1, tv=0)
    history.sent(T1, history.data(T1, 7, 0, 0))
    history.state(S.PREPARE_COMMIT, 7, 0, T1, tv=0)
    history.marker(T1, 7, 0)
    history.state(S.COMPLETE_COMMIT, 7, 0, tv=0)
    history.call("commit")
    return history


@pytest.mark.parametrize(
    ("lasted_ms", "cause"),
    [(50, "delayed_abort_hit_the_next_transaction"), (60_000, "timed_out_under_the_same_epoch")],
)
def test_a_delayed_abort_and_a_time_out_are_told_apart_by_the_time(
    made: "type[History]", lasted_ms: int, cause: str
) -> None:
    history = told(made, lasted_ms)
    assert shape_of(history) == (Shape.TOLD_COMMITTED, Harm.LOST)
    found = explanation_of(history)
    assert likely(found) == [cause]
    assert [remedy.name for remedy in found.remedies][:1] == ["send again"]


@pytest.mark.parametrize("lasted_ms", [50, 60_000])
def test_a_timeout_that_the_coordinator_tells_is_the_cause(made: "type[History]", lasted_ms: int) -> None:
    """Whatever the clocks of producer and coordinator say: no delayed abort has to be looked for."""
    history = told(made, lasted_ms)
    said = BrokerLine("server.log", 5, history.now - 100, "timed_out", {"id": "orders-1"}, "it was open for too long")
    history.evidence.broker_lines = [said, replace(said, fields={"id": "orders-2"}, line=1)]
    found = explanation_of(history)
    assert likely(found) == ["timed_out_under_the_same_epoch"]
    cause = next(cause for cause in found.causes if cause.is_likely)
    assert cause.apart == ""
    assert cause.because.startswith("server.log, line 5: it was open for too long; the abort was decided ")
    assert "the coordinator said that it was open for too long" in [moment.what for moment in found.moments]


@pytest.mark.parametrize(
    ("behind_ms", "is_told"), [(0, True), (-7_200_000, True), (5_400_000, True), (-7_650_000, False)]
)
def test_a_timeout_at_another_time_is_of_another_transaction(
    made: "type[History]", behind_ms: int, *, is_told: bool
) -> None:
    """The log may be of another time zone, which is whole quarters of an hour away."""
    history = told(made, 50)
    said = BrokerLine("server.log", 5, history.now - 100 + behind_ms, "timed_out", {"id": "orders-1"}, "it is so")
    history.evidence.broker_lines = [said]
    expected = "timed_out_under_the_same_epoch" if is_told else "delayed_abort_hit_the_next_transaction"
    assert likely(explanation_of(history)) == [expected]


def test_a_commit_that_nobody_asked_for_is_a_delayed_one(made: "type[History]") -> None:
    history = made.told()
    history.evidence.client_calls[-1] = replace(history.evidence.client_calls[-1], action="abort")
    assert shape_of(history) == (Shape.TOLD_ABORTED, Harm.VISIBLE)
    found = explained(history)
    assert found.circumstances is not None
    assert found.circumstances.elsewhere == ["offset 0 of t-1"]
    assert found.explanation is not None
    assert "So it is with offset 0 of t-1." in found.explanation.effect
    assert "delayed_commit_hit_the_next_transaction" in possible(found.explanation)


def test_a_client_that_was_told_before_anything_was_decided_answered_by_itself(made: "type[History]") -> None:
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.state(S.ONGOING, 7, 0, T0)
    history.call("begin")
    history.sent(T0, history.data(T0, 7, 0, 0))
    history.call("commit")
    assert shape_of(history) == (Shape.TOLD_UNDECIDED, Harm.STUCK)
    found = explanation_of(history)
    assert likely(found) == ["client_answered_by_itself"]
    assert repairs(found) == ["wait"]
    assert "2023-11-14T22:14:20.030Z" in found.remedies[0].sentence, "the record's time and the time-out of a minute"


def test_what_was_acknowledged_and_is_not_there_may_have_had_no_second_copy(made: "type[History]") -> None:
    history = made.told()
    history.evidence.client_calls.pop()
    history.sent(T0, 7)
    history.call("commit")
    assert shape_of(history) == (Shape.ABSENT, Harm.LOST)
    found = explanation_of(history)
    assert found.effect == "What was acknowledged at offset 7 of t-0 is not in the log: no consumer ever gets it."
    assert "acknowledged_too_early" in possible(found)
    assert repairs(found) == ["send again"]


# ---------------------------------------------------------------- groups, copies, lines


@pytest.mark.parametrize(("turn", "to"), [("lost", 8), ("visible", 3)])
def test_the_position_of_a_group_is_set_to_what_was_decided(made: "type[History]", turn: str, to: int) -> None:
    history = made.copier()
    commit = turn == "lost"
    history.state(S.ONGOING, 7, 1, GROUPS)
    history.offset(7, 1, 8)
    history.state(S.PREPARE_COMMIT if commit else S.PREPARE_ABORT, 7, 2, GROUPS)
    history.marker(GROUPS, 7, 2, commit=not commit)
    history.state(S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT, 7, 2)
    found = explanation_of(history)
    assert repairs(found) == ["set the position"]
    assert f"--group copier --topic in:0 --reset-offsets --to-offset {to} --execute" in found.remedies[0].commands[0]
    assert found.records is not None
    assert [(record.key, record.value) for record in found.records.shown] == [("group copier, in-0", "offset 8")]


def test_a_line_of_a_log_is_a_moment_with_file_and_line(made: "type[History]") -> None:
    history = made.reported()
    line = history.evidence.coordinator_lines[2]
    assert line.target is not None
    changed = replace(line, target=replace(line.target, producer_epoch=5), timestamp_ms=1_700_000_000_000)
    history.evidence.coordinator_lines[2] = changed
    [moment] = explanation_of(history).moments
    assert (moment.utc, moment.where) == ("2023-11-14T22:13:20.000Z", "server.log, line 1")
    assert moment.clock == "the log's wall clock, read as UTC"


def test_an_id_that_is_forgotten_in_the_middle_of_a_transaction_has_its_own_cause(made: "type[History]") -> None:
    history = made()
    history.state(S.EMPTY, 7, 0)
    history.state(S.ONGOING, 7, 0, T0)
    history.state(None, 7, 0)
    assert shape_of(history) == (Shape.RECORD_ILLEGAL, Harm.NONE)
    found = explanation_of(history)
    assert likely(found) == ["id_expired_in_a_transaction"]
    assert found.causes[0].because == "the id is forgotten directly after ONGOING"


def test_illegal_moves_of_coordinators_and_of_clients_have_causes_of_their_own(made: "type[History]") -> None:
    history = made.reported()
    line = history.evidence.coordinator_lines[1]
    history.evidence.coordinator_lines = [replace(line, from_state=S.EMPTY, to_state=S.COMPLETE_COMMIT, target=None)]
    assert shape_of(history) == (Shape.COORDINATOR_LINE, Harm.NONE)
    assert "coordinator_of_another_make" in possible(explanation_of(history))
    history.evidence.coordinator_lines = []
    moved = ClientLine("client.log", 9, None, "a", "orders-1", ClientFact.STATE, "READY", "ABORTABLE_ERROR")
    history.evidence.client_lines = [moved]
    assert shape_of(history) == (Shape.CLIENT_LINE, Harm.NONE)
    found = explanation_of(history)
    assert likely(found) == ["late_event_moved_the_client"]
    assert found.moments == [], "the line has no time"
