"""Lines of several pods in one text are several logs: each instance of a client keeps the name of its pod."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.files import of_source, plain_name
from zombieproof.traces.replay import replay

CLIENT = "[Producer clientId=till-1, transactionalId=till]"
LOGGER = "(org.apache.kafka.clients.producer.internals.TransactionManager)"
ASKS = f"INFO {CLIENT} Invoking InitProducerId for the first time in order to acquire a producer ID {LOGGER}"
FENCED = (
    f"INFO {CLIENT} Transiting to fatal error state due to org.apache.kafka.common.errors.ProducerFencedException: "
    f"There is a newer producer with the same transactionalId which fences the current one. {LOGGER}"
)


def has(epoch: int) -> str:
    return f"INFO {CLIENT} ProducerId set to 51 with epoch {epoch} {LOGGER}"


STORY = ((0, ASKS), (0, has(3)), (1, ASKS), (1, has(4)), (0, FENCED))
"""What two pods with one transactional id write, by the number of the pod."""

Write = Callable[[int, str, str], str]


def _plain(pod: int, time: str, text: str) -> str:
    return f"[{time}] {text}"


def _collector(pod: int, time: str, text: str) -> str:
    return json.dumps({"log": f"{_plain(pod, time, text)}\n", "kubernetes": {"pod_name": f"till-{pod}"}})


def _ecs(pod: int, time: str, text: str) -> str:
    level, message, logger = text.split(" ", 1)[0], text.split(" ", 1)[1].rpartition(" ")[0], LOGGER[1:-1]
    stamp = f"{time.replace(' ', 'T').replace(',', '.')}Z"
    where = {"pod": {"name": f"till-{pod}"}}
    return json.dumps(
        {"@timestamp": stamp, "log.level": level, "message": message, "log.logger": logger, "kubernetes": where}
    )


CARRIERS: dict[str, Write] = {
    "kubectl": lambda pod, time, text: f"[pod/till-{pod}/app] {_plain(pod, time, text)}",
    "compose": lambda pod, time, text: f"till-{pod}  | {_plain(pod, time, text)}",
    "stern": lambda pod, time, text: f"till-{pod} app {_plain(pod, time, text)}",
    "syslog": lambda pod, time, text: f"Nov  3 10:00:00 till-{pod} app[7]: {_plain(pod, time, text)}",
    "collector": _collector,
    "ECS": _ecs,
    "quoted": lambda pod, time, text: f"> [pod/till-{pod}/app] {_plain(pod, time, text)}",
}


def times() -> list[str]:
    return [f"2025-11-03 10:00:{second:02},000" for second in range(0, 50, 10)]


def written(folder: Path, write: Write) -> Path:
    lines = [write(pod, time, text) for (pod, text), time in zip(STORY, times(), strict=True)]
    file = folder / "app.log"
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.mark.parametrize("write", CARRIERS.values(), ids=CARRIERS)
def test_two_pods_are_two_instances(write: Write, tmp_path: Path) -> None:
    old, new = replay([written(tmp_path, write)]).clients
    assert (old.producers, new.producers) == (["51:3"], ["51:4"])
    assert "till-0" in old.file
    assert "till-1" in new.file
    [error] = old.errors
    assert error.fenced_by is not None
    assert "51:4" in error.fenced_by
    assert "till-1" in error.fenced_by
    assert new.errors == []


@pytest.mark.parametrize("write", CARRIERS.values(), ids=CARRIERS)
def test_two_pods_say_what_two_files_say(write: Write, tmp_path: Path) -> None:
    together = collect([written(tmp_path, write)]).client_lines
    for pod in (0, 1):
        lines = [_plain(pod, time, text) for (of, text), time in zip(STORY, times(), strict=True) if of == pod]
        (tmp_path / f"{pod}.log").write_text("\n".join(lines) + "\n")
    apart = collect([tmp_path / "0.log", tmp_path / "1.log"]).client_lines
    assert [(each.fact, each.producer_epoch, each.timestamp_ms) for each in together] == [
        (each.fact, each.producer_epoch, each.timestamp_ms) for each in apart
    ]
    assert [each.line for each in together] == [1, 2, 5, 3, 4]


def test_one_pod_keeps_the_name_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "app.log"
    file.write_text("".join(f"[pod/till-0/app] [{time}] {has(1)}\n" for time in times()))
    assert {line.file for line in collect([file]).client_lines} == {str(file)}


def test_the_name_of_a_source_is_part_of_the_name_that_is_printed() -> None:
    assert plain_name(of_source("logs/app.log", "till-0/app")) == "app.log [till-0 app]"
    assert of_source("logs/app.log", "") == "logs/app.log"


UNKNOWN = "INFO hello (org.apache.kafka.server.Other)"


def test_pods_whose_lines_say_nothing_are_one_file_that_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "app.log"
    file.write_text("".join(f"[pod/a-{n % 2}/app] [{time}] {UNKNOWN}\n" for n, time in enumerate(times())))
    evidence = collect([file])
    assert evidence.files == []
    assert [each.file for each in evidence.ignored] == [str(file)]


def test_a_pod_whose_lines_say_nothing_is_read_beside_one_that_does(tmp_path: Path) -> None:
    lines = [f"[pod/till-{n % 2}/app] [{time}] {UNKNOWN if n % 2 else has(1)}" for n, time in enumerate(times())]
    (tmp_path / "app.log").write_text("\n".join(lines) + "\n")
    evidence = collect([tmp_path / "app.log"])
    assert evidence.files == [str(tmp_path / "app.log")]
    assert evidence.ignored == []
    assert len(evidence.client_lines) == 3
