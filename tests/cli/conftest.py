"""The program in this process, so that a model is compiled once."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from zombieproof.cli import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """All of stdout as one JSON value; anything else on stdout fails here."""
        return json.loads(self.out)


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line and return what it did."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)

    def run_main(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        written = capsys.readouterr()
        return Outcome(int(code), written.out, written.err)

    return run_main
