"""Each dependency has an oldest version, which `make oldest` installs."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.oldest import constraints


def test_each_dependency_of_the_package_has_one(repository_root: Path) -> None:
    project = tomllib.loads((repository_root / "pyproject.toml").read_text())["project"]
    found = [line.partition("==")[0] for line in constraints(project)]
    assert {"numba", "llvmlite", "numpy", "click", "kio"} <= set(found)
    assert len(found) >= len(project["dependencies"])


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy==2.1"])
def test_one_without_is_refused(requirement: str) -> None:
    project: dict[str, Any] = {"dependencies": [requirement], "optional-dependencies": {"dev": ["ruff"]}}
    with pytest.raises(ValueError, match=r"numpy.*: has no lower bound; give one, such as numpy>=1\.0"):
        list(constraints(project))
