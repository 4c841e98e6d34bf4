"""What `conform` found of a broker outside, for people."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from zombieproof.conformance.outside.judge import Judged
from zombieproof.report.screen import Column, Screen, plural

SHOWN: Final = 20
VERDICTS: Final = ("conforms", "deviates", "not applicable", "not judged")
_COLUMNS: Final = (
    Column("of"),
    Column("conform", "right"),
    Column("deviate", "right"),
    Column("not applicable", "right"),
    Column("not judged", "right"),
)


def show(screen: Screen, judged: Sequence[Judged], bugs: Mapping[str, str]) -> None:
    """Write a row for each family or recording, every deviation, why others were not judged, and the totals.

    `bugs` are the titles of published bugs by their numbers.
    """
    families = list(dict.fromkeys(each.family for each in judged))
    rows = [(family, *_counts([each for each in judged if each.family == family])) for family in families]
    screen.table(_COLUMNS, rows)
    deviating = [each for each in judged if each.verdict == "deviates"]
    for each in deviating[:SHOWN]:
        _show_deviation(screen, each, bugs)
    if len(deviating) > SHOWN:
        screen.say()
        screen.say(f"and {len(deviating) - SHOWN:,} more; --json has them all")
    _show_reasons(screen, judged)
    screen.say()
    screen.say(totals(judged), _style(judged))


def totals(judged: Sequence[Judged]) -> str:
    """How many conform of how many that were judged, and what else there was."""
    count = Counter(each.verdict for each in judged)
    says = f"{count['conforms']:,} of {count['conforms'] + count['deviates']:,} conform"
    if count["not applicable"]:
        says += f"; {count['not applicable']:,} not applicable"
    return says + f"; {count['not judged']:,} not judged" * bool(count["not judged"])


def _counts(judged: Sequence[Judged]) -> tuple[str, ...]:
    count = Counter(each.verdict for each in judged)
    return tuple(f"{count[verdict]:,}" for verdict in VERDICTS)


def _style(judged: Sequence[Judged]) -> str:
    verdicts = {each.verdict for each in judged}
    return "bold red" if "deviates" in verdicts else "bold green" if verdicts == {"conforms"} else "bold yellow"


def _show_deviation(screen: Screen, found: Judged, bugs: Mapping[str, str]) -> None:
    screen.say()
    screen.say(f"{found.family}: {found.name}", "bold red")
    said = (
        ("rule", found.rule),
        ("source", found.source),
        ("asked", f"step {found.step}: {found.asked} {_json(found.request)}" if found.step else ""),
        ("expected", _json(found.expected)),
        ("got", _json(found.got)),
    )
    for title, text in said:
        if text:
            screen.say(f"{title:<9} {text}", indent=2, hang=10)
    for number in found.bugs:
        screen.say(f"{'matches':<9} {number} {bugs.get(number, '')}".rstrip(), indent=2, hang=10)


def _json(value: JsonValue) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _show_reasons(screen: Screen, judged: Sequence[Judged]) -> None:
    """Why what was not judged was not, the most frequent reason first."""
    for verdict in ("not applicable", "not judged"):
        reasons = Counter(each.why for each in judged if each.verdict == verdict)
        if reasons:
            screen.say()
            screen.say(f"{verdict}:", "yellow")
        for why, count in reasons.most_common(SHOWN):
            screen.say(f"{count:>5,}  {why}", indent=2, hang=7)
        if len(reasons) > SHOWN:
            screen.say(f"and {plural(len(reasons) - SHOWN, 'reason')} more; --json has them all", indent=2)
