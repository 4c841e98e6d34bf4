"""A client is installed once, again when what it is made of changes, and what it lacks is named."""

import sys
from pathlib import Path

import pytest

from tests.real_clients import install
from tests.real_clients.install import Installer, NotInstalled, is_ready


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "main.txt"
    file.write_text("first")
    return file


@pytest.fixture
def clients(tmp_path: Path) -> Path:
    return tmp_path / "clients"


def use(monkeypatch: pytest.MonkeyPatch, source: Path, *, tools: tuple[str, ...] = (), fails: bool = False) -> None:
    """One client alone is known: a copy of `source`."""
    copies = (
        f"import shutil; shutil.copy({str(source)!r}, 'copy'); open('calls', 'a').write('x'); assert {not fails}, 'no'"
    )
    row = Installer(
        tools=tools,
        made_of=(source,),
        commands=lambda _: ((sys.executable, "-c", copies),),
        starts=lambda folder: (folder / "program",),
    )
    monkeypatch.setattr(install, "INSTALLERS", {"copy": row})


def test_a_client_is_installed_once(monkeypatch: pytest.MonkeyPatch, source: Path, clients: Path) -> None:
    use(monkeypatch, source)
    assert not is_ready("copy", clients)
    install.install("copy", clients)
    (clients / "copy/calls").write_text("kept")
    install.install("copy", clients)
    assert is_ready("copy", clients)
    assert (clients / "copy/calls").read_text() == "kept"
    assert install.program("copy", clients) == [str(clients / "copy/program")]


def test_a_client_is_made_again_when_its_source_changes(
    monkeypatch: pytest.MonkeyPatch, source: Path, clients: Path
) -> None:
    use(monkeypatch, source)
    install.install("copy", clients)
    source.write_text("second")
    assert not is_ready("copy", clients)
    install.install("copy", clients)
    assert (clients / "copy/copy").read_text() == "second"


def test_a_command_that_fails_is_named_and_leaves_nothing_ready(
    monkeypatch: pytest.MonkeyPatch, source: Path, clients: Path
) -> None:
    use(monkeypatch, source, fails=True)
    with pytest.raises(NotInstalled, match=r"copy: .* ended with 1: (.|\n)*AssertionError: no"):
        install.install("copy", clients)
    assert not is_ready("copy", clients)


def test_a_tool_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, source: Path, clients: Path) -> None:
    use(monkeypatch, source, tools=("no-such-tool",))
    with pytest.raises(NotInstalled, match="copy: no-such-tool is not on the PATH"):
        install.install("copy", clients)


def test_one_that_fails_does_not_keep_another_from_being_installed(
    monkeypatch: pytest.MonkeyPatch, source: Path, clients: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, source)
    monkeypatch.setattr(install, "CLIENTS", clients)
    lacks = Installer(("no-such-tool",), (), lambda _: (), lambda folder: (folder,))
    monkeypatch.setattr(install, "INSTALLERS", {"lacks": lacks, **install.INSTALLERS})
    monkeypatch.setattr(install, "default_clients", lambda: ["lacks", "copy"])
    assert install.main([]) == 1
    told = capsys.readouterr()
    assert "copy is ready" in told.out
    assert "not installed: lacks: no-such-tool is not on the PATH" in told.err
    assert install.main(["copy"]) == 0


def test_a_name_that_nobody_knows_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        install.main(["kafka-go"])
    assert "no client is named kafka-go; there are confluent-kafka" in capsys.readouterr().err
