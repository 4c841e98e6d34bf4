"""`make pythons` names what it does not find, and never passes without having tested anything."""

import sys

import pytest

from tests import pythons


def test_a_python_that_is_not_there_is_named() -> None:
    found = dict(pythons.pythons([sys.executable], ["no-such-python3.14"]))
    assert found == {sys.executable: ".".join(map(str, sys.version_info[:3])), "no-such-python3.14": None}


@pytest.mark.parametrize(("passes", "code"), [(True, 0), (False, 1)])
def test_what_fails_with_one_python_fails(monkeypatch: pytest.MonkeyPatch, passes: bool, code: int) -> None:
    monkeypatch.setattr(pythons, "tested", lambda *_: passes)
    assert pythons.main([sys.executable, "--", "-k", "x"]) == code


def test_no_python_at_all_is_a_failure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(pythons, "pythons", lambda given: iter([("python3.14", None)]))
    assert pythons.main([]) == 1
    assert "python3.14: not found, not tested" in capsys.readouterr().out
