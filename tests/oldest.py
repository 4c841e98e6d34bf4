"""The oldest versions that the package says it works with, as constraints for pip: `python -m tests.oldest`."""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
WITHOUT = ("dev", "test", "spark", "plot")
"""Extras that are no part of it: tools, and what is large."""


def constraints(project: dict[str, Any]) -> Iterator[str]:
    """Yield for each requirement its lower bound; raises ValueError for one that has none."""
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(each for name in extras if name not in WITHOUT for each in extras[name])]
    for requirement in map(Requirement, wanted):
        oldest = [each.version for each in requirement.specifier if each.operator == ">="]
        if len(oldest) != 1:
            raise ValueError(f"{requirement}: has no lower bound; give one, such as {requirement.name}>=1.0")
        yield f"{requirement.name}=={oldest[0]}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in constraints(tomllib.loads(PROJECT.read_text())["project"]))
