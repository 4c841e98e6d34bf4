"""Brokers that misbehave as told do not make a client copy a record twice, or not at all."""

from pathlib import Path

import pytest
import yaml

from tests.real_clients.install import INSTALLERS
from tests.real_clients.scenarios import FAULTS, LOOP_ID, Stage, fill, is_copied_once, loop


@pytest.mark.sample("confluent-kafka-nobody hears of a commit")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("client", INSTALLERS, indirect=True)
def test_a_loop_comes_through_it_with_exact_output(stage: Stage, tmp_path: Path, fault: str) -> None:
    told = FAULTS[fault]
    request = {**told["request"], "transactional_id": LOOP_ID}
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        yaml.safe_dump({"faults": [{**told, "request": {**request, "nth": nth}} for nth in (3, 7)], "name": fault})
    )
    observer = stage.begin(("--plan", str(plan)))
    fill(observer)
    copies = stage.start()
    loop(copies)
    is_copied_once(observer)
    assert copies.process.poll() is None, "it goes on"
    said = stage.broker.end()
    assert stage.broker.process.returncode == 0, said
