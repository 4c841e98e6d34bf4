"""``python -m tests.model.kafka_versions`` writes down which versions of which API each line of Kafka has.

    python -m tests.model.kafka_versions GIT_DIRECTORY JARS OLD_JARS

From Kafka's own message schemas (``common/message/*Request.json``): those of 2.2 to 3.9 at the branches of a clone,
those of 4.0 on in the jars of its clients. Lines before 2.2 have no schemas: what ``ApiKeys`` of their clients says is
in files ``LINE.txt`` with a row "id NAME oldest newest" for each API. Of APIs that clients and brokers use.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from zipfile import ZipFile

FILE = Path(__file__).with_name("kafka_versions.json")
FOLDER = "common/message/"
IN_GIT = (
    "2.2",
    "2.3",
    "2.4",
    "2.5",
    "2.6",
    "2.7",
    "2.8",
    "3.0",
    "3.1",
    "3.2",
    "3.3",
    "3.4",
    "3.5",
    "3.6",
    "3.7",
    "3.8",
)
Versions = dict[str, list[int]]


def known() -> Mapping[str, Versions]:
    """Line -> API -> [key, oldest, newest, newest that is stable]."""
    found: Mapping[str, Versions] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def _schema(text: str) -> Mapping[str, str]:
    """What stands before the fields of a message; some files are no JSON behind them."""
    head = re.sub(r"//.*$", "", text, flags=re.MULTILINE).partition('"fields"')[0]
    return dict(re.findall(r'"(\w+)":\s*"?([^",\n]+)"?', head))


def _of(schemas: Iterator[str]) -> Versions:
    found: Versions = {}
    for schema in map(_schema, schemas):
        if schema.get("validVersions") in (None, "none") or "apiKey" not in schema:
            continue
        oldest, _, newest = schema["validVersions"].rstrip("+").partition("-")
        last = int(newest or oldest)
        stable = last - (schema.get("latestVersionUnstable") == "true")
        found[schema["name"].removesuffix("Request")] = [int(schema["apiKey"]), int(oldest), last, stable]
    return dict(sorted(found.items(), key=lambda each: each[1]))


def _in_git(git: str, line: str) -> Iterator[str]:
    path = f"clients/src/main/resources/{FOLDER}"
    run = ["git", "-C", git]
    for name in subprocess.check_output([*run, "ls-tree", "--name-only", line, path], text=True).split():
        if name.endswith("Request.json"):
            yield subprocess.check_output([*run, "show", f"{line}:{name}"], text=True)


def _in_jar(jar: Path) -> Iterator[str]:
    with ZipFile(jar) as file:
        for name in file.namelist():
            if name.startswith(FOLDER) and name.endswith("Request.json"):
                yield file.read(name).decode()


def _of_rows(text: str, names: Mapping[int, str]) -> Versions:
    rows = (row.split() for row in text.splitlines())
    return {names[int(key)]: [int(key), int(old), int(new), int(new)] for key, _, old, new in rows if int(key) in names}


def line_of(file: Path) -> str:
    """The line of a file that ends with a release."""
    found = re.search(r"(0\.\d+\.0|\d+\.\d+)\.\d+$", file.stem)
    assert found is not None, file.name
    return found[1]


if __name__ == "__main__":
    git, jars, old = sys.argv[1:]
    lines = {line: _of(_in_git(git, line)) for line in IN_GIT}
    lines |= {line_of(jar): _of(_in_jar(jar)) for jar in Path(jars).glob("*.jar")}
    names = {row[0]: name for each in lines.values() for name, row in each.items()}
    lines |= {line_of(file): _of_rows(file.read_text(encoding="ascii"), names) for file in Path(old).glob("*.txt")}
    ordered = sorted(lines, key=lambda line: [int(number) for number in line.split(".")])
    rows = [f"{json.dumps(line)}: {json.dumps(lines[line])}" for line in ordered]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
