"""A mistake in somebody's own scenario or model is wrong usage: exit code 2, file and line, and what would be legal."""

from pathlib import Path
from typing import Any

import pytest

# What is replaced, by what, a text on the line that is to be named (in the edited file), and what is said.
Mistake = tuple[str, str, str, str]

OF_SCENARIOS: list[Mistake] = [
    ("timeouts=1", "timeuots=1", "timeuots=1", "timeuots is no bound; did you mean timeouts"),
    ("timeouts=1", "timeouts=1000", "timeouts=1000", "timeouts=1000 is out of range; give 0 to 100"),
    ("timeouts=1", "timeouts=-1", "timeouts=-1", "give 0 to 100"),
    ("timeouts=1", 'timeouts="1"', 'timeouts="1"', "give 0 to 100"),
    ("timeouts=1", "rules='kip99'", "rules='kip99'", "did you mean kip939 or kip98"),
    ("timeouts=1", "changes={'kip36': 0}", "kip36", "did you mean kip360"),
    ("timeouts=1", "changes={'kip360': 2}", "kip360", "a switch is 1 (on) or 0 (off)"),
    ("timeouts=1", "changes={'transaction_version': 3}", "transaction_version", "give 0 to 2"),
    ("timeouts=1", "readers=3", "readers=3", "give 0 to 2"),
    ("timeouts=1", "inputs=4", "inputs=4", "give 1 to 3"),
    ("timeouts=1", "inputs=0", "inputs=0", "give 1 to 3"),
    ("timeouts=1", "ids=(0)", "ids=(0)", "not a tuple"),
    ("timeouts=1", "ids=(0, 2)", "ids=(0, 2)", "index below 2"),
    ("distinct=1_887", "distinct=-1", "distinct=-1", "0 if unknown"),
    ('"timeout_and_failover"', '"timeout and failover"', '"timeout and failover"', "letters, digits and underscores"),
    (
        'sometimes=("two_transactions_commit", "a_prepared_transaction_is_taken_over")',
        'sometimes=("two_transactions_commit")',
        'sometimes=("two_transactions_commit")',
        'sometimes=("two_transactions_commit",)',
    ),
    ('"two_transactions_commit"', '"two_transactions_comit"', "two_transactions_comit", "mean two_transactions_commit"),
    ('"two_transactions_commit"', '"epochs_never_go_down"', "epochs_never_go_down", "name it in always="),
    ('"two_transactions_commit"', '"a_prepared_transaction_is_taken_over"', "taken_over", "twice"),
    (
        '"a_decided_transaction_is_driven_to_its_end",\n    ),',
        '"a_decided_one",\n    ),',
        "a_decided_one",
        "no promise of",
    ),
    ("((TRANSACTION, TRANSACTION),)", "(TRANSACTION, TRANSACTION)", "(TRANSACTION, TRANSACTION)", "is a comma missing"),
    ("((TRANSACTION, TRANSACTION),)", "((TRANSACTION, TRANSACTION))", "((TRANSACTION", "is a comma missing"),
    ("((TRANSACTION, TRANSACTION),)", "((TRANSACTION,) * 4,)", "((TRANSACTION,) * 4,)", "at most 3 fit"),
    ("((TRANSACTION, TRANSACTION),)", "((TRANSACTION,),) * 3", "((TRANSACTION,),) * 3", "1 to 2 fit"),
    (
        "Op.SEND_1, Op.COMMIT)",
        "Op.SEND_2, Op.COMMIT)",
        "Op.SEND_2",
        "AttributeError: SEND_2 of Op; did you mean SEND_1 or SEND_0?",
    ),
    ("(Op.SEND_0, Op.SEND_1, Op.COMMIT)", "(1, 2, 4)", "((TRANSACTION", "Op.SEND_0"),
    ("failovers=1,", "failovers=1", "", ""),  # a comma that is not needed
    ("failovers=1,", "mutants=(Mutant('m', breaks='x', steps=1)),", "mutants=(", "a comma, mutants=(Mutant(...),)"),
    (
        "failovers=1,",
        "mutants=(Mutant('m', breaks='epochs_never_go_down', steps=1, known='open', without=('kip360',)),),",
        "known='open'",
        "name in without only rules that Kafka 4.4 does not have",
    ),
    (
        "failovers=1,",
        "mutants=(Mutant('m', breaks='only_its_owner_ends_a_transaction', steps=1, known='open'),),",
        "only_its_owner_ends_a_transaction",
        "leave it out of always and at_rest",
    ),
    (
        "failovers=1,",
        "mutants=(Mutant('m', breaks='x', steps=1),),",
        "mutants=(",
        "no promise that holds always or at rest",
    ),
    (
        "failovers=1,",
        "mutants=(\n        Mutant('m', breaks='epochs_never_go_down', steps=1, without=('strickt_end',)),\n    ),",
        "strickt_end",
        "did you mean strict_end",
    ),
    (
        "failovers=1,",
        "mutants=(\n        Mutant('m', breaks='epochs_never_go_down', steps=1, without=('strict_end')),\n    ),",
        "strict_end",
        'without=("strict_end",)',
    ),
    (
        "failovers=1,",
        "mutants=(\n        Mutant('m', breaks='epochs_never_go_down', steps=1, bounds={'lots': 1}),\n    ),",
        "lots",
        "did you mean lost",
    ),
    (
        "failovers=1,",
        "mutants=(\n        Mutant('m', breaks='epochs_never_go_down', steps=1, changes={'kip360': 9}),\n    ),",
        "kip360",
        "kip360=9 cannot be",
    ),
    (
        "failovers=1,",
        "mutants=(\n Mutant('m', breaks='epochs_never_go_down', steps=1, without=('transaction_version',)),\n ),",
        "transaction_version",
        "changes={'transaction_version': 0}",
    ),
    (
        "import sys\n",
        "import no_such_module\nimport sys\n",
        "import no_such_module",
        "No module named 'no_such_module'",
    ),
    (
        "transaction_scenario\n",
        "transaction_scenarios\n",
        "transaction_scenarios",
        "did you mean transaction_scenario or",
    ),
    ("transaction_scenario(\n", "transaction_scenario\n(\n    ,\n", ",\n", "not valid Python"),
    ("TRANSACTION = (", "  TRANSACTION = (", "  TRANSACTION", "unexpected indent"),
    ("TRANSACTION = (", "TRANSACTION = 1 / 0, (", "1 / 0", "ZeroDivisionError"),
    ('if __name__ == "__main__":\n    sys.exit(main())', "sys.exit(main())", "sys.exit(main())", "__main__"),
    ("SCENARIO = transaction_scenario", "MAKER = lambda: transaction_scenario", "", "defines no scenario"),
]

OF_MODELS: list[Mistake] = [
    # fields and rules
    (
        "state.lock.token += 1",
        "state.lock.tokn += 1",
        "tokn",
        "no field tokn (did you mean token?). Legal: holder, token.",
    ),
    ("state.refused = 1", "state.refussed = 1", "refussed", "did you mean refused"),
    ("state.refused == 1", "state.refussed == 1", "refussed", "did you mean refused"),
    ("setup.fencing == 1", "setup.fenzing == 1", "fenzing", "Setup, and has no field fenzing"),
    ("setup.fencing == 1", "setup.rules.kip360 == 1", "kip360", "no field rules"),
    ("state.clients[c].token\n", "state.clients[c].lease\n", "].lease", "no field lease"),
    ("state.clients[c].token\n", "state.clients.token\n", "clients.token", "an array, and has no field token"),
    ("state.lock.holder = NOBODY\n    state", "state.lock = NOBODY\n    state", "lock = NOBODY", "assigned as a whole"),
    (
        "state.last_written = token",
        "state.last_written = state.lock",
        "state.lock\n",
        "a Lock where an integer is wanted",
    ),
    ("state.went_back == 0", "state.clients == 0", "state.clients == 0", "an array where an integer is wanted"),
    ("state.clients[c].token = ", "state.highest[c] = ", "state.highest[c]", "an integer, and has no elements"),
    ("move(state.clients[c], E.WRITE)", "move(state.lock, E.WRITE)", "TABLE[client.state]", "no field state"),
    # statements
    (
        "    state.expired += 1\n",
        "    try:\n        state.expired += 1\n    except ValueError:\n        pass\n",
        "try:",
        "exception handler",
    ),
    (
        "    state.expired += 1\n",
        "    with state.lock:\n        state.expired += 1\n",
        "with state.lock",
        "a with statement",
    ),
    ("    state.expired += 1\n", "    names = f'{state.expired}'\n", "names", "text"),
    ("    state.expired += 1\n", "    state.expired = sum([1 for c in range(2)])\n", "sum", "a comprehension"),
    ("    state.expired += 1\n", "    state.expired = sum(c for c in range(2))\n", "sum", "a generator expression"),
    ("    state.expired += 1\n", "    state.expired = {1: 2}[1]\n", "{1: 2}", "a dictionary"),
    ("    state.expired += 1\n", "    state.expired = len([1])\n", "len([1])", "a list"),
    ("    state.expired += 1\n", "    state.expired += 1.5\n", "1.5", "integers and booleans"),
    ("    state.expired += 1\n", "    state.expired /= 2\n", "/= 2", "the operator //"),
    ("    state.expired += 1\n", "    print(state.expired)\n", "print", "the global print"),
    ("    state.expired += 1\n", "    assert state.expired\n", "assert", "a promise"),
    ("    state.expired += 1\n", "    state.expired += nowhere\n", "nowhere", "not defined"),
    ("    state.expired += 1\n", "    state.expired += S.BUSY\n", "S.BUSY", "does not exist"),
    ("    state.expired += 1\n", "    move(state.clients[c])\n", "move(state.clients[c])", "lacks event"),
    ("    state.expired += 1\n    return True", "    state.expired += 1", "def step", "it can end without a value"),
    (
        "def move(client: Client, event: int) -> bool:",
        "def move(client: Client, *event: int) -> bool:",
        "move(state.clients[c], E.WRITE)",
        "move gets 2 arguments",
    ),
    (
        "(state: State, action: int, setup: Setup, trail: Trail) -> bool:",
        "(state: State, action: int, setup: Setup) -> bool:",
        "def step",
        "4, (state, action, setup, trail)",
    ),
    (
        "    step=step,",
        "    step=lambda state, action, setup, trail: True,",
        "lambda state, action",
        "a lambda cannot be lowered",
    ),
    ("    step=step,", "    step='step',", "'step'", "give a function"),
    # records
    (
        "    token: int = 0\n\n\n@dataclass(slots=True)\nclass Lock",
        "    token: str = ''\n\n\n@dataclass(slots=True)\nclass Lock",
        "token: str",
        "neither an integer nor a record",
    ),
    (
        "    token: int = 0\n\n\n@dataclass(slots=True)\nclass Lock",
        "    token: float = 0.0\n\n\n@dataclass(slots=True)\nclass Lock",
        "token: float",
        "neither an integer nor a record",
    ),
    ("array(Client, CLIENTS)", "array(Client, -1)", "array(Client, -1)", "negative"),
    ("array(Client, CLIENTS)", "array(Clint, CLIENTS)", "array(Clint", "did you mean Client"),
    ("@dataclass(slots=True)\nclass Trail", "class Trail", "trail=Trail", "slotted dataclass"),
    ("    expired: int = 0", "    expired: int = 300", "expired: int = 300", "a greater width"),
    ("initial=lambda setup: State()", "initial=lambda setup: setup", "", "wants an object of State"),
    ("initial=lambda setup: State()", "initial=lambda setup: State(colour=1)", "colour=1", "colour"),
    ("    return Setup(fencing", "    return dict(fencing", "", "wants an object of Setup"),
    ('bounds["leases"]', 'bounds["lease"]', 'bounds["lease"]', "KeyError: 'lease'"),
    # the table
    (
        '        T(S.WRITING, E.ANSWER, S.IDLE, "it gives the lock back"),',
        '        T(S.WRITING, E.ANSWER, S.IDLE, "first"),\n        T(S.WRITING, E.ANSWER, S.HOLDING, "it keeps it"),',
        "it keeps it",
        "two rows for ANSWER in WRITING",
    ),
    (
        "T(S.IDLE, E.ACQUIRE, S.HOLDING",
        "T(S.IDLE, S.HOLDING, S.HOLDING",
        "T(S.IDLE, S.HOLDING",
        "the event of a row is",
    ),
    ("T(S.IDLE, E.ACQUIRE, S.HOLDING", "T(S.IDLE, E.ACQUIRE, S.WRITING", "CLIENT = Machine", "no row leads to HOLDING"),
    ("    WRITING = 2\n", "    WRITING = 3\n", "CLIENT = Machine", "numbered 0, 1, 2"),
    # promises, scenario
    ('"always",\n            no', '"alway",\n            no', '"alway"', "give always, sometimes, at_rest or leads_to"),
    (
        'always=("no_write_is_undone_by_an_older_one",)',
        'always=("no_write_is_undone_by_an_older_one")',
        "always=(",
        "a comma",
    ),
    ('always=("no_write_is_undone_by_an_older_one",)', 'always=("no_write_is_undone",)', "always=(", "did you mean"),
    ("    promises=(\n", "    promises=[\n", "", "not valid Python"),
    ('"sometimes", a_late_write_is_refused', '"sometimes", "a_late_write_is_refused"', "sometimes", "give a function"),
    ('Promise("a_late_write_is_refused"', 'Promise("no_write_is_undone_by_an_older_one"', "", "rename one"),
    ('"leases": 3', '"leases": 300', '"leases": 300', "give 0 to 100"),
    ('bounds={"fencing": 0}', 'bounds={"fence": 0}', 'fence"', "did you mean fencing"),
    ("actions=CLIENTS * len(Do)", "actions=0", "", "takes 1 to 65536 actions"),
    ('name = "AB"[c]', 'name = "A"[c]', 'name = "A"[c]', "IndexError"),
    ("}[Do(what)]", "}[what]", "", ""),  # an IntEnum is its number
    (
        "    token = state.clients[c].token\n",
        "    token = state.clients[c + 1].token\n",
        "clients[c + 1].token\n",
        "outside its array",
    ),
]


def _edited(text: str, mistake: Mistake) -> tuple[str, int]:
    """The text with the mistake in it, and the number of the line that is to be named."""
    old, new, marked, _ = mistake
    assert text.count(old) >= 1, f"the example no longer holds {old!r}"
    edited = text.replace(old, new, 1)
    numbers = [n for n, line in enumerate(edited.splitlines(keepends=True), 1) if marked and marked in line]
    return edited, numbers[0] if numbers else 0


def _told(run: Any, file: Path, mistake: Mistake, text: str) -> None:
    edited, line = _edited(text, mistake)
    file.write_text(edited)
    outcome = run("check", file)
    if not mistake[3]:
        assert outcome.code == 0, outcome.err
        return
    assert (outcome.code, outcome.out) == (2, "")
    assert "Traceback" not in outcome.err
    assert "internal" not in outcome.err
    assert str(file) in outcome.err
    assert mistake[3] in outcome.err
    if line:
        assert f"{file}:{line}: " in outcome.err


@pytest.mark.share(2)
@pytest.mark.sample("timeouts=", "distinct=", "inputs=")
@pytest.mark.parametrize("mistake", OF_SCENARIOS, ids=lambda mistake: mistake[1][:60])
def test_a_mistake_in_a_scenario_is_told_with_its_line(
    run: Any, tmp_path: Path, repository_root: Path, mistake: Mistake
) -> None:
    text = (
        (repository_root / "examples/own_scenario.py").read_text().replace("import ALWAYS,", "import ALWAYS, Mutant,")
    )
    _told(run, tmp_path / "mine.py", mistake, text)


@pytest.mark.share(2)
@pytest.mark.sample("c + 1")
@pytest.mark.parametrize("mistake", OF_MODELS, ids=lambda mistake: mistake[1][:60])
def test_a_mistake_in_a_model_is_told_with_its_line(
    run: Any, tmp_path: Path, repository_root: Path, mistake: Mistake
) -> None:
    _told(run, tmp_path / "mine.py", mistake, (repository_root / "examples/own_model.py").read_text())
