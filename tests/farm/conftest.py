"""Jobs, and scenarios of one's own that misbehave when they are told to."""

from collections.abc import Callable
from pathlib import Path

import pytest

from zombieproof.farm.expanding import jobs_of
from zombieproof.farm.jobs import Job
from zombieproof.farm.plan import parse_plan

UNRULY = """
import os
from dataclasses import replace
from pathlib import Path
from zombieproof import SCENARIOS

HERE = Path(__file__).parent


def setup(rules, bounds):
    if (HERE / "raises").exists():
        raise RuntimeError("the setup is not ready")
    if (HERE / "dies").exists():
        (HERE / "dies").rename(HERE / "died")
        os._exit(9)
    if (HERE / "dies_always").exists():
        os._exit(9)
    return SCENARIOS["late_produce"].setup(rules, bounds)


UNRULY = replace(SCENARIOS["late_produce"], name="unruly", setup=setup, distinct=0)
"""
"""A scenario that does what a file beside it says: raise, let its process die once, or always."""

Jobs = Callable[..., list[Job]]


@pytest.fixture
def jobs() -> Jobs:
    """The jobs of groups of a plan, each written in YAML's short form."""

    def made(*groups: str) -> list[Job]:
        return jobs_of(parse_plan("explorations:\n" + "".join(f"- {group}\n" for group in groups), "plan.yaml"))

    return made


@pytest.fixture
def unruly(tmp_path: Path) -> Path:
    """The file of the unruly scenario."""
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine" / "unruly.py"
    file.write_text(UNRULY)
    return file
