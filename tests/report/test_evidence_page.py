"""docs/evidence.md names all that the readers read, and its samples are read as what it says."""

import html
from pathlib import Path

import pytest

from zombieproof.report import evidence_page, evidence_samples
from zombieproof.report.evidence_page import COMMAND, Section, check, form_names, page, sections, write
from zombieproof.report.evidence_samples import FORMS, LAYOUTS, TOOLS, FormExample, lines_of, printed_by_brokers
from zombieproof.report.pages import Stale
from zombieproof.traces.readers import layouts, wrappings
from zombieproof.traces.readers.clients.layouts import record_of, utterances
from zombieproof.traces.readers.clients.statement import Library
from zombieproof.traces.readers.collect import collect
from zombieproof.traces.readers.forms import plain_parts
from zombieproof.traces.readers.recognise import Kind, by_content, by_name
from zombieproof.traces.readers.tool_columns import TABLES

OF_TEXT = [section for section in sections() if Kind.SEGMENT not in section.kinds]
IN_DIRECTORIES = [section for section in sections() if Kind.SEGMENT in section.kinds]


def test_the_committed_page_is_that_of_the_readers(repository_root: Path) -> None:
    assert [str(stale) for stale in check(repository_root / "docs" / "evidence.md")] == []


def test_a_stale_page_is_named(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    assert check(path) == [Stale(path, f"missing: run `{COMMAND}`")]
    write(path).write_text(page() + "more")
    assert len(check(path)) == 1


def test_each_kind_of_evidence_has_a_section() -> None:
    assert {kind for section in sections() for kind in section.kinds} == set(Kind)


def test_each_table_of_a_tool_has_a_section() -> None:
    assert {each.tool for section in sections() for each in section.tables} == {each.tool for each in TABLES}
    assert all(each.tool.partition(",")[0] in page() for each in TABLES)


def test_each_client_has_a_line_of_its_own() -> None:
    lines = evidence_samples.printed_by_clients()
    assert set(lines) == set(Library)
    for library, line in lines.items():
        assert line in page()
        assert library in {each.library for each in utterances(record_of(line))}


def test_a_form_or_layout_without_an_example_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    new = wrappings.Form("a new form", wrappings.COLOURS.take)
    monkeypatch.setattr(wrappings, "FIXED", (*wrappings.FIXED, new))
    with pytest.raises(KeyError, match="a new form"):
        page()
    monkeypatch.undo()
    monkeypatch.setattr(layouts, "LAYOUTS", (*layouts.LAYOUTS, "log layout, new"))
    with pytest.raises(KeyError, match="log layout, new"):
        page()


def test_no_example_is_of_a_form_or_layout_that_is_gone() -> None:
    fixed = {form.name for form in (*wrappings.FIXED, wrappings.FENCES, wrappings.PROMPTS)}
    line = printed_by_brokers().split("\n")[0]
    learned = set()
    for learner in wrappings.WITH_ANY_PREFIX:
        forms = [learner([*example.around(line).split("\n")] * 2) for example in FORMS.values()]
        names = {form.name for form in forms if form is not None}
        assert len(names) == 1, learner
        learned |= names
    assert set(form_names()) == fixed | learned
    assert set(LAYOUTS) == set(layouts.LAYOUTS)


def wrapped(name: str, example: FormExample) -> tuple[list[str], str]:
    """Lines of evidence, and a text in which each has a form."""
    lines = [printed_by_brokers().split("\n")[0]] * 4
    if name == "remarks behind the line":
        lines = lines_of(f"{TOOLS}/3.0.2/console-transactions.txt", 4).split("\n")
    if name == "HTML entities":
        lines = lines_of("tests/recordings/01-commit/client.jsonl", 4).split("\n")
        return lines, "\n".join(map(html.escape, lines))
    return lines, "\n".join(map(example.around, lines))


@pytest.mark.parametrize("name", FORMS)
def test_the_form_of_an_example_is_taken_off_by_its_name(name: str) -> None:
    lines, text = wrapped(name, FORMS[name])
    (part,) = plain_parts(memoryview(f"{text}\n".encode()))
    assert name in part.forms
    shown = bytes(part.data).decode().split("\n")
    assert [line for line in shown if line.strip("\x1a")] == lines


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_layout_of_an_example_is_called_so(name: str) -> None:
    found = layouts.layout_of(LAYOUTS[name])
    assert found is not None
    assert found.name == name
    assert found.text.endswith(f"ProducerId set to 7 with epoch 2 ({evidence_samples._CLASS})")


@pytest.mark.parametrize("section", OF_TEXT, ids=lambda section: section.title)
def test_a_sample_is_read_as_its_kind(section: Section, tmp_path: Path) -> None:
    assert by_content(memoryview(f"{section.sample}\n".encode())) in section.kinds
    assert section.sample in page()
    (tmp_path / "paste.txt").write_text(f"{section.sample}\n")
    found = collect([tmp_path / "paste.txt"])
    assert found.files == [str(tmp_path / "paste.txt")]


def test_each_name_in_a_directory_is_known_by_name() -> None:
    (section,) = IN_DIRECTORIES
    names = [line.split()[0].replace("*", "00000000000000000000") for line in section.sample.split("\n")]
    assert [by_name(name) for name in names] == list(evidence_page.IN_DIRECTORY.values())
