"""The pytest plugin: what it finds, what it refuses, and what it costs a run that does not use it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

APPLICATION = '''
import pytest

from zombieproof import Consumer, Producer
from zombieproof.wire.plan.parts import Plan

CONSUMER = {"group.id": "pricing", "auto.offset.reset": "earliest", "enable.auto.commit": False}


def fill(broker):
    broker.topics(orders=1, invoices=1)
    with Producer(broker.transport("shop")) as shop:
        for number in range(3):
            shop.send("orders", b"%d" % number)


def work(broker, transactional_id, *, inside):
    """Reads, writes, and says how far it is: in the transaction, or behind it."""
    consumer = Consumer(broker.transport(transactional_id), CONSUMER)
    consumer.subscribe("orders")
    producer = Producer(broker.transport(transactional_id), {"transactional.id": transactional_id})
    producer.init_transactions()
    records = consumer.poll(30_000)
    producer.begin_transaction()
    for record in records:
        producer.send("invoices", b"invoice for " + record.value)
    if inside:
        producer.send_offsets_to_transaction(consumer.positions(), consumer.group_metadata())
    producer.commit_transaction()
    if not inside:
        consumer.commit()
    consumer.close()


def test_exactly_once(txn_broker):
    fill(txn_broker)
    work(txn_broker, "app", inside=True)
    assert len(txn_broker.records("invoices")) == 3
    assert len(txn_broker.records("invoices", isolation="read_uncommitted")) == 3


def test_offsets_outside(txn_broker):
    fill(txn_broker)
    work(txn_broker, "app", inside=False)
    assert len(txn_broker.records("invoices")) == 3


@pytest.mark.txn_faults(plan=Plan(), allow="offsets_are_committed_with_the_output")
def test_offsets_outside_allowed(txn_broker):
    fill(txn_broker)
    work(txn_broker, "app", inside=False)


def test_output_outside(txn_broker):
    """The transactions of the application hold its offsets alone."""
    fill(txn_broker)
    producer = Producer(txn_broker.transport(), {"transactional.id": "app"})
    plain = Producer(txn_broker.transport(), {})
    producer.init_transactions()
    for offset in (1, 2):
        plain.send("invoices", b"beside")
        plain.flush()
        producer.begin_transaction()
        producer.send_offsets_to_transaction({("orders", 0): offset}, "pricing")
        producer.commit_transaction()


def test_twice(txn_broker):
    """The application goes back, and writes again what it has written."""
    fill(txn_broker)
    work(txn_broker, "app", inside=True)
    producer = Producer(txn_broker.transport(), {"transactional.id": "other"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.send("invoices", b"again")
    consumer = Consumer(txn_broker.transport(), CONSUMER)
    producer.send_offsets_to_transaction({("orders", 0): 1}, "pricing")
    producer.commit_transaction()


@pytest.mark.txn_story("late_end_txn")
def test_story(txn_broker):
    producer = Producer(txn_broker.transport(), {"transactional.id": "app"})
    producer.init_transactions()
    for committed in (True, False):
        producer.begin_transaction()
        producer.send("late", b"first", partition=0)
        producer.flush()
        producer.send("late", b"second", partition=1)
        producer.flush()
        producer.commit_transaction() if committed else producer.abort_transaction()


@pytest.mark.txn_faults(plan="plan.yaml")
def test_plan_of_a_file(txn_broker):
    fill(txn_broker)
    work(txn_broker, "app", inside=True)
    assert txn_broker.plan.name == "of a file"


@pytest.mark.txn_faults(plan={"faults": [{"request": {"api": "EndTxn"}, "disconnect_on": "after"}]})
def test_never_fired(txn_broker):
    fill(txn_broker)


@pytest.mark.txn_faults({"controlled_clock": True, "faults": [
    {"request": {"api": "EndTxn"}, "delay_on": {"until": {"release": "go"}}}]})
def test_never_released(txn_broker):
    from zombieproof import EndTxn

    heard = []
    txn_broker.embedded.submit(EndTxn(4, "app", 0, 0, True), 1, heard.append)
    before = txn_broker.clock.now_ms()
    txn_broker.advance(1_000)
    assert (txn_broker.clock.now_ms() - before, heard) == (1_000, [])


@pytest.mark.txn_faults({"faults": [{"request": {"api": "EndTxn"}, "delay_on": {"until": {"release": "go"}}}]})
def test_released(txn_broker):
    from zombieproof import EndTxn

    heard = []
    txn_broker.embedded.submit(EndTxn(4, "app", 0, 0, True), 1, heard.append)
    txn_broker.advance(1)
    txn_broker.release("go")
    assert [each.error for each in heard] == [49]


def test_cluster(txn_cluster):
    fill(txn_cluster)
    work(txn_cluster, "app", inside=True)
    assert len(txn_cluster.bootstrap.split(",")) == 3


def test_stopped(txn_broker):
    fill(txn_broker)
    work(txn_broker, "app", inside=True)
    txn_broker.close()
    assert len(txn_broker.records("invoices")) == 3


def test_history(txn_broker):
    """What clients were told and read is judged as well: here a reader gets what was aborted."""
    history = txn_broker.history
    history.init("p", "app")
    history.initialized("p", "ok")
    history.begin("p", "t1")
    history.send("p", "invoices-0", "v1", "t1")
    history.acknowledged("p", "v1", 0)
    history.abort("p", "t1")
    history.aborted("p", "t1")
    history.positioned("reader", "read_committed", {"invoices-0": 0})
    history.read("reader", "invoices-0", 0, "v1")


def test_its_own_failure(txn_broker):
    fill(txn_broker)
    work(txn_broker, "app", inside=False)
    assert False, "its own"


@pytest.mark.txn_faults(plan={"faults": [{"request": {"api": "EndTxn"}, "explode": 1}]})
def test_bad_plan(txn_broker):
    pass


@pytest.mark.txn_faults(plan="nowhere.yaml")
def test_no_file(txn_broker):
    pass


@pytest.mark.txn_faults(faults=[])
def test_bad_marker(txn_broker):
    pass


@pytest.mark.txn_faults(plan={}, allow="everything")
def test_bad_promise(txn_broker):
    pass


@pytest.mark.txn_story("nothing")
def test_no_story(txn_broker):
    pass


@pytest.mark.txn_story("late_end_txn")
@pytest.mark.txn_faults(plan={})
def test_two_plans(txn_broker):
    pass
'''

RESULTS = {
    "test_exactly_once": "passed",
    "test_offsets_outside": "failed",
    "test_offsets_outside_allowed": "passed",
    "test_output_outside": "failed",
    "test_twice": "failed",
    "test_story": "failed",
    "test_plan_of_a_file": "passed",
    "test_never_fired": "failed",
    "test_never_released": "failed",
    "test_released": "passed",
    "test_cluster": "passed",
    "test_stopped": "passed",
    "test_history": "failed",
    "test_its_own_failure": "failed",
    "test_bad_plan": "error",
    "test_no_file": "error",
    "test_bad_marker": "error",
    "test_bad_promise": "error",
    "test_no_story": "error",
    "test_two_plans": "error",
}
PLAN = """
name: of a file
faults:
- request: {api: EndTxn}
  disconnect_on: after
"""

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
"""The package that these tests stand beside, whichever is installed."""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--strict-markers", "-W", "error", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=ENVIRONMENT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("application")
    (found / "pytest.ini").write_text("[pytest]\n")
    (found / "test_it.py").write_text(APPLICATION)
    (found / "plan.yaml").write_text(PLAN)
    return found


@pytest.fixture(scope="module")
def told(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest says of the application's tests."""
    done = run(folder, "-q", "-rA", "--tb=short", f"--basetemp={tmp_path_factory.mktemp('base') / 'b'}")
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def of(told: str, test: str) -> str:
    """What is said of one test."""
    found = re.search(
        rf"^_+ (?:ERROR at setup of )?{test} _+\n(.*?)(?=^_{{3,}} |^={{3,}} )", told, re.DOTALL | re.MULTILINE
    )
    assert found is not None, told
    return found[1]


@pytest.mark.slow
def test_tests_end_as_their_applications_deserve(told: str) -> None:
    ends = {
        name: word.lower()
        for word, name in re.findall(r"^(PASSED|FAILED|ERROR) test_it\.py::(\w+)", told, re.MULTILINE)
    }
    assert ends == RESULTS


@pytest.mark.parametrize(
    ("test", "says"),
    [
        (
            "test_offsets_outside",
            "offsets_are_committed_with_the_output is broken: group 'pricing' committed offset 3 of",
        ),
        ("test_offsets_outside", "orders-0 -> 3"),
        ("test_offsets_outside", "hand the offsets to send_offsets_to_transaction"),
        (
            "test_output_outside",
            "output_is_committed_with_the_offsets is broken: group 'pricing' commits offsets of orders-0 in",
        ),
        ("test_twice", "no_input_is_committed_twice is broken: group 'pricing' had committed orders-0 up to offset 3"),
        ("test_story", "only_what_was_asked_to_commit_is_committed is broken: A read_committed reader never sees"),
        ("test_story", "fault: a copy of the commit is late, at EndTxn"),
        ("test_story", "a copy of EndTxn arrives"),
        ("test_never_fired", "never fired: disconnect_on of EndTxn; nearest came"),
        ("test_never_released", "never ended: delay_on of EndTxn, which waits for {'release': 'go'}"),
        ("test_history", "aborted_read is broken: "),
        ("test_its_own_failure", "its own"),
        ("test_its_own_failure", "offsets_are_committed_with_the_output is broken"),
        ("test_bad_plan", "txn_faults: plan: faults.0.explode: is unknown here; legal: name, request, inject_error"),
        ("test_no_file", "nowhere.yaml: cannot be read: No such file"),
        ("test_bad_marker", "txn_faults is given faults=[]; legal is txn_faults(plan=..., allow=(...))"),
        ("test_bad_promise", "'everything' is no promise; legal are"),
        ("test_no_story", "there is no story 'nothing'; there are epoch_exhaustion"),
        ("test_two_plans", "one test has one plan"),
    ],
)
def test_a_failure_tells_what_happened(told: str, test: str, says: str) -> None:
    assert says in of(told, test)


def test_the_trace_of_a_failure_is_kept_and_can_be_replayed(told: str) -> None:
    found = re.search(r"everything that clients sent and brokers did is in (\S+)", of(told, "test_offsets_outside"))
    assert found is not None
    path = Path(found[1])
    lines = path.read_text().splitlines()
    assert json.loads(lines[-1])["kind"] == "end"
    program = "import sys; from zombieproof.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, "replay", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_it_works_in_several_processes(folder: Path, tmp_path: Path) -> None:
    done = run(folder, "-q", "-n", "2", f"--basetemp={tmp_path / 'b'}", "-k", "exactly_once or cluster or released")
    assert done.returncode == 1, done.stdout
    assert "1 failed, 3 passed" in done.stdout


def test_nothing_heavy_is_imported_before_a_test_asks_for_it(folder: Path) -> None:
    (folder / "test_other.py").write_text("def test_nothing(): pass\n")
    heavy = "zombieproof", "kio", "pydantic", "numpy", "numba", "yaml", "asyncio"
    program = (
        "import sys, pytest\n"
        "code = pytest.main(['--collect-only', '-q', '-p', 'no:cacheprovider', 'test_other.py'])\n"
        f"print(sorted(name for name in sys.modules if name.startswith({heavy!r})), int(code))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.stdout.splitlines()[-1] == "['zombieproof', 'zombieproof.pytest_plugin'] 0", done.stdout + done.stderr


def test_fixtures_and_markers_are_told(folder: Path) -> None:
    told = run(folder, "--markers").stdout
    assert "@pytest.mark.txn_faults(plan, allow=()): " in told
    assert "@pytest.mark.txn_story(name, allow=()): " in told
    assert {"txn_broker", "txn_cluster"} <= set(
        re.findall(r"^(\w+) -- ", run(folder, "--fixtures", "-q").stdout, re.MULTILINE)
    )
