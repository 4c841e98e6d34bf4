"""zombieproof rules, and the page docs/rules.md."""

from pathlib import Path
from typing import Any

import pytest

from zombieproof.model.rules import PRESETS, preset, preset_for, switches
from zombieproof.report import rules_page
from zombieproof.report.rules_page import LIMITS, differences, in_releases, listed, steps

NAMES = [facts.name for facts in switches()]


def test_all_presets_and_switches_are_told(run: Any) -> None:
    outcome = run("rules")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert all(any(line.startswith(f"  {name} ") for line in lines) for name in (*PRESETS, *NAMES))


def test_all_as_json(run: Any) -> None:
    data = run("rules", "--json").json
    assert list(data) == ["presets", "rules"]
    assert list(data["presets"]) == list(PRESETS)
    assert [rule["name"] for rule in data["rules"]] == NAMES
    assert set(data["rules"][0]) == {"name", "meaning", "since", "until", "source", "reference", "newest"}
    said = {rule["name"]: rule for rule in data["rules"]}
    assert (said["kip939"]["since"], said["kip939"]["newest"]) == (None, False)
    assert (said["unknown_producer_id"]["since"], said["unknown_producer_id"]["until"]) == ("1.0", "2.4")


@pytest.mark.parametrize("name", ["newest", "kip98", "kip939", "3.9", "4.3-tv1", "3.9.1", "4.0.0", "0.11.0.2"])
def test_the_rules_of_a_preset_or_a_patch_release(run: Any, name: str) -> None:
    rules = preset(name) if name in PRESETS else preset_for(name)
    wanted = {field: getattr(rules, field) for field in (*LIMITS, *NAMES)}
    assert run("rules", name, "--json").json == {"preset": name, "rules": wanted}
    outcome = run("rules", name)
    assert outcome.code == 0
    shown = {line.split()[0]: line.split()[1] for line in outcome.out.splitlines()[1:]}
    assert {field: shown[field] == "on" for field in NAMES} == {field: wanted[field] == 1 for field in NAMES}
    assert shown["cached_batches"] == str(rules.cached_batches)


def test_two_presets_are_compared(run: Any) -> None:
    outcome = run("rules", "--diff", "2.6", "2.7")
    assert outcome.code == 0
    head, row, end = outcome.out.splitlines()
    assert head.split()[:3] == ["rule", "2.6", "2.7"]
    assert row.split()[:5] == ["kip588", "off", "on", "since", "2.7"]
    assert end == "2.6 and 2.7 differ in 1 rule"


def test_a_comparison_has_what_differs_and_nothing_else(run: Any) -> None:
    data = run("rules", "--diff", "3.9.1", "4.2-tv0", "--json").json
    assert (data["left"], data["right"]) == ("3.9.1", "4.2-tv0")
    left, right = preset_for("3.9.1"), preset("4.2-tv0")
    for name in (*LIMITS, *NAMES):
        pair = {"left": getattr(left, name), "right": getattr(right, name)}
        assert (data["differences"].get(name) == pair) is (pair["left"] != pair["right"])


def test_equal_presets_are_said_to_be_equal(run: Any) -> None:
    outcome = run("rules", "--diff", "kip98", "0.11.0")
    assert (outcome.code, outcome.out) == (0, "kip98 and 0.11.0 have the same rules\n")
    assert run("rules", "--diff", "kip98", "0.11.0", "--json").json["differences"] == {}


def test_a_comparison_as_markdown(run: Any) -> None:
    lines = run("rules", "--diff", "0.11.0", "1.0", "--markdown").out.splitlines()
    assert lines[0] == "| rule | 0.11.0 | 1.0 | releases | source | meaning |"
    assert [line.split("|")[1].strip() for line in lines[2:]] == [
        "`cached_batches`",
        "`timeout_bump`",
        "`unknown_producer_id`",
    ]


def test_the_whole_as_markdown_is_the_page(run: Any, repository_root: Path) -> None:
    assert run("rules", "--markdown").out == (repository_root / "docs" / "rules.md").read_text(encoding="utf-8")


def test_a_preset_as_markdown(run: Any) -> None:
    lines = run("rules", "kip98", "--markdown").out.splitlines()
    assert lines[0] == "| rule | kip98 | releases | source | meaning |"
    assert len(lines) == 2 + len(LIMITS) + len(NAMES)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nwest"], "there is no preset of rules named 'nwest'; did you mean newest? (zombieproof rules lists all)"),
        (["4.3-tv9"], "there is no preset of rules named '4.3-tv9'; did you mean 4.3-tv1"),
        (["5.1"], "unknown Kafka release '5.1'; known: 0.11.0 to 4.4"),
        (["--diff", "3.9", "4.9"], "unknown Kafka release '4.9'"),
        (["--diff", "3.9", "newes"], "did you mean newest"),
        (["--diff", "3.9"], "'--diff' requires 2 arguments"),
        (["3.9", "--diff", "3.9", "4.2"], "3.9 and --diff: give both presets after --diff"),
        (["--markdown", "--json"], "--markdown and --json: choose one form"),
        (["3.9", "4.2"], "unexpected extra argument"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_says_what_to_do(run: Any, arguments: list[str], complaint: str) -> None:
    outcome = run("rules", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert complaint in outcome.err
    assert "Traceback" not in outcome.err


# ---------------------------------------------------------------- the page


def test_the_committed_page_is_that_of_the_rules(repository_root: Path) -> None:
    assert [str(stale) for stale in rules_page.check(repository_root / "docs" / "rules.md")] == []


def test_the_page_has_every_switch_and_every_preset() -> None:
    text = rules_page.page()
    for facts in switches():
        assert f"| `{facts.name}` | {facts.meaning} | {in_releases(facts)} |" in text
    for step in steps():
        assert f"| {step.title} | " in text


def test_a_page_that_was_just_written_passes(tmp_path: Path) -> None:
    assert rules_page.check(rules_page.write(tmp_path / "docs" / "rules.md")) == []


def test_a_missing_page_is_found(tmp_path: Path) -> None:
    [stale] = rules_page.check(tmp_path / "rules.md")
    assert stale.why == "missing: run `zombieproof verify --write-results`"


def test_an_edited_page_is_found(tmp_path: Path) -> None:
    path = rules_page.write(tmp_path / "rules.md")
    path.write_text(path.read_text(encoding="utf-8").replace("since 2.5", "since 2.4"), encoding="utf-8")
    [stale] = rules_page.check(path)
    assert "stale" in stale.why


def test_the_history_adds_up_to_the_last_release() -> None:
    first, *later = steps()
    assert (first.lines, first.changes) == (("0.11.0",), ())
    values = {change.name: change.right for step in later for change in step.changes}
    last = preset(later[-1].lines[-1])
    assert {name: getattr(last, name) for name in values} == values
    assert {change.name for change in differences(preset("0.11.0"), last)} <= set(values)


def test_a_change_is_spoken_as_a_sign_and_a_name() -> None:
    assert listed(differences(preset("2.4"), preset("2.5"))).startswith("+ `kip360`, + `kip447_fence`")
    assert "- `unknown_producer_id`" in listed(differences(preset("2.4"), preset("2.5")))
    assert listed(differences(preset("4.3"), preset("4.3-tv0"))) == "transaction_version 0"
