"""Scenarios, one file for each; `SCENARIOS` finds them by name."""

from collections.abc import Mapping

from zombieproof.checker.scenario import Scenario
from zombieproof.checker.scenarios.one_transaction import ONE_TRANSACTION

SCENARIOS: Mapping[str, Scenario] = {scenario.name: scenario for scenario in (ONE_TRANSACTION,)}
