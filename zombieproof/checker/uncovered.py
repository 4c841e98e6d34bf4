"""Rows of the machines that no scenario takes, with the reason.

`verify` compares: a row that is not taken and not here is an error, and so is a row that is here and taken.
"""

from collections.abc import Mapping
from typing import Final

from zombieproof.checker.proposal2014 import uncovered as of_proposal2014
from zombieproof.checker.spark_sink import uncovered as of_spark_sink
from zombieproof.checker.transactions import uncovered as of_transactions

UNCOVERED: Final[Mapping[tuple[str, str, str], str]] = {
    **of_transactions.UNCOVERED,
    **of_spark_sink.UNCOVERED,
    **of_proposal2014.UNCOVERED,
}
"""(machine, state, event) -> why no scenario takes this row."""
