"""Under which rules a case is run: those of the source that it was taken from."""

from dataclasses import replace

from zombieproof.model.rules import Rules, preset, with_switches

OCTOBER_2024 = "3.9"
"""The preset nearest to the development line of October 2024, in which transaction version 2 was half merged."""


def rules_of(baseline: str, transaction_version: int = 2) -> Rules:
    """The rules of a baseline: ``2024-10``, ``2026`` or ``both`` (the newest), at a transaction version.

    The development line of October 2024 could be at any transaction version, and its markers knew nothing of it.
    KAFKA-20785 was merged after the sources of all cases, so its rule is off.
    """
    rules = preset(OCTOBER_2024) if baseline == "2024-10" else with_switches(Rules(), off=["late_commit_is_fenced"])
    return replace(rules, transaction_version=transaction_version)
