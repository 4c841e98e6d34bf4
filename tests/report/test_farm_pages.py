"""The pages of a farm: everything is there, nothing is taken for markup, nothing is fetched."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from zombieproof.farm.found import SCHEMA, Found, failure, row_of, verdict_of
from zombieproof.farm.jobs import Job
from zombieproof.farm.running import Harvest
from zombieproof.report import farm_pages, farm_text
from zombieproof.report.exits import Exit

JOB = Job(key="a", sources="s", scenario="timeout", model="m", words="newest", bounds={"lost": 2})
MUTANT = replace(JOB, key="b", mutant="m1", expected="breaks", promise="p", steps=3, bounds={})
ODD = replace(JOB, key="c", scenario="<b>|`x`", asked="mine.py:<b>|`x`", words="newest & more")


def found(job: Job, **facts: object) -> Found:
    said = {"verdict": "holds", "distinct": 1234, "generated": 5000, "depth": 9, "cpu_seconds": 1.5, **facts}
    known = {"key": job.key, "sources": job.sources, "scenario": job.scenario, "mutant": job.mutant, "rules": job.words}
    return Found.model_validate({**known, **said})


def harvest(*found_ones: Found, jobs: tuple[Job, ...] = (JOB, MUTANT, ODD)) -> Harvest:
    return Harvest(jobs, {one.key: one for one in found_ones})


ALL = harvest(
    found(JOB),
    found(MUTANT, verdict="violated", promise="p", steps=3, distinct=10),
    failure(ODD, "it <i>failed</i> | at `line` 3"),
)


class Page(HTMLParser):
    """What a browser would see: cells by row, tags, and addresses."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [str(value) for name, value in attrs if name in ("src", "href")]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self.in_cell = self.in_cell and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.in_cell:
            self.rows[-1][-1] += data


def test_the_page_has_a_row_for_each_exploration() -> None:
    head, *rows = Page(farm_pages.as_html(ALL)).rows
    assert head == [title.removesuffix(":") for title in farm_pages.COLUMNS]
    assert [row[:6] for row in rows] == [
        ["timeout", "newest", "", "lost=2", "holds", "as expected"],
        ["timeout", "newest", "m1", "", "violated", "as expected"],
        ["<b>|`x`", "newest & more", "", "lost=2", "error", "failed"],
    ]
    assert rows[0][6:9] == ["1,234", "5,000", "9"]


def test_the_page_needs_nothing_beside_it_and_takes_no_name_for_markup() -> None:
    text = farm_pages.as_html(ALL)
    page = Page(text)
    assert page.addresses == []
    assert not {"b", "i", "link", "img"} & set(page.tags)
    assert not re.search(r"https?://|@import|url\(|fetch\(", text)
    assert "zombieproof check &#x27;mine.py:&lt;b&gt;|`x`&#x27; --bounds lost=2" in text


def test_numbers_of_the_page_are_sorted_as_numbers() -> None:
    cells = re.findall(
        r'<td class="number" data-number="([^"]+)">([^<]+)</td>', farm_pages.as_html(harvest(found(JOB)))
    )
    assert [(number, shown) for number, shown in cells if shown == "1,234"] == [("1234.000000", "1,234")]
    assert all(float(number) == pytest.approx(float(shown.replace(",", ""))) for number, shown in cells)


def test_markdown_escapes_what_it_would_take_for_its_own() -> None:
    text = farm_pages.as_markdown(ALL)
    table = text[text.index("## Explorations") :].strip().splitlines()[2:]
    bars = {len(re.findall(r"(?<!\\)\|", line)) for line in table}
    assert bars == {len(farm_pages.COLUMNS) + 1}
    assert "it \\<i\\>failed\\</i\\> \\| at \\`line\\` 3" in text
    assert "  zombieproof check 'mine.py:<b>|`x`' --bounds lost=2" in text


def test_what_was_not_made_is_said() -> None:
    some = harvest(found(JOB))
    some.interrupted = True
    assert "2 explorations not made: the farm was interrupted" in farm_pages.as_markdown(some)
    assert "2 explorations not made" in farm_pages.as_html(some)
    assert farm_text.exit_code_of(some) == Exit.INTERRUPTED


def test_the_worst_is_said_of_all_together() -> None:
    broken = found(JOB, verdict="violated", promise="p", steps=2)
    open_one = found(MUTANT, verdict="inconclusive", why="memory")
    cases = [
        (harvest(found(JOB)), "holds", Exit.HOLDS),
        (harvest(found(JOB), open_one), "inconclusive", Exit.INCONCLUSIVE),
        (harvest(found(JOB), open_one, failure(ODD, "x")), "error", Exit.INTERNAL_ERROR),
        (harvest(broken, open_one, failure(ODD, "x")), "violated", Exit.VIOLATED),
    ]
    assert [(verdict_of(one.entries), farm_text.exit_code_of(one)) for one, *_ in cases] == [
        (verdict, code) for _, verdict, code in cases
    ]


def test_a_row_has_every_column_of_the_schema_in_its_type() -> None:
    types = {"string": str, "long": int, "double": float, "boolean": bool, "counts": dict}
    for entry in ALL.entries:
        row = row_of(entry)
        assert list(row) == [column.name for column in SCHEMA]
        assert all(row[c.name] is None or type(row[c.name]) is types[c.kind] for c in SCHEMA)
