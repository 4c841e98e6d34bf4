"""``make kafka-versions ARGS=4.4.0``: what a release of Kafka has, read from its jars into `kafka_versions.json`.

    python -m tests.model.kafka_versions RELEASE [--jars FOLDER]

For its line the file then says the versions of each API (from the message schemas), which APIs a broker offers, the
levels of its features, and the settings of brokers that are about transactions, groups, offsets and producers, each
with its default. Java 17 and Maven, which gets the jars, are needed for that, and for nothing else here.

Whatever in it has no home here is printed, and the exit code is 1: an API that is neither served nor listed in
`wire.not_served` with these versions; a feature that is neither in `FEATURES` nor in `NOT_TOLD` (`model.features`); a
setting that brokers here neither have with this default nor leave out (`WITHOUT_A_PART`, below).

Of the lines before 4.4 the versions of APIs alone are on file: up to 2.1 by `ApiKeys` of their clients, from 2.2 on by
their schemas.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from benchmarks.wire_brokers import KafkaJars, NotHere
from zombieproof.broker.broker_configs import OF_BROKERS, OF_LOGS
from zombieproof.broker.cluster.settings import Settings
from zombieproof.model.features import FEATURES, NOT_TOLD, Levels, features_of
from zombieproof.model.releases import RELEASES, UnknownRelease, line_of

FILE = Path(__file__).with_name("kafka_versions.json")
READER = Path(__file__).with_name("KafkaRelease.java")
SCHEMAS = "common/message/"
NOTHING_READ = 3

Versions = dict[str, list[int]]
"""API -> [key, oldest, newest, newest that is stable]."""

OF_COORDINATORS = re.compile(r"(transaction|transactional|group|offset|offsets|producer\.id)\..*")
"""The settings of brokers that have to have a home."""

_SHARE = "share groups are not served"
_STREAMS = "groups of the streams protocol are not served"
_ONE_LOG = "the internal topics are written as any topic is, at once and uncompressed"
_REPLICAS = "a topic has as many replicas as the cluster that is made says"
WITHOUT_A_PART: Mapping[str, str] = {
    r"group\.share\..*": _SHARE,
    r"group\.streams\..*": _STREAMS,
    r"group\.coordinator\.(threads|background\.threads)": "one loop serves all groups",
    r"group\.coordinator\.(append\.linger\.ms|cached\.buffer\.max\.bytes)": "records of groups are written at once",
    r"group\.coordinator\.rebalance\.protocols": "the classic and the consumer protocol are always on",
    r"group\.consumer\.assignor\.offload\.enable": "an assignment is computed while the heartbeat is answered",
    r"group\.consumer\.(min|max)\.assignment\.interval\.ms": "bounds of what a group may set; none does here",
    r"group\.consumer\.migration\.policy": "a group changes its protocol only while it is empty",
    r"group\.consumer\.assignors": "both of Kafka's assignors are there",
    r"offsets\.(commit\.timeout\.ms|load\.buffer\.size)": "what is appended or loaded here is so at once",
    r"offsets\.topic\.(compression\.codec|segment\.bytes)": _ONE_LOG,
    r"(offsets\.topic|transaction\.state\.log)\.replication\.factor": _REPLICAS,
    r"transaction\.state\.log\.(load\.buffer\.size|segment\.bytes)": _ONE_LOG,
}
"""Settings by pattern -> why no broker here has them."""

OTHER_DEFAULTS: Mapping[str, str] = {
    "transaction.state.log.min.isr": "2 would refuse every transaction of a single broker; here it follows the topics'",
}
"""Settings that have another default here -> why."""


@dataclass
class Release:
    """What one line of Kafka has; of older ones only `apis` are on file."""

    apis: Versions
    release: str = ""
    of_brokers: list[int] = field(default_factory=list)
    features: dict[str, list[int]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)


def releases() -> Mapping[str, Release]:
    """Every line on file, oldest first."""
    found: Mapping[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return {line: Release(**each) for line, each in found.items()}


def known() -> Mapping[str, Versions]:
    """Line -> the versions of its APIs."""
    return {line: each.apis for line, each in releases().items()}


# ---------------------------------------------------------------- what has no home


def homeless(found: Release) -> Iterator[str]:
    """What a release has that is neither here nor left out with a reason, each with what to do."""
    yield from _homeless_apis(found)
    told = features_of(found.release)
    for name, (lowest, highest, _) in found.features.items():
        if name in FEATURES and told.get(name) != Levels(lowest, highest):
            yield f"feature {name} has levels {lowest} to {highest}: say so in FEATURES of zombieproof.model.features"
        elif name not in FEATURES and name not in NOT_TOLD:
            yield f"feature {name} is unknown: enter it into FEATURES or NOT_TOLD of zombieproof.model.features"
    for name, value in found.settings.items():
        yield from _homeless_setting(name, value)


def _homeless_apis(found: Release) -> Iterator[str]:
    # kio, which these need, is an extra.
    from zombieproof.wire.front import offered  # noqa: PLC0415
    from zombieproof.wire.not_served import NOT_SERVED  # noqa: PLC0415

    here = {int(key): (versions[0], versions[-1]) for key, versions in offered(found.release, unstable=False).items()}
    is_newest = line_of(found.release) == RELEASES[-1]
    produce = 0  # the one API of which a broker offers more than it understands (KAFKA-18659)
    for name, (key, oldest, newest, stable) in found.apis.items():
        if key not in found.of_brokers or key == produce:
            continue
        left_out = NOT_SERVED.get(key)
        if key in here and here[key] != (oldest, stable):
            yield f"{name} ({key}) has versions {oldest} to {stable}, here {here[key]}: see model/api_versions.py"
        elif key not in here and left_out is None:
            yield f"{name} ({key}) is neither served nor in NOT_SERVED of zombieproof.wire.not_served"
        elif key not in here and is_newest and left_out is not None and left_out[2:4] != (oldest, newest):
            yield f"{name} ({key}) has versions {oldest} to {newest}: enter them in zombieproof.wire.not_served"


def _homeless_setting(name: str, value: str) -> Iterator[str]:
    defaults = {each.name: each.default for each in fields(Settings)}
    if name in OF_BROKERS:
        ours = str(defaults[OF_BROKERS[name]]).lower()
        if ours != value and name not in OTHER_DEFAULTS:
            yield f"setting {name} is {value} by default, and {ours} in zombieproof.broker.cluster.settings"
    elif name not in OF_LOGS and not any(re.fullmatch(pattern, name) for pattern in WITHOUT_A_PART):
        yield f"setting {name} is unknown: enter it into Settings, or into WITHOUT_A_PART with the reason"


# ---------------------------------------------------------------- from the jars


def read(release: str, jars: str) -> Release:
    """What a release has; `jars` is its class path, a folder with a star behind it.

    Raises:
        NotHere: Java cannot read them.
    """
    (clients,) = Path(jars).parent.glob("kafka-clients-*.jar")
    apis, of_brokers = _apis(clients)
    found = Release(apis, release, of_brokers)
    run = subprocess.run(["java", "-cp", jars, str(READER)], capture_output=True, text=True, check=False)
    if run.returncode:
        raise NotHere(f"java cannot read the jars of Kafka {release}: {run.stderr.strip()[-500:]}")
    for line in run.stdout.splitlines():
        kind, name, *rest = line.split(" ", 2)
        value = rest[0] if rest else ""
        if kind == "feature":
            found.features[name] = [int(level) for level in value.split()]
        elif kind == "setting" and OF_COORDINATORS.fullmatch(name):
            found.settings[name] = value
    return found


def _apis(jar: Path) -> tuple[Versions, list[int]]:
    """The versions of each API, and the keys of those that brokers offer."""
    found: Versions = {}
    of_brokers = []
    with ZipFile(jar) as file:
        for name in file.namelist():
            if not name.startswith(SCHEMAS) or not name.endswith("Request.json"):
                continue
            schema = _head(file.read(name).decode())
            if schema.get("validVersions") in (None, "none") or "apiKey" not in schema:
                continue
            oldest, _, newest = schema["validVersions"].rstrip("+").partition("-")
            last = int(newest or oldest)
            stable = last - (schema.get("latestVersionUnstable") == "true")
            key = int(schema["apiKey"])
            found[schema["name"].removesuffix("Request")] = [key, int(oldest), last, stable]
            if '"broker"' in schema.get("listeners", ""):
                of_brokers.append(key)
    return dict(sorted(found.items(), key=lambda each: each[1])), sorted(of_brokers)


def _head(text: str) -> Mapping[str, str]:
    """What stands before the fields of a message; some files are no JSON behind them."""
    head = re.sub(r"//.*$", "", text, flags=re.MULTILINE).partition('"fields"')[0]
    listeners = re.search(r'"listeners":\s*(\[[^\]]*\])', head)
    found = dict(re.findall(r'"(\w+)":\s*"?([^",\n]+)"?', head))
    return {**found, "listeners": listeners[1] if listeners else ""}


# ---------------------------------------------------------------- the command


def written(found: Mapping[str, Release]) -> str:
    """The whole file: a row for each line of Kafka."""
    rows = [
        f"{json.dumps(line)}: {json.dumps({name: value for name, value in vars(each).items() if value})}"
        for line, each in found.items()
    ]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the result is its exit code: 1 something has no home, 2 wrong usage, 3 nothing could be read."""
    parser = argparse.ArgumentParser(prog="python -m tests.model.kafka_versions", description="Read a release.")
    parser.add_argument("release", help="such as 4.4.0")
    parser.add_argument("--jars", type=Path, help="the folder with its jars; without it Maven gets them")
    given = parser.parse_args(arguments)
    try:
        line = line_of(given.release)
        jars = f"{given.jars}/*" if given.jars else KafkaJars(release=given.release).find()
        found = read(given.release, jars)
    except UnknownRelease as error:
        sys.stderr.write(f"{error}; a new line is entered into RELEASES of zombieproof.model.releases first\n")
        return 2
    except NotHere as error:
        sys.stderr.write(f"{error}\n")
        return NOTHING_READ
    FILE.write_text(written({**releases(), line: found}), encoding="utf-8")
    without = list(homeless(found))
    sys.stdout.write("".join(f"{each}\n" for each in without))
    counts = f"{len(found.of_brokers)} APIs of brokers, {len(found.features)} features, {len(found.settings)} settings"
    sys.stdout.write(f"Kafka {given.release}: {counts}; {len(without)} without a home; {FILE.name} says the rest\n")
    return 1 if without else 0


if __name__ == "__main__":
    raise SystemExit(main())
