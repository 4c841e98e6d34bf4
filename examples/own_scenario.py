"""A scenario of your own: a time-out happens while the coordinator moves, with the rules and without one of them.

    zombieproof check examples/own_scenario.py
    zombieproof check examples/own_scenario.py --without reload_drives_markers --compare
    python examples/own_scenario.py

A scenario is data, so nothing has to be registered: say what each client does, which faults may happen how often, and
what must hold. The first state that breaks a promise is told step by step. The command takes every option for the file
that it takes for its own scenarios; the program below does the same by hand.
"""

import sys

from zombieproof import ALWAYS, Op, check, tell, transaction_scenario

# One producer, two transactions in a row, each over both partitions.
TRANSACTION = (Op.SEND_0, Op.SEND_1, Op.COMMIT)

SCENARIO = transaction_scenario(
    "timeout_and_failover",
    "The coordinator aborts a transaction that takes too long, and its broker crashes. The next coordinator reads from "
    "the log what was decided and finishes it.",
    ((TRANSACTION, TRANSACTION),),
    distinct=1_887,
    # After a time-out the producer goes on in what it takes for its transaction: it is told of another one.
    always=(
        *(name for name in ALWAYS if name != "a_transaction_has_one_decision"),
        "a_decided_transaction_is_driven_to_its_end",
    ),
    sometimes=("two_transactions_commit", "a_prepared_transaction_is_taken_over"),
    timeouts=1,
    failovers=1,
)


def main() -> int:
    """Check the scenario as it is, and with decisions that nobody finishes; return 0 if both end as they must."""
    whole = check(SCENARIO)
    print(f"{whole.name}: {whole.verdict}, {whole.distinct:,} distinct states")

    broken = check(SCENARIO, off=["reload_drives_markers"])
    tell(broken)
    is_as_pinned = whole.verdict == "holds" and whole.distinct == SCENARIO.distinct
    return 0 if is_as_pinned and broken.verdict == "violated" else 1


if __name__ == "__main__":
    sys.exit(main())
