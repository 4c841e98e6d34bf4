"""zombieproof rules new: what it writes into a clone is a rule that works, and it writes all of it or nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from zombieproof.cli.rule_templates import DECISIONS

LONG = "a_rule_with_a_name_that_is_lo"


@pytest.fixture
def clone(tmp_path: Path, repository_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sources of a clone, in which the program is called."""
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for folder in ("zombieproof", "benchmarks", "tests/model", "docs"):
        shutil.copytree(repository_root / folder, tmp_path / folder, ignore=ignored)
    for file in ("pyproject.toml", "tests/conftest.py", "README.md", "LICENSE"):
        shutil.copy(repository_root / file, tmp_path / file)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(root: Path) -> dict[str, bytes]:
    """Every file of a clone."""
    files = (path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def there(root: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a module of Python with the sources of the clone."""
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *command], cwd=root, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_what_is_written_is_a_rule_that_works(run: Any, clone: Path) -> None:
    names = {}
    for number, decision in enumerate(DECISIONS):
        for name in (f"r{number}", f"{LONG}{number}"):
            outcome = run("rules", "new", name, "--decision", decision)
            assert outcome.code == 0, outcome.err
            names[name] = decision
    lint = ["ruff", "check", "--no-cache"], ["ruff", "format", "--check", "--no-cache"]
    for command in lint:
        done = there(clone, "-m", *command)
        assert done.returncode == 0, done.stdout
    checks = "import sys; from zombieproof.cli import main; sys.exit(main())"
    # One process for all: the model is compiled once.
    done = there(clone, "-c", checks, "check", *names, "--mutants")
    assert (done.returncode, f"{len(names)} mutants, {len(names)} as expected" in done.stdout) == (0, True), done.stdout
    done = there(clone, "-c", checks, "check", *names)
    assert (done.returncode, "pinned" in done.stdout) == (0, False), done.stdout
    done = there(clone, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/model")
    assert done.returncode == 0, done.stdout
    written = [f"zombieproof/checker/transactions/scenarios/{name}.py" for name in names]
    written += [f"tests/model/test_{name}.py" for name in names]
    written += [f"zombieproof/model/decisions/{template.file}" for template in DECISIONS.values()]
    done = there(clone, "-m", "mypy", "--cache-dir", os.devnull, *written, "zombieproof/model/rules.py")
    assert done.returncode == 0, done.stdout


def test_it_says_what_it_wrote_and_what_to_do_next(run: Any, clone: Path) -> None:
    before = contents(clone)
    outcome = run("rules", "new", "late_end_is_refused")
    assert (outcome.code, outcome.err) == (0, "")
    after = contents(clone)
    changed = {name for name in after if after[name] != before.get(name)}
    listed = {
        line.split()[0]
        for line in outcome.out.splitlines()
        if line.startswith(("  zombieproof/", "  tests/", "  docs/"))
    }
    assert changed == listed
    assert {"zombieproof/model/rules.py", "docs/rules.md", "tests/model/test_late_end_is_refused.py"} <= changed
    assert "zombieproof check late_end_is_refused --without late_end_is_refused --compare" in outcome.out
    assert b"| `late_end_is_refused` |" in after["docs/rules.md"]
    again = run("rules", "new", "late_end_is_refused", "--decision", "produce")
    assert (again.code, "a rule named 'late_end_is_refused' already exists" in again.err) == (2, True)
    assert contents(clone) == after


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("kip360", "a rule named 'kip360' already exists"),
        ("epoch_max", "a rule named 'epoch_max' already exists"),
        ("timeout", "scenarios/timeout.py already exists"),
        ("presets", "tests/model/test_presets.py already exists"),
        ("Late", "lower-case words"),
        ("late-end", "lower-case words"),
        ("1late", "lower-case words"),
        ("", "lower-case words"),
        ("late end", "lower-case words"),
        ("class", "lower-case words"),
        ("spät", "lower-case words"),
        ("../late", "lower-case words"),
        ("_late", "no underscore at either end"),
        ("l" * 31, "at most 30 characters"),
    ],
)
def test_a_name_that_cannot_be_is_refused_and_nothing_is_written(run: Any, clone: Path, name: str, says: str) -> None:
    before = contents(clone)
    outcome = run("rules", "new", name)
    assert (outcome.code, outcome.out, says in outcome.err) == (2, "", True), outcome.err
    assert contents(clone) == before


def test_a_decision_without_a_template_is_refused(run: Any, clone: Path) -> None:
    outcome = run("rules", "new", "late", "--decision", "end_tx")
    assert (outcome.code, "did you mean end_txn" in outcome.err) == (2, True)
    assert run("rules", "new").code == 2


def test_outside_of_a_clone_it_says_where_to_go(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("rules", "new", "late")
    assert (outcome.code, "is not in a clone of zombieproof (no" in outcome.err) == (2, True)


def test_it_works_from_a_folder_of_the_clone(run: Any, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clone / "docs")
    assert run("rules", "new", "late").code == 0
    assert (clone / "tests/model/test_late.py").is_file()


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("zombieproof/model/decisions/end_txn.py", "Row.T5)", "Row.T4)", "has no row T5 in decide_end_txn_v2"),
        ("zombieproof/model/rules.py", "class Rules:", "class Rules(", "repair the clone first"),
        ("zombieproof/model/rules.py", "class Rules:", "class Ruling:", "has no class Rules"),
        ("tests/model/test_switches.py", "SWITCHES: dict", "SWITCH: dict", "has no SWITCHES"),
        (
            "zombieproof/checker/scenarios.py",
            '        "one_transaction": "transactions.scenarios.one_transaction",\n',
            '        "one_transaction": "transactions.scenarios.one",\n',
            "fails to import with the new files",
        ),
        (
            "zombieproof/checker/scenarios.py",
            '    "transactions": {',
            '    "others": {',
            "has another structure than expected",
        ),
        (
            "zombieproof/model/decisions/verdicts.py",
            "def refuse(",
            "def refuses(",
            "fails to import with the new files",
        ),
    ],
)
def test_a_clone_that_is_not_as_expected_stays_as_it_was(
    run: Any, clone: Path, file: str, old: str, new: str, says: str
) -> None:
    text = (clone / file).read_text()
    assert old in text
    (clone / file).write_text(text.replace(old, new))
    before = contents(clone)
    outcome = run("rules", "new", "late")
    assert (outcome.code, outcome.out, says in outcome.err) == (2, "", True), outcome.err
    assert contents(clone) == before


def test_a_file_that_cannot_be_written_leaves_nothing_half_done(
    run: Any, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(clone)
    usual = Path.write_text

    def full(path: Path, text: str, **options: Any) -> int:
        if path.name == "test_late.py":
            raise OSError(28, "No space left on device", str(path))
        return usual(path, text, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        outcome = run("rules", "new", "late")
    assert (outcome.code, "No space left on device; nothing was written" in outcome.err) == (2, True)
    assert contents(clone) == before
    with monkeypatch.context() as patched:
        patched.setattr(os, "access", lambda path, mode: "rules.md" not in str(path))
        outcome = run("rules", "new", "late")
    assert (outcome.code, "docs/rules.md is not writable; nothing was written" in outcome.err) == (2, True)
    assert contents(clone) == before


def test_the_other_uses_of_rules_are_as_they_were(run: Any) -> None:
    assert run("rules", "--diff", "3.9", "4.2").code == 0
    assert run("rules", "3.9", "--json").json["preset"] == "3.9"
    assert run("rules", "3.9", "new").code == 2
    helped = run("rules", "new", "--help")
    assert (helped.code, "zombieproof rules new late_end_is_refused" in helped.out) == (0, True)
