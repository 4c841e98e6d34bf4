"""A test speaks with the program of the connector, and compares what it was told with what brokers have."""

from pathlib import Path
from typing import Any

from tests.real_clients.install import program
from tests.real_clients.processes import Client, Process
from zombieproof.bridge.under_test import ReadRecord

NAME = "spark-connector"
PATIENCE_S = 180.0


class Connector(Client):
    """The program, with a session of Spark that begins with the first step."""

    def __init__(self, errors: Path) -> None:
        Process.__init__(self, program(NAME), errors)

    def does(self, step: str, bootstrap: str, **options: Any) -> Any:
        """What comes of a step at brokers; `kafka_x_y` is the option ``kafka.x.y``, and `_` stands for nothing else.

        Raises:
            StepFailed: Spark raised.
        """
        named = {
            name.replace("_", ".") if name.startswith("kafka_") else name: value for name, value in options.items()
        }
        return self.ask(step, PATIENCE_S, **{"kafka.bootstrap.servers": bootstrap}, **named)


def told(records: list[ReadRecord]) -> list[list[Any]]:
    """Records of brokers as the program tells rows."""
    return [
        [
            each.partition,
            each.offset,
            each.key and each.key.decode(),
            each.value and each.value.decode(),
            [[name, value and value.decode()] for name, value in each.headers],
            each.timestamp_ms,
        ]
        for each in records
    ]
