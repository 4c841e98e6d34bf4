"""A plan is read as it is written, and what cannot be one is refused with its line and what would be legal."""

from pathlib import Path

import pytest

from zombieproof.farm.plan import Group, PlanFault, bound_values, load_plan, parse_plan


def test_a_plan_says_groups_with_all_that_a_group_has() -> None:
    text = """
# nightly
explorations:
  - scenarios: "*"
  - scenarios: [timeout, "kip98_*"]
    rules: [own, 3.9, 4.10]
    with: transaction_version=0
    without: [kip360, verification]
    bounds: {lost: 0..2, doubled: [0, 3], crashes: "1,2"}
    mutants: ["*"]
    expect: violated
  - {scenarios: timeout, bounds: {lost: 4}, seeds: 1..3, steps: 2000000, expect: unbroken}
"""
    assert parse_plan(text, "p.yaml") == (
        Group("p.yaml, line 4"),
        Group(
            "p.yaml, line 5",
            scenarios=("timeout", "kip98_*"),
            rules=("own", "3.9", "4.10"),
            on=("transaction_version=0",),
            off=("kip360", "verification"),
            bounds={"lost": (0, 1, 2), "doubled": (0, 3), "crashes": (1, 2)},
            mutants=("*",),
            expected="violated",
        ),
        Group(
            "p.yaml, line 12",
            scenarios=("timeout",),
            bounds={"lost": (4,)},
            seeds=(1, 2, 3),
            steps=2_000_000,
            expected="unbroken",
        ),
    )


ONE = "explorations:\n- scenarios: timeout\n  "


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "p.yaml: is empty; a plan needs explorations"),
        ("- a\n- b\n", "p.yaml, line 1: a plan must be a mapping"),
        ("{}", "p.yaml, line 1: explorations is missing"),
        ("exploration: []", "p.yaml, line 1: a plan has no exploration; did you mean explorations?"),
        ("explorations: []", "p.yaml, line 1: explorations must be a list with at least one entry"),
        ("explorations: all", "p.yaml, line 1: explorations must be a list"),
        ("explorations:\n- timeout", "p.yaml, line 2: an exploration must be a mapping"),
        ("explorations:\n- rules: own", 'p.yaml, line 2: scenarios is missing; "*" stands for all'),
        (ONE + "rule: own", "p.yaml, line 3: an exploration has no rule; did you mean rules?"),
        (ONE + "rules: own\n  rules: kip98", "p.yaml, line 4: rules is given twice"),
        (ONE + "rules: {a: b}", "p.yaml, line 3: expected a list of words"),
        (ONE + "rules: []", "p.yaml, line 3: expected a list of words"),
        (ONE + "rules: [[a]]", "p.yaml, line 3: expected a word"),
        (ONE + "rules: ''", "p.yaml, line 3: expected a word"),
        (ONE + "rules:", "p.yaml, line 3: expected a word"),
        (ONE + "bounds: lost=2", "p.yaml, line 3: bounds must be a mapping"),
        (ONE + "bounds: {lost: many}", "p.yaml, line 3: lost: 'many' is not a list of values"),
        (ONE + "bounds: {lost: -1}", "p.yaml, line 3: lost: '-1' is not a list of values"),
        (ONE + "bounds: {lost: 2..0}", "p.yaml, line 3: lost: '2..0' is not a range"),
        (ONE + "bounds: {lost: 0..999}", "p.yaml, line 3: lost: '0..999' is not a range"),
        (ONE + "bounds: {lost: 1, lost: 2}", "p.yaml, line 3: lost is given twice"),
        (
            ONE + "expect: breaks",
            "p.yaml, line 3: expect: 'breaks' is not valid; give one of holds, unbroken, violated, anything",
        ),
        (ONE + "seed: 1", "p.yaml, line 3: an exploration has no seed; did you mean seeds?"),
        (ONE + "seeds: many", "p.yaml, line 3: seeds: 'many' is not a list of values"),
        (ONE + "steps: 5", "p.yaml, line 2: steps is for random walks"),
        (ONE + "seeds: 1\n  steps: 0", "p.yaml, line 4: steps: '0' is not a valid number of steps"),
        (ONE + "seeds: 1\n  steps: 1e6", "p.yaml, line 4: steps: '1e6' is not a valid number of steps"),
        (ONE + "seeds: 1\n  expect: holds", "p.yaml, line 2: expect: holds is impossible for random walks"),
        (ONE + "expect: unbroken", "p.yaml, line 2: expect: unbroken is for random walks"),
        ("explorations: [", "p.yaml, line 1: not valid YAML"),
        ("explorations:\n- {scenarios: *nothing}", "p.yaml, line 2: not valid YAML: found undefined alias"),
        ("a: \x00", "p.yaml: not valid YAML for a plan"),
    ],
)
def test_what_is_no_plan_is_refused_with_its_place(text: str, says: str) -> None:
    with pytest.raises(PlanFault) as fault:
        parse_plan(text, "p.yaml")
    assert str(fault.value).startswith(says)


def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(PlanFault, match=r"none\.yaml: cannot be read: No such file"):
        load_plan(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"# ok\nexplorations: \xe4")
    with pytest.raises(PlanFault, match=r"latin\.yaml, line 2: byte 19 is not UTF-8"):
        load_plan(tmp_path / "latin.yaml")
    (tmp_path / "large.yaml").write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(PlanFault, match=r"large\.yaml: has 1,048,577 bytes"):
        load_plan(tmp_path / "large.yaml")


def test_values_of_a_bound_are_numbers_and_ranges_each_once() -> None:
    assert bound_values("0..2, 2,5") == (0, 1, 2, 5)
