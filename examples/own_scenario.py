"""A scenario of your own: a time-out strikes while the coordinator moves, with the rules and without one of them.

    zombieproof check examples/own_scenario.py
    zombieproof check examples/own_scenario.py --without reload_drives_markers --compare
    python examples/own_scenario.py

A scenario is data, so nothing has to be registered: say what each client does, which faults may strike how often, and
what must hold. The first world that breaks a promise is told step by step. The command takes every option for the file
that it takes for its own scenarios; the program below does the same by hand.
"""

import sys

from zombieproof.checker.checking import Request, check
from zombieproof.checker.scenario import ALWAYS, transaction_scenario
from zombieproof.checker.transactions.world import Op
from zombieproof.report.check_text import show_story
from zombieproof.report.runs import run_of
from zombieproof.report.screen import Screen

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
    screen = Screen()
    whole = check(SCENARIO)
    screen.say(f"{SCENARIO.name}: {whole.result.verdict}, {whole.result.distinct:,} distinct worlds")

    request = Request(off=("reload_drives_markers",))
    broken = check(SCENARIO, request)
    run = run_of(broken, request)
    if run.broken is not None and run.story is not None:
        screen.say(f"without {request.off[0]}: {run.broken.text}")
        show_story(screen, run.story)
    is_as_pinned = whole.result.verdict == "holds" and whole.result.distinct == SCENARIO.distinct
    return 0 if is_as_pinned and broken.result.verdict == "violated" else 1


if __name__ == "__main__":
    sys.exit(main())
