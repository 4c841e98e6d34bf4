"""Documents written by hand name what exists: files, folders, commands with their options, make targets."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from zombieproof.checker.scenarios import SCENARIOS
from zombieproof.cli.main import COMMANDS, command_named
from zombieproof.cli.rules_new import new_command

DOCUMENTS = (
    *("README.md", "CONTRIBUTING.md", "SECURITY.md", "tests/README.md", "examples/README.md"),
    *("docs/bugs.md", "docs/choices.md", "docs/drivers.md", "docs/reference.md"),
)
"""What is written by hand."""
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
PATH = re.compile(r"[\w.*<>{}-]+(?:/[\w.*<>{}-]+)*/?(?=:\w+$|$)")
SUFFIXES = (".py", ".md", ".toml", ".yaml", ".jsonl", ".gz", ".json", ".sh")

OF_READERS = {
    "story.jsonl": "what a reader writes",
    "counterexample.jsonl": "what a reader writes",
    "finding.md": "what a reader writes",
    "segments/": "a reader's folder",
    "server.log": "a reader's log",
    "FILE.py": "stands for a file",
    "TransactionLogKey.json": "one of Kafka's",
    "TransactionLogValue.json": "one of Kafka's",
    "bugs.md": "the list of published bugs; docs/bugs.md explains its numbers",
    "__init__.py": "a file that must not be",
    "conftest.py": "one in any folder",
    "suite_<prefix>.py": "one for each prefix",
    "neighbours.py": "tests/answers/recorder/neighbours.py, named beside its folder",
    ".venv": "made by the first run of make",
    ".venv/ready": "a target of the Makefile",
}
"""What looks like a path of this project and is none, and why."""


def blocks(text: str) -> Iterator[str]:
    """The lines of console blocks that a reader types."""
    for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL):
        yield from (line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ "))


def in_code(text: str) -> Iterator[str]:
    """Everything in backticks, and every line that is typed; fenced blocks of Python and output are not read."""
    yield from blocks(text)
    yield from CODE.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def places_of(root: Path, document: str) -> list[Path]:
    """From where a path in a document may be meant: the root, its own folder, and any folder of the package."""
    inside = [path for path in (root / "zombieproof").rglob("*") if path.is_dir() and path.name != "__pycache__"]
    return [root, (root / document).parent, root / "zombieproof", *inside]


def missing_paths(root: Path, document: str, text: str) -> list[str]:
    """Paths that a document names and that do not exist."""
    named = [link for link in LINK.findall(text) if "://" not in link]
    for code in in_code(text):
        words = code.split()
        named += [word for word in words if _looks_like_a_path(word)]
    missing, places = [], places_of(root, document)
    for name in dict.fromkeys(named):
        path = re.sub(r":[A-Za-z_]\w*$", "", name)
        if path in OF_READERS or path.startswith(("../shared", "/")):
            continue
        if not any(any(place.glob(path.rstrip("/"))) for place in places):
            missing.append(name)
    return missing


def _looks_like_a_path(word: str) -> bool:
    if not PATH.fullmatch(re.sub(r":[A-Za-z_]\w*$", "", word)) or word.startswith("-"):
        return False
    return "/" in word.strip("/") or word.endswith("/") or word.endswith(SUFFIXES)


def wrong_commands(text: str) -> list[str]:
    """Commands of this program that do not exist as they are written: name, option, scenario."""
    wrong = []
    for code in in_code(text):
        typed = code.partition("#")[0].partition(">")[0].strip()
        fault = _fault_of(shlex.split(typed)[1:]) if typed.startswith("zombieproof ") else ""
        if fault:
            wrong.append(f"{typed}: {fault}")
    return wrong


def _fault_of(words: list[str]) -> str:
    if words[0].startswith("-") or words[0] == "X":
        return ""
    if words[0] not in COMMANDS:
        return f"there is no command {words[0]}"
    options = set(_options_of(words[0], words[1:]))
    for word in words[1:]:
        if word.startswith("-") and word.partition("=")[0] not in options:
            return f"{words[0]} has no option {word}"
    arguments = [word for word in words[1:] if not word.startswith("-")]
    if words[0] == "check" and arguments and re.fullmatch(r"[a-z_]+", arguments[0]):
        return "" if arguments[0] in {*SCENARIOS, "late_end_is_refused"} else f"there is no scenario {arguments[0]}"
    return ""


def _options_of(name: str, arguments: list[str]) -> Iterator[str]:
    """The options of a command; `rules new` has its own."""
    command: Any = command_named(name)
    if name == "rules" and arguments[:1] == ["new"]:
        command = new_command
    yield "--help"
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)


def missing_targets(root: Path, text: str) -> list[str]:
    """Targets of make that a document names and the Makefile does not have."""
    makefile = (root / "Makefile").read_text()
    targets = set(re.findall(r"^([\w./-]+):", makefile, flags=re.MULTILINE))
    named = [word for code in in_code(text) for word in _targets_of(code)]
    return sorted({name for name in named if name not in targets})


def _targets_of(code: str) -> list[str]:
    typed = code.partition("#")[0]
    found = re.search(r"(?:^|\s)make((?: [a-z./-]+(?![\w=]))*)", typed)
    return found.group(1).split() if found else []


# ---------------------------------------------------------------- the documents


@pytest.fixture(params=DOCUMENTS)
def document(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_path_that_a_document_names_exists(repository_root: Path, document: str) -> None:
    assert missing_paths(repository_root, document, (repository_root / document).read_text()) == []


def test_every_command_that_a_document_names_exists(repository_root: Path, document: str) -> None:
    assert wrong_commands((repository_root / document).read_text()) == []


def test_every_make_target_that_a_document_names_exists(repository_root: Path, document: str) -> None:
    assert missing_targets(repository_root, (repository_root / document).read_text()) == []


def test_what_looks_like_a_path_and_is_none_is_named_somewhere(repository_root: Path) -> None:
    texts = "".join((repository_root / document).read_text() for document in DOCUMENTS)
    assert [name for name in OF_READERS if name not in texts] == []


def test_the_readme_maps_every_folder_of_the_package(repository_root: Path) -> None:
    readme = (repository_root / "README.md").read_text()
    folders = [path.parent.name for path in (repository_root / "zombieproof").glob("*/__init__.py")]
    assert [name for name in folders if f"`zombieproof/{name}/`" not in readme] == []


def test_tests_readme_has_a_row_for_every_folder_of_tests(repository_root: Path) -> None:
    readme = (repository_root / "tests" / "README.md").read_text()
    folders = {path.parent.relative_to(repository_root / "tests").parts[0] for path in _tests(repository_root)}
    assert [name for name in sorted(folders) if f"`{name}/`" not in readme] == []


def _tests(root: Path) -> Iterator[Path]:
    return (path for path in (root / "tests").rglob("test_*.py") if path.parent != root / "tests")


def program_with(root: Path, words: str) -> str:
    """The one program in the README in which these words stand."""
    programs = re.findall(r"```python\n(.*?)```", (root / "README.md").read_text(), flags=re.DOTALL)
    [found] = [program for program in programs if words in program]
    return str(found)


@pytest.mark.slow
def test_the_program_in_the_readme_runs(
    repository_root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository_root)
    exec(compile(program_with(repository_root, "check("), "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert "an_acknowledged_commit_loses_nothing is broken" in out
    assert "violates ['every_listed_partition_has_its_marker']" in out


def test_the_cluster_in_the_readme_runs(
    repository_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(program_with(repository_root, "Embedded("), "README.md", "exec"), {})
    assert capsys.readouterr().out == "[b'paid']\n"
    assert (tmp_path / "data" / "cluster.json").exists()


# ---------------------------------------------------------------- what is wrong is noticed


def test_a_path_that_does_not_exist_is_noticed(repository_root: Path) -> None:
    text = (
        "see `zombieproof/model/promises.py`, `zombieproof/model/gone.py`, [a page](docs/gone.md), `traces/gone/`, "
        "`zombieproof/model/decisions/`, `check examples/gone.py:NAME`\n"
        "```console\n$ zombieproof replay tests/recordings/gone\n```\n"
        "```python\nhere = 'is/no/path.py'\n```\n"
    )
    assert missing_paths(repository_root, "README.md", text) == [
        "docs/gone.md",
        "tests/recordings/gone",
        "zombieproof/model/gone.py",
        "traces/gone/",
        "examples/gone.py:NAME",
    ]


def test_a_command_that_does_not_exist_is_noticed() -> None:
    text = (
        "`zombieproof chekc timeout`, `zombieproof check timeout --withot x`, `zombieproof check timeot`, "
        "`zombieproof check timeout --without x`\n"
    )
    assert wrong_commands(text) == [
        "zombieproof chekc timeout: there is no command chekc",
        "zombieproof check timeout --withot x: check has no option --withot",
        "zombieproof check timeot: there is no scenario timeot",
    ]


def test_a_make_target_that_does_not_exist_is_noticed(repository_root: Path) -> None:
    assert missing_targets(repository_root, "`make check`, `make lint tset`, `ZOMBIEPROOF_TESTS=ci make deep`") == [
        "tset"
    ]
