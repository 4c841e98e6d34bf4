"""zombieproof rules new: write a rule template with hook, scenario, mutant and tests into a clone."""

from __future__ import annotations

import ast
import keyword
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import click

from zombieproof.cli import rule_templates as templates
from zombieproof.cli.rule_templates import DECISIONS, Template
from zombieproof.cli.usage import WrongUsage, known
from zombieproof.report.exits import Exit
from zombieproof.report.screen import Column, Screen

HELP = """Add a new rule to this clone, as a starting point: switch, hook, scenario with a mutant, tests.

The switch is off in every preset, so nothing else changes. The hook starts as a copy of an existing rule. The scenario
disables the original, so it holds because of your rule, and its mutant violates a property. Then write your own
condition in the function NAME_refuses. Either all files are written or none.

\b
Examples:
  zombieproof rules new late_end_is_refused
  zombieproof rules new stale_batch_is_refused --decision produce
  zombieproof rules new old_marker_is_refused --decision write_txn_markers
"""

LONGEST: Final = 30
_RULES: Final = Path("zombieproof/model/rules.py")
_SCENARIOS: Final = Path("zombieproof/checker/scenarios.py")
_FAMILIES: Final = Path("zombieproof/checker/transactions/scenarios")
_SWITCHES: Final = Path("tests/model/test_switches.py")
_COUNTS: Final = Path("zombieproof/checker/switches.py")
_GENERATED: Final = (Path("docs/rules.md"), Path("docs/trace-schema.json"))
_REGENERATE: Final = (
    "from zombieproof.checker.scenarios import SCENARIOS; from zombieproof.report import rules_page; "
    "from zombieproof.traces.trace import write_schema; from pathlib import Path; import sys; "
    "assert sys.argv[1] in {each.name for each in SCENARIOS.values()}; "
    "rules_page.write(Path('docs/rules.md')); write_schema()"
)


class Written(NamedTuple):
    """A file to write: path, purpose and text."""

    path: Path
    what: str
    text: str


@click.command("new", help=HELP)
@click.argument("name", metavar="NAME", help="name of the rule, such as late_end_is_refused")
@click.option(
    "--decision",
    metavar="DECISION",
    default="end_txn",
    show_default=True,
    help=f"which decision checks the rule: {', '.join(DECISIONS)}",
)
def new_command(name: str, decision: str) -> int:
    """Run the command."""
    template = DECISIONS[known("decision with a template", decision, DECISIONS)]
    root = clone_here(Path.cwd())
    files = plan(root, name, template)
    write(root, name, files)
    screen = Screen()
    screen.say(f"Added the rule {name} to {_shown(root)}:", "bold")
    rows = [(str(file.path), file.what) for file in files]
    screen.table((Column("file"), Column("")), [*rows, *((str(page), "regenerated") for page in _GENERATED)], indent=2)
    screen.say()
    screen.say("Try next", "bold")
    for command, what in _next(name, template):
        screen.say(f"{command}   # {what}", indent=2, hang=4)
    return Exit.HOLDS


def _next(name: str, template: Template) -> list[tuple[str, str]]:
    return [
        (f"zombieproof check {name}", "holds because of the new rule"),
        (f"zombieproof check {name} --without {name} --compare", "shows what the rule changes, with a counterexample"),
        (f"zombieproof check --with {name}", "shows whether it changes any other scenario"),
        (f'make lint test ARGS="-k {name}"', "passes with the template"),
        (f"edit {name}_refuses in zombieproof/model/decisions/{template.file}", "write your own condition"),
        (f"edit {name} in zombieproof/model/rules.py", "meaning and source; also since, once a release has it"),
        ("zombieproof verify --write-results", "regenerates the result pages"),
    ]


def clone_here(folder: Path) -> Path:
    """Find the clone that contains a folder.

    Raises:
        WrongUsage: the folder is not in a clone.
    """
    wanted = (_RULES, _SCENARIOS, _SWITCHES, _COUNTS)
    for root in (folder, *folder.parents):
        if all((root / path).is_file() for path in wanted):
            return root
    raise WrongUsage(
        f"{folder} is not in a clone of zombieproof (no {_RULES} in it or above it); run this command in a clone"
    )


# ---------------------------------------------------------------- plan


def plan(root: Path, name: str, template: Template) -> list[Written]:
    """Return the new text of all files.

    Raises:
        WrongUsage: the name is not valid or taken, or the clone has another version.
    """
    _check_name(root, name)
    decision = Path("zombieproof/model/decisions") / template.file
    scenario, test = _FAMILIES / f"{name}.py", Path("tests/model") / f"test_{name}.py"
    question, count = templates.question_text(name, template), templates.count_text(name, template)
    return [
        Written(_RULES, "the switch, off in every preset", _with_switch(root, name, template)),
        Written(
            decision,
            f"the check before row {template.row}, and {name}_refuses",
            _with_hook(root, decision, name, template),
        ),
        Written(scenario, "the scenario and its mutant", templates.scenario_text(name, template)),
        Written(_SCENARIOS, "registers the scenario", _registered(root, name)),
        Written(test, "tests of the condition", templates.test_text(name, template)),
        Written(
            _SWITCHES, "tests of the answer with and without the rule", _in_table(root, _SWITCHES, "SWITCHES", question)
        ),
        Written(_COUNTS, "expected number of states without the rule", _in_table(root, _COUNTS, "COUNTED", count)),
    ]


def _check_name(root: Path, name: str) -> None:
    if not name.isidentifier() or not name.isascii() or name != name.lower() or keyword.iskeyword(name):
        raise WrongUsage(
            f"{name!r} is not a valid rule name; give lower-case words joined by underscores: late_end_is_refused"
        )
    if name.startswith("_") or name.endswith("_") or len(name) > LONGEST:
        raise WrongUsage(f"{name!r}: give at most {LONGEST} characters, and no underscore at either end")
    rules = _class(_tree(root, _RULES), "Rules", _RULES)
    there = {
        node.target.id for node in rules.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    if name in there:
        raise WrongUsage(f"a rule named {name!r} already exists; choose another name (zombieproof rules lists all)")
    for path in (_FAMILIES / f"{name}.py", Path("tests/model") / f"test_{name}.py"):
        if (root / path).exists():
            raise WrongUsage(f"{path} already exists; choose another name")
    if f'"{name}"' in (root / _SWITCHES).read_text(encoding="utf-8"):
        raise WrongUsage(f"{_SWITCHES} already mentions {name!r}; choose another name")


def _with_switch(root: Path, name: str, template: Template) -> str:
    end = _class(_tree(root, _RULES), "Rules", _RULES).end_lineno
    assert end is not None
    return _inserted(root / _RULES, end, templates.switch_text(name, template))


def _with_hook(root: Path, path: Path, name: str, template: Template) -> str:
    tree = _tree(root, path)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == template.function]
    nodes = (node for function in functions for node in ast.walk(function))
    places = [node for node in nodes if isinstance(node, ast.If) and _answers(node, template.row)]
    if not places:
        raise WrongUsage(
            f"{path} has no row {template.row} in {template.function}: the clone has another version than this program"
        )
    place = places[0]
    text = _inserted(root / path, place.lineno - 1, templates.hook_text(name, template, " " * place.col_offset))
    return text + templates.refuses_text(name, template)


def _answers(node: ast.If, row: str) -> bool:
    """Return whether an `if` returns with that row."""
    answers = [ast.unparse(line) for line in node.body if isinstance(line, ast.Return)]
    return any(f"Row.{row})" in answer for answer in answers)


def _registered(root: Path, name: str) -> str:
    """Return the registry with the scenario added at the end of its model."""
    models = _table(root, _SCENARIOS, "MODELS")
    for model, its in zip(models.keys, models.values, strict=True) if models else ():
        if model is not None and ast.unparse(model) == repr("transactions") and isinstance(its, ast.Dict):
            entry = f'        "{name}": "transactions.scenarios.{name}",\n'
            return _inserted(root / _SCENARIOS, _last_line(its), entry)
    raise WrongUsage(
        f"{_SCENARIOS} has another structure than expected: the clone has another version than this program"
    )


def _in_table(root: Path, path: Path, name: str, text: str) -> str:
    """Return the file with an entry added at the end of a table."""
    table = _table(root, path, name)
    if table is None:
        raise WrongUsage(f"{path} has no {name}: the clone has another version than this program")
    return _inserted(root / path, _last_line(table), text)


def _table(root: Path, path: Path, name: str) -> ast.Dict | None:
    for node in _tree(root, path).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict) and ast.unparse(node.target) == name:
            return node.value
    return None


def _last_line(table: ast.Dict) -> int:
    """Return the line before the closing bracket of a table."""
    assert table.end_lineno is not None
    return table.end_lineno - 1


def _inserted(path: Path, line: int, text: str) -> str:
    """Return the file with text inserted after a line."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join([*lines[:line], text, *lines[line:]])


def _tree(root: Path, path: Path) -> ast.Module:
    try:
        return ast.parse((root / path).read_bytes())
    except (OSError, SyntaxError) as error:
        raise WrongUsage(f"{path}: {error}; repair the clone first") from error


def _class(tree: ast.Module, name: str, path: Path) -> ast.ClassDef:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return node
    raise WrongUsage(f"{path} has no class {name}: the clone has another version than this program")


# ---------------------------------------------------------------- write


def write(root: Path, name: str, files: list[Written]) -> None:
    """Write all files and regenerate the pages made from them, or change nothing.

    Raises:
        WrongUsage: a file cannot be written, or the clone fails to import with the new files.
    """
    before = dict(_contents(root, [*(file.path for file in files), *_GENERATED]))
    refused = [path for path in before if not _is_writable(root / path)]
    if refused:
        raise WrongUsage(f"{root / refused[0]} is not writable; nothing was written")
    try:
        for file in files:
            (root / file.path).write_text(file.text, encoding="utf-8", newline="\n")
        _regenerate(root, name)
    except OSError as error:
        _restore(root, before)
        raise WrongUsage(f"{error.filename or root}: {error.strerror}; nothing was written") from error
    except BaseException:
        _restore(root, before)
        raise


def _contents(root: Path, paths: list[Path]) -> Iterator[tuple[Path, bytes | None]]:
    for path in paths:
        yield path, (root / path).read_bytes() if (root / path).exists() else None


def _is_writable(path: Path) -> bool:
    return os.access(path if path.exists() else path.parent, os.W_OK)


def _restore(root: Path, before: Mapping[Path, bytes | None]) -> None:
    for path, content in before.items():
        if content is None:
            (root / path).unlink(missing_ok=True)
        else:
            (root / path).write_bytes(content)


def _regenerate(root: Path, name: str) -> None:
    """Import the changed clone and regenerate the pages that list the rules."""
    done = subprocess.run(
        [sys.executable, "-c", _REGENERATE, name],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        places = [line.strip() for line in done.stderr.splitlines() if line.strip().startswith('File "')]
        said = " ".join([*places[-1:], *done.stderr.strip().splitlines()[-1:]])
        raise WrongUsage(f"the clone in {root} fails to import with the new files: {said}; nothing was written")


def _shown(root: Path) -> str:
    return "this clone" if root == Path.cwd() else str(root)
