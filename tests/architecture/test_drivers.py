"""What is still decided outside the model and its machines stands in docs/drivers.md, and nothing else does.

A driver looks up, hands in and carries out. Where it asks a state, an event, an error, a rule or a field of a machine's
record itself, the page names the function, with the reason. So does this test: both lists are the same.
"""

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import zombieproof

PAGE = "docs/drivers.md"

DRIVERS = (
    "checker/transactions",
    "checker/spark_sink",
    "checker/proposal2014",
    "pipeline",
    "broker",
    "clients",
    "conformance",
    "traces",
    "bridge",
)
"""The folders of `zombieproof` whose code runs machines, or reads what they have left."""

FOLLOWED = {("Error", "NONE"): "whether a step has refused is asked by whoever carries its effects out"}
"""Members whose comparison decides nothing, and why."""

NOT_OF_THE_PROTOCOL = {
    "ApiKey": "names the request that is handed to a part or a step",
    "partitions": "of a transaction a mask, elsewhere the topic partitions of anything",
    "last_offset": "of a remembered batch, and of anything that lies in a log",
    "offset": "of a committed offset, and of anything that lies in a log",
    "version": "of a transition, and of any message",
}
"""Names of the vocabulary and of records that say nothing by themselves, and why."""

SYMBOL = re.compile(r"`([\w.*]+:[\w.*]+)`")


class Words:
    """What a driver would have to ask to decide: enums and fields of the model's and the machines' records."""

    def __init__(self, package: Path) -> None:
        self.enums, self.fields = set[str](), set[str]()
        for file in (
            package / "model/vocabulary.py",
            package / "model/records.py",
            *package.glob("statemachines/*/records.py"),
        ):
            for each in ast.parse(file.read_text()).body:
                if isinstance(each, ast.ClassDef) and any(ast.unparse(base) == "IntEnum" for base in each.bases):
                    self.enums.add(each.name)
                elif isinstance(each, ast.ClassDef) and each.decorator_list:
                    declared = (line.target for line in each.body if isinstance(line, ast.AnnAssign))
                    self.fields |= {name.id for name in declared if isinstance(name, ast.Name)}
        self.enums -= set(NOT_OF_THE_PROTOCOL)
        self.fields -= set(NOT_OF_THE_PROTOCOL)

    def decide(self, operand: ast.expr) -> bool:
        """Whether asking this is asking the protocol."""
        if isinstance(operand, ast.Name):
            return re.search(r"(epoch|producer_id|sequence)$", operand.id) is not None
        if not isinstance(operand, ast.Attribute):
            return False
        of = ast.unparse(operand.value)
        if of in self.enums:
            return (of, operand.attr) not in FOLLOWED
        if re.search(r"(^|\.)_?rules$", of):
            return True
        is_field = operand.attr in self.fields or operand.attr.endswith("epoch")
        return is_field and not re.search(r"(^trail\b|effects$)", of)


def asked(test: ast.AST) -> Iterator[ast.expr]:
    """What a condition or comparison asks, without what it hands to a function."""
    match test:
        case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from asked(part)
        case ast.UnaryOp(operand=part):
            yield from asked(part)
        case ast.BinOp(left=left, right=right):
            yield from asked(left)
            yield from asked(right)
        case ast.Compare(left=left, ops=ops, comparators=others):
            if not any(isinstance(op, ast.Is | ast.IsNot) for op in ops):
                for part in (left, *others):
                    yield from asked(part)
        case ast.Call(func=ast.Name(id="int" | "bool"), args=[part]):
            yield from asked(part)
        case ast.expr():
            yield test


def conditions_of(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield test
        case ast.comprehension(ifs=tests):
            yield from tests
        case ast.MatchValue(value=value):
            yield value
        case ast.Compare() | ast.BoolOp():
            yield node


def deciders(source: str, words: Words) -> set[str]:
    """The functions of a module that ask the protocol, by their qualified names."""
    found = set[str]()

    def visit(node: ast.AST, name: str) -> None:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            name = f"{name}.{node.name}".lstrip(".")
        if isinstance(node, ast.Assert):
            return
        if any(words.decide(operand) for test in conditions_of(node) for operand in asked(test)):
            found.add(name)
        for child in ast.iter_child_nodes(node):
            visit(child, name)

    visit(ast.parse(source), "")
    return found


def found_in(package: Path) -> set[str]:
    """`module:function` of everything in the drivers that asks the protocol."""
    words = Words(package)
    files = (file for folder in DRIVERS for file in sorted((package / folder).rglob("*.py")))
    return {
        f"{'.'.join(file.relative_to(package).with_suffix('').parts)}:{name}"
        for file in files
        for name in deciders(file.read_text(), words)
    }


def listed_in(page: str, heading: str) -> list[str]:
    """The symbols in the tables below each heading of that name."""
    sections = re.split(r"^(#+ .*)$", page, flags=re.MULTILINE)
    tables = "\n".join(text for title, text in zip(sections[1::2], sections[2::2], strict=True) if heading in title)
    return [
        symbol for line in tables.splitlines() if line.startswith("|") for symbol in SYMBOL.findall(line.split("|")[1])
    ]


def symbols(page: str) -> list[str]:
    return listed_in(page, "Asked") + listed_in(page, "Chosen")


def unlisted(found: set[str], listed: list[str]) -> list[str]:
    """What decides and is not on the page."""
    return sorted(each for each in found if not any(fnmatchcase(each, pattern) for pattern in listed))


def idle(found: set[str], listed: list[str]) -> list[str]:
    """What is on the page and decides nothing."""
    return [pattern for pattern in listed if not any(fnmatchcase(each, pattern) for each in found)]


def exists(symbol: str) -> bool:
    """Whether there is such a function; of a pattern with `*` the asking tells (`idle`)."""
    module, _, name = symbol.partition(":")
    if "*" in symbol:
        return True
    # Read, and not imported: what some of them need is an extra.
    found: list[ast.stmt] = ast.parse(source_of(module)).body
    for part in name.split("."):
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        inside = [each for each in found if isinstance(each, kinds) and each.name == part]
        if not inside:
            return False
        found = inside[-1].body
    return True


def source_of(module: str) -> str:
    """Of a module of the package."""
    path = Path(zombieproof.__file__).parent / Path(*module.split("."))
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()


def rows_of(page: str) -> list[list[str]]:
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")
    ]
    return [row for row in cells if row[0] != "where" and not row[0].startswith("---")]


def test_whatever_asks_the_protocol_in_a_driver_is_on_the_page(repository_root: Path) -> None:
    page = (repository_root / PAGE).read_text()
    assert unlisted(found_in(repository_root / "zombieproof"), listed_in(page, "Asked")) == []


@pytest.mark.slow
def test_what_the_page_says_is_asked_still_is(repository_root: Path) -> None:
    page = (repository_root / PAGE).read_text()
    assert idle(found_in(repository_root / "zombieproof"), listed_in(page, "Asked")) == []


def test_every_function_on_the_page_exists_and_stands_there_once(repository_root: Path) -> None:
    page = (repository_root / PAGE).read_text()
    assert [symbol for symbol in symbols(page) if not exists(symbol)] == []
    for heading in ("Asked", "Chosen"):
        listed = listed_in(page, heading)
        assert sorted(set(listed)) == sorted(listed)


def test_every_row_says_what_why_and_by_what_it_is_held(repository_root: Path) -> None:
    page = (repository_root / PAGE).read_text()
    nets = set(re.findall(r"\*(\w+)\*", page.partition("Held together by:")[2].partition("\n## ")[0]))
    assert len(nets) > 5
    for row in rows_of(page):
        assert len(row) == 4, row
        assert all(row), row
        assert set(row[3].split(", ")) <= nets, row


def test_words_of_the_protocol_are_read_from_the_model(repository_root: Path) -> None:
    words = Words(repository_root / "zombieproof")
    assert {"Error", "TransactionState", "PartitionEvent", "Operation"} <= words.enums
    assert {"state", "producer_epoch", "txn_first_offset", "next_sequence"} <= words.fields
    assert set(NOT_OF_THE_PROTOCOL) & {"state", "producer_id"} == set()


# ---------------------------------------------------------------- what is wrong is noticed

QUIET = """
def carry_out(effects, store):
    if effects.error != Error.NONE or effects.producer_id == NONE:
        return store.refuse()
    store.append(decide(txn.state, rules.kip447_fence))
"""

LOUD = {
    "a state": "if txn.state == TransactionState.ONGOING: pass",
    "an error": "x = error in (Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH)",
    "an error in a loop": "x = [each for each in told if each.error != Error.NONE or each.error == Error.FENCED]",
    "a rule": "if self._rules.single_fence_bump: pass",
    "a rule by its number": "x = 1 if setup.rules.kip360 == 1 else 0",
    "an epoch": "while epoch < known_epoch: pass",
    "a field of a record": "if not entry.batch_count: pass",
    "a bit of a field": "x = (held.next_sequence >> 1) & 1 == 0",
    "a member that is matched": "match event:\n        case PartitionEvent.BEGIN: pass",
}


@pytest.fixture(scope="module")
def words() -> Words:
    return Words(Path(__file__).parents[2] / "zombieproof")


def test_who_only_carries_out_is_not_noticed(words: Words) -> None:
    assert deciders(QUIET, words) == set()


@pytest.mark.parametrize("line", LOUD.values(), ids=LOUD)
def test_who_asks_the_protocol_is_noticed(words: Words, line: str) -> None:
    assert deciders(f"class Driver:\n  def step(self):\n    {line}\n", words) == {"Driver.step"}


def test_a_decision_that_is_put_into_a_driver_is_noticed(repository_root: Path, words: Words) -> None:
    source = (repository_root / "zombieproof/broker/partition/replica.py").read_text()
    line = "        judged = self.producers.judge(batch, guard, origin)\n"
    assert line in source
    altered = source.replace(line, line + "        if judged.event == PartitionEvent.BEGIN:\n            guard = 0\n")
    new = deciders(altered, words) - deciders(source, words)
    assert new == {"Replica.append"}
    page = (repository_root / PAGE).read_text()
    assert unlisted({f"broker.partition.replica:{name}" for name in new}, listed_in(page, "Asked"))


def test_a_row_about_nothing_is_noticed() -> None:
    page = "### Asked\n\n| where | what |\n|---|---|\n| `broker.cluster.node:Broker.begin` | nothing |\n"
    assert idle({"broker.cluster.node:Broker._load"}, listed_in(page, "Asked")) == ["broker.cluster.node:Broker.begin"]
    assert not exists("broker.cluster.node:Broker.gone")
    assert exists("broker.cluster.node:Broker.begin")
