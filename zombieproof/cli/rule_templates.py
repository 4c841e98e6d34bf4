"""Templates of `zombieproof rules new`: a working hook for each decision, to be replaced by the user's own condition.

A new rule starts as a copy of an existing row. Its scenario disables that row and enables the copy, so it holds only
because of the new rule, and its mutant violates the property that the row protects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Template:
    """The template for one decision; texts are formatted with `name` (the rule), `NAME`, `row` and `copied`.

    Attributes:
        file: below zombieproof/model/decisions.
        function: contains the hook, before the first `if` that returns `row`.
        copied: the switch of that row.
        condition, answer: of the hook; `parameters`, `arguments`, `refuses`: of the function that it calls.
        question: for tests/model/test_switches.py, with the results with and without the rule.
        cases: for tests/model/test_<name>.py: imports, arguments of the function, and expected results.
        programs, options, always, breaks, steps, distinct: of the scenario; `about` is its summary, and `turned` the
            number of distinct states without the rule.
        unkept: the quiescence property that the copied row ensures and its copy does not, because the copy sees less.
    """

    file: str
    function: str
    row: str
    copied: str
    condition: str
    answer: str
    parameters: str
    arguments: str
    refuses: str
    question: str
    cases: str
    programs: str
    options: str
    always: tuple[str, ...]
    sometimes: tuple[str, ...]
    breaks: str
    steps: int
    distinct: int
    turned: int
    about: str
    unkept: str = ""


DECISIONS: Final[Mapping[str, Template]] = {
    "end_txn": Template(
        file="end_txn.py",
        function="decide_end_txn_v2",
        row="T5",
        copied="strict_end",
        condition="rules.{name} == 1 and",
        answer="refuse(Error.PRODUCER_FENCED, Row.T5)",
        parameters="txn: Transaction, request: TransactionRequest, from_client: int",
        arguments="txn, request, from_client",
        refuses="from_client == 1 and txn.state == TransactionState.ONGOING "
        "and request.producer_epoch < txn.producer_epoch",
        question="""\
        lambda rules: (
            end_txn.decide_end_txn_v2(
                txn(state=TransactionState.ONGOING),
                ask(version=5, producer_epoch=6),
                with_switches(rules, off=["strict_end"]),
                1,
                NONE,
            ).error
        ),
        90,
        0,
""",
        cases="""\
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.end_txn import {name}_refuses
from zombieproof.model.records import Transaction
from zombieproof.model.vocabulary import TransactionState


@pytest.mark.parametrize(
    ("state", "producer_epoch", "from_client", "refused"),
    [
        (TransactionState.ONGOING, 6, 1, True),
        (TransactionState.ONGOING, 7, 1, False),
        (TransactionState.ONGOING, 6, 0, False),
        (TransactionState.EMPTY, 6, 1, False),
    ],
)
def test_an_older_epoch_ends_nothing_that_is_open(
    state: int, producer_epoch: int, from_client: int, refused: bool
) -> None:
    txn = Transaction(state=state, producer_epoch=7)
    request: Any = SimpleNamespace(producer_epoch=producer_epoch)
    assert {name}_refuses(txn, request, from_client) is refused
""",
        programs="(((Op.SEND_0, Op.COMMIT),), ((Op.SEND_0, Op.COMMIT),))",
        options="    crashes=1,\n",
        always=("only_its_owner_ends_a_transaction", "epochs_never_go_down", "no_machine_leaves_its_table"),
        sometimes=("a_zombie_is_fenced", "two_transactions_commit"),
        breaks="only_its_owner_ends_a_transaction",
        steps=12,
        distinct=3_408,
        turned=3_412,
        about="Producer B initialises the transactional id of producer A and starts another transaction. "
        "The delayed end of A must not decide the transaction of B.",
        unkept="a_decided_transaction_is_complete",
    ),
    "produce": Template(
        file="produce.py",
        function="decide_append",
        row="A4",
        copied="epoch_fencing",
        condition="leads and rules.{name} == 1 and",
        answer="append_refused(Error.INVALID_PRODUCER_EPOCH, Row.A4)",
        parameters="entry: ProducerEntry, batch: IncomingBatch",
        arguments="entry, batch",
        refuses="batch.producer_epoch < entry.producer_epoch",
        question="""\
        lambda rules: appended(entry(), batch(6, 0, 0), origin=Origin.COORDINATOR)(
            with_switches(rules, off=["epoch_fencing"])
        ),
        (47, 0),
        (0, 2),
""",
        cases="""\
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.produce import {name}_refuses
from zombieproof.model.records import ProducerEntry


@pytest.mark.parametrize(("producer_epoch", "refused"), [(6, True), (7, False), (8, False)])
def test_an_older_epoch_writes_nothing(producer_epoch: int, refused: bool) -> None:
    batch: Any = SimpleNamespace(producer_epoch=producer_epoch)
    assert {name}_refuses(ProducerEntry(producer_epoch=7), batch) is refused
""",
        programs="(((Op.SEND_0, Op.COMMIT),), ((Op.SEND_0, Op.COMMIT),))",
        options='    late=1,\n    rules="kip98",\n',
        always=("epochs_never_go_down", "no_machine_leaves_its_table"),
        sometimes=("a_zombie_is_fenced", "a_transaction_commits"),
        breaks="epochs_never_go_down",
        steps=8,
        distinct=524,
        turned=758,
        about="Producer A has sent a record when producer B initialises the same transactional id. "
        "The delayed record of A must not be written after the records of B.",
        unkept="what_is_open_can_time_out",
    ),
    "write_txn_markers": Template(
        file="write_txn_markers.py",
        function="decide_marker",
        row="M4",
        copied="marker_coordinator_epoch",
        condition="rules.{name} == 1 and",
        answer="append_refused(Error.TRANSACTION_COORDINATOR_FENCED, Row.M4)",
        parameters="entry: ProducerEntry, marker: IncomingMarker",
        arguments="entry, marker",
        refuses="entry.coordinator_epoch > marker.coordinator_epoch",
        question="""\
        lambda rules: marked(entry(coordinator_epoch=4), marker(8))(
            with_switches(rules, off=["marker_coordinator_epoch"])
        ),
        (52, 0),
        (0, PartitionEvent.COMMIT_MARKER),
""",
        cases="""\
from types import SimpleNamespace
from typing import Any

import pytest

from zombieproof.model.decisions.write_txn_markers import {name}_refuses
from zombieproof.model.records import ProducerEntry


@pytest.mark.parametrize(("coordinator_epoch", "refused"), [(3, True), (4, False), (5, False)])
def test_an_older_coordinator_writes_no_marker(coordinator_epoch: int, refused: bool) -> None:
    marker: Any = SimpleNamespace(coordinator_epoch=coordinator_epoch)
    assert {name}_refuses(ProducerEntry(coordinator_epoch=4), marker) is refused
""",
        programs="(((Op.SEND_0, Op.SEND_1, Op.COMMIT), (Op.SEND_1, Op.COMMIT)),)",
        options="    failovers=1,\n    deposed=1,\n    lost=1,\n",
        always=("epochs_never_go_down", "no_machine_leaves_its_table"),
        sometimes=("two_transactions_commit", "a_stale_coordinator_still_answers"),
        breaks="epochs_never_go_down",
        steps=15,
        distinct=48_642,
        turned=88_213,
        about="A coordinator is replaced and does not know it. "
        "Its marker arrives after one of its successor, and must not be written.",
    ),
}
"""Template for each decision; a test writes each into a clone and explores it, so the numbers are correct."""


def switch_text(name: str, template: Template) -> str:
    """The field of `Rules`."""
    return f"""\
    {name}: int = switch(
        "TODO: what holds while the rule is enabled; it starts as a copy of {template.copied}",
        since="",
        source="TODO: the KIP or issue that introduces it",
        row="{template.row}",
        newest=0,
    )
"""


def hook_text(name: str, template: Template, indent: str) -> str:
    """Return the hook."""
    condition = template.condition.format(name=name)
    asked = f"{name}_refuses({template.arguments})"
    return f"{indent}if {condition} {asked}:\n{indent}    return {template.answer}\n"


def refuses_text(name: str, template: Template) -> str:
    """Return the function that the hook calls."""
    return f'''

def {name}_refuses({template.parameters}) -> bool:
    """Return whether the rule `{name}` refuses.

    It starts as a copy of row {template.row}: describe your own condition here.
    """
    return {template.refuses}
'''


def question_text(name: str, template: Template) -> str:
    """The entry of tests/model/test_switches.py."""
    return f'    "{name}": (\n{template.question}    ),\n'


def count_text(name: str, template: Template) -> str:
    """The entry of zombieproof/checker/switches.py."""
    return f'    "{name}": Counted("{name}", {template.turned:_}),\n'


def test_text(name: str, template: Template) -> str:
    """tests/model/test_<name>.py."""
    return (
        f'"""Cases that the rule `{name}` refuses, and cases that it accepts."""\n\n{template.cases.format(name=name)}'
    )


_UNKEPT: Final = """\
    # The copy sees less than the row: add this property back when the rule is your own.
    at_rest=tuple(promise for promise in AT_REST if promise != "{unkept}"),
"""


def scenario_text(name: str, template: Template) -> str:
    """zombieproof/checker/transactions/scenarios/<name>.py."""
    always = "".join(f'        "{promise}",\n' for promise in template.always)
    sometimes = "".join(f'        "{promise}",\n' for promise in template.sometimes)
    first, _, second = template.about.partition(". ")
    names = f"{'AT_REST, ' if template.unkept else ''}transaction_scenario"
    at_rest = _UNKEPT.format(unkept=template.unkept) if template.unkept else ""
    return f'''"""Scenario of the rule `{name}`."""

from zombieproof.checker.scenario import Mutant
from zombieproof.checker.transactions.scenario import {names}
from zombieproof.checker.transactions.vocabulary import Op

{name.upper()} = transaction_scenario(
    "{name}",
    "{first}. "
    "{second}",
    {template.programs},
    distinct={template.distinct:_},
    always=(
{always}    ),
    sometimes=(
{sometimes}    ),
{at_rest}    # The copied row is disabled, so the scenario holds only because of the new rule.
    changes={{"{template.copied}": 0, "{name}": 1}},
{template.options}    mutants=(
        Mutant(
            "without_{name}",
            breaks="{template.breaks}",
            steps={template.steps},
            without=("{name}",),
        ),
    ),
)
'''
