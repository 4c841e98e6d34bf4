"""Each mistake of the table is noticed by the test that it names; no mistake is not."""

import re

import pytest

from tests.faults.copies import ROOT, altered, run
from tests.wire.plan.mutants import MUTANTS, Mutant
from zombieproof.wire.plan.kinds import KINDS

MISTAKES = ("NameError", "ImportError", "SyntaxError", "UnboundLocalError")
"""What a mutant that is no mistake of the player would end in."""


def notice(mutant: Mutant) -> str:
    """What the test says of a copy with the mistake; "" where it passes."""
    with altered(f"../{mutant.file}", mutant.before, mutant.after) as copy:
        done = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", mutant.net)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout if done.returncode else ""


def test_every_kind_of_fault_has_one() -> None:
    assert {kind for kind in KINDS if not any(each.sentence.startswith(f"{kind}:") for each in MUTANTS)} == set()
    assert len({each.sentence for each in MUTANTS}) == len({each[1:4] for each in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_its_text_stands_once(mutant: Mutant) -> None:
    assert (ROOT / "zombieproof" / mutant.file).read_text().count(mutant.before) == 1
    file, _, name = mutant.net.partition("::")
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.MULTILINE)


OF_CI = {mutant.sentence.partition(":")[0]: mutant for mutant in reversed(MUTANTS)}.values()
"""One mutant of each kind of fault and of each other part of a plan; `make deep` runs all of them."""


@pytest.mark.share(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant",
    [pytest.param(mutant, marks=() if mutant in OF_CI else pytest.mark.deep, id=str(mutant)) for mutant in MUTANTS],
)
def test_a_mistake_is_noticed(mutant: Mutant) -> None:
    said = notice(mutant)
    assert said, "nothing noticed it"
    assert not any(re.search(rf"^E\s+{name}", said, re.MULTILINE) for name in MISTAKES), said


@pytest.mark.slow
def test_what_is_no_mistake_is_not_noticed() -> None:
    same = MUTANTS[0]
    assert notice(same._replace(after=same.before)) == ""
