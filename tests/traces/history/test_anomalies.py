"""Each anomaly is found, its nearest legal neighbours are not, and no rule could be left out."""

from collections.abc import Callable

import pytest

from tests.traces.history.table import TABLE, Row
from zombieproof.traces.history.anomalies import SENTENCES, Anomaly
from zombieproof.traces.history.history_file import History
from zombieproof.traces.history.judge import RULES, Rule, judge

Told = Callable[[str], History]


def found(history: History, rules: tuple[Rule, ...] = RULES) -> frozenset[Anomaly]:
    return frozenset(finding.anomaly for finding in judge(history, rules).findings)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_history_has_these_anomalies_and_no_other(told: Told, row: Row) -> None:
    assert found(told(row.text)) == row.found


def test_there_is_a_history_for_each_anomaly_and_a_legal_neighbour() -> None:
    assert {anomaly for row in TABLE for anomaly in row.found} == set(Anomaly) == set(SENTENCES)
    assert sum(not row.found for row in TABLE) >= 30
    assert len({row.name for row in TABLE}) == len(TABLE)


@pytest.mark.parametrize("left_out", RULES, ids=lambda rule: rule.__name__)
def test_a_judge_without_a_rule_is_noticed(told: Told, left_out: Rule) -> None:
    rules = tuple(rule for rule in RULES if rule is not left_out)
    assert any(found(told(row.text), rules) != row.found for row in TABLE)


@pytest.mark.parametrize("row", [row for row in TABLE if row.found], ids=lambda row: row.name)
def test_a_finding_shows_the_events_by_their_places(told: Told, row: Row) -> None:
    history = told(row.text)
    for finding in judge(history).findings:
        assert finding.sentence == SENTENCES[finding.anomaly]
        assert finding.message
        assert finding.events
        assert [shown.at for shown in finding.events] == sorted(shown.at for shown in finding.events)
        for shown in finding.events:
            assert history.events[shown.line - 2].at == shown.at
