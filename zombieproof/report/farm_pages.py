"""What a farm found, as pages: Markdown, and HTML that needs nothing beside it and is sorted by a click."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple

from zombieproof.farm.found import Entry
from zombieproof.report.farm_style import SCRIPT, STYLE
from zombieproof.report.farm_text import counted, remark, totals
from zombieproof.report.pages import table
from zombieproof.report.replay_markdown import code, plain
from zombieproof.report.screen import plural

if TYPE_CHECKING:
    from zombieproof.farm.running import Harvest

TITLE: Final = "zombieproof farm"
COLUMNS: Final = (
    "scenario",
    "rules",
    "mutant",
    "bounds",
    "verdict",
    "outcome",
    "distinct:",
    "generated:",
    "depth:",
    "broken promise",
    "steps:",
    "seconds:",
    "CPU s:",
    "compile s:",
    "peak MiB:",
)
"""The columns of both pages; one that ends with ":" is of numbers."""
_CODES: Final = frozenset({"scenario", "mutant", "broken promise"})


class Cell(NamedTuple):
    """What a cell shows, and the number by which it is sorted, if it is one."""

    text: str
    number: float | None = None


def cells(entry: Entry) -> tuple[Cell, ...]:
    """The row of an exploration."""
    job, found = entry.job, entry.found
    times = (found.seconds, found.cpu_seconds, found.compile_seconds)
    return (
        Cell(job.scenario),
        Cell(job.words),
        Cell(job.mutant),
        Cell(job.within),
        Cell(found.verdict),
        Cell(entry.outcome),
        *(_count(number) for number in (found.distinct, found.generated, found.depth)),
        Cell(found.promise or ""),
        _count(found.steps),
        *(Cell(f"{seconds:.2f}", seconds) for seconds in times),
        Cell(f"{found.peak_mib:,.0f}", found.peak_mib),
    )


def _count(number: int | None) -> Cell:
    return Cell("" if number is None else counted(number), None if number is None else float(number))


# ---------------------------------------------------------------- Markdown


def as_markdown(harvest: Harvest) -> str:
    """The whole report."""
    return "\n".join(_lines(harvest)) + "\n"


def _lines(harvest: Harvest) -> Iterator[str]:
    entries = harvest.entries
    yield from (f"# {TITLE}", "", plain(_headline(harvest)), "")
    odd = [entry for entry in entries if entry.outcome != "as expected"]
    if odd:
        yield from ("## Not as expected", "")
    for entry in odd:
        yield f"- {code(entry.job.name)} ({plain(entry.job.words)}): {entry.outcome}: {plain(remark(entry))}"
        yield from ("", "  ```console", f"  {entry.job.command}", "  ```", "")
    yield from ("## Explorations", "")
    yield table(COLUMNS, [_markdown_cells(entry) for entry in entries]).rstrip()


def _markdown_cells(entry: Entry) -> list[str]:
    titles = [title.removesuffix(":") for title in COLUMNS]
    return [
        # In a table a bar ends a cell even inside of code.
        code(cell.text).replace("|", "\\|") if title in _CODES and cell.text else plain(cell.text)
        for title, cell in zip(titles, cells(entry), strict=True)
    ]


def _headline(harvest: Harvest) -> str:
    left = len(harvest.left)
    said = totals(harvest.entries)
    return f"{said}. {plural(left, 'exploration')} not made: the farm was interrupted." if left else f"{said}."


# ---------------------------------------------------------------- HTML


def as_html(harvest: Harvest) -> str:
    """The whole report as one page: no file beside it, no network."""
    odd = [entry for entry in harvest.entries if entry.outcome != "as expected"]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{TITLE}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{TITLE}</h1>\n<p>{escape(_headline(harvest))}</p>\n"
        f"{_failures(odd)}"
        "<h2>Explorations</h2>\n"
        '<p><label>Show rows with <input id="words" type="search" placeholder="words, such as violated"></label> '
        '<span id="shown" aria-live="polite"></span></p>\n'
        f'<div class="wide"><table id="results">\n{_head()}<tbody>\n'
        f"{''.join(map(_html_row, harvest.entries))}</tbody>\n</table></div>\n"
        f"<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def _failures(odd: Sequence[Entry]) -> str:
    if not odd:
        return ""
    items = "".join(
        f"<li><strong>{escape(entry.job.name)}</strong> ({escape(entry.job.words)}): "
        f'<span class="{_class(entry.outcome)}">{entry.outcome}</span>: {escape(remark(entry))}'
        f"<pre>{escape(entry.job.command)}</pre></li>\n"
        for entry in odd
    )
    return f"<h2>Not as expected</h2>\n<ul>\n{items}</ul>\n"


def _head() -> str:
    heads = (
        f'<th scope="col" class="{"number" if title.endswith(":") else "words"}"><button type="button">'
        f"{escape(title.removesuffix(':'))}</button></th>"
        for title in COLUMNS
    )
    return f"<thead><tr>{''.join(heads)}</tr></thead>\n"


def _html_row(entry: Entry) -> str:
    told = escape(entry.job.command, quote=True)
    return f'<tr title="{told}">{"".join(map(_html_cell, COLUMNS, cells(entry)))}</tr>\n'


def _html_cell(title: str, cell: Cell) -> str:
    words = escape(cell.text)
    if title.endswith(":"):
        sorts = "" if cell.number is None else f' data-number="{cell.number:.6f}"'
        return f'<td class="number"{sorts}>{words}</td>'
    kind = f' class="{_class(cell.text)}"' if title == "outcome" else ""
    return f"<td{kind}>{words}</td>"


def _class(word: str) -> str:
    return word.replace(" ", "-")
