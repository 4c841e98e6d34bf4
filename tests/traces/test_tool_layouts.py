"""Tables of tools as pages, spreadsheets, databases and terminals keep them: each is read, or its lines are counted."""

import re
from collections.abc import Callable

import pytest

from tests.traces.test_tool_tables import ALL, COMMAND, DESCRIBE, GROUPS, HANGING, LIST, PRODUCERS, read, values
from zombieproof.traces.readers.tool_tables import holds_tool_output, looks_like_tool_output

TABLES = {"hanging": HANGING, "list": LIST, "describe": DESCRIBE, "producers": PRODUCERS, "groups": GROUPS}


def cells(table: str) -> list[list[str]]:
    is_tabbed = "\t" in table
    lines = [line for line in table.splitlines() if line.strip()]
    return [[cell.strip() for cell in line.split("\t")[:-1]] if is_tabbed else line.split() for line in lines]


def separated(table: str, separator: str) -> str:
    def shown(cell: str) -> str:
        return f'"{cell}"' if separator in cell else cell

    return "".join(separator.join(map(shown, row)) + "\n" for row in cells(table))


def in_html(table: str) -> str:
    head, *rows = cells(table)
    lines = ["".join(f"<th>{cell}</th>" for cell in head)]
    lines += ["".join(f'<td class="a">{cell.replace("&", "&amp;")}</td>' for cell in row) for row in rows]
    return "<table>" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "\n</table>\n"


def in_lines(table: str, between: str = ": ") -> str:
    head, *rows = cells(table)
    return "\n".join("".join(f"{name}{between}{cell}\n" for name, cell in zip(head, row, strict=True)) for row in rows)


LAYOUTS: dict[str, Callable[[str], str]] = {
    "no-break blanks": lambda table: re.sub("[ \t]", "\xa0", table.replace("\t", "  ")),
    "blanks and no-break blanks": lambda table: table.replace("\t", " \xa0"),
    "commas": lambda table: separated(table, ","),
    "semicolons": lambda table: separated(table, ";"),
    "html": in_html,
    "a column on each line": in_lines,
    "equals": lambda table: in_lines(table, "="),
    "psql": lambda table: in_lines(table, " | "),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_read_in_any_layout(name: str, layout: str) -> None:
    text = LAYOUTS[layout](TABLES[name])
    assert looks_like_tool_output(text)
    assert values(read(text)) == values(read(TABLES[name]))
    assert len(values(read(text))) >= 1
    assert not any("not used" in note for note in read(text).notes)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_command_line_names_the_partition_in_any_layout(layout: str) -> None:
    text = COMMAND + LAYOUTS[layout](PRODUCERS)
    assert [row.place for row in read(text).producers] == [("pay", 2)] * 2
    again = f"{text}\n{COMMAND.replace('pay', 'refunds')}{LAYOUTS[layout](PRODUCERS)}"
    assert [row.place for row in read(again).producers] == [("pay", 2)] * 2 + [("refunds", 2)] * 2


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", TABLES)
def test_a_table_far_down_in_a_file_is_found_in_any_layout(name: str, layout: str) -> None:
    text = "nothing of the kind\n" * 5_000 + LAYOUTS[layout](TABLES[name])
    assert holds_tool_output(memoryview(text.encode()))
    assert values(read(text)) == values(read(TABLES[name]))


def test_numbers_of_lines_stay_what_they_are() -> None:
    assert [row.told.line for row in read(separated(PRODUCERS, ",")).producers] == [2, 3]
    assert [row.told.line for row in read(f"a\nb\n{in_html(PRODUCERS)}").producers] == [4, 5]


# ---------------------------------------------------------------- terminals


def padded(table: str) -> str:
    """A table as a terminal shows it, every column as wide as its widest cell."""
    rows = cells(table)
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + "\n" for row in rows)


def wrapped(table: str, width: int) -> str:
    lines = [line[at : at + width] for line in table.splitlines() for at in range(0, len(line), width)]
    return "\n".join(lines) + "\n"


def test_a_header_may_be_followed_by_a_line_of_nothing_but_blanks() -> None:
    table = padded(DESCRIBE.replace("pay-2,a-b-0    ", ",".join(f"pay-{at}" for at in range(20))))
    (row,) = read(wrapped(table, 80)).transactions
    assert row.partitions == frozenset(("pay", at) for at in range(20))


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_a_terminal_wrapped_says_the_same_at_any_width(name: str) -> None:
    table = padded(TABLES[name])
    whole = values(read(table))
    for width in range(30, len(table.splitlines()[0]) + 5):
        text = wrapped(table, width)
        assert looks_like_tool_output(text), width
        assert values(read(text)) == whole, width


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("is_padded", [True, False])
def test_a_table_that_a_terminal_cut_says_nothing_else_at_any_width(name: str, is_padded: bool) -> None:
    table = padded(TABLES[name]) if is_padded else TABLES[name].lstrip("\n")
    places = {(row.place, row.first_offset) for row in read(table).producers}
    states = {(row.transactional_id, row.state) for row in read(table).transactions}
    offsets = {(row.group, row.place, row.offset) for row in read(table).groups}
    for width in range(34, len(table.splitlines()[0]) + 5):
        text = "".join(f"{line[:width]}\n" for line in table.splitlines())
        reports = read(text)
        assert looks_like_tool_output(text), width
        assert {(row.place, row.first_offset) for row in reports.producers} <= places
        assert {(row.transactional_id, row.state) for row in reports.transactions} <= states
        assert {(row.group, row.place, row.offset) for row in reports.groups} <= offsets
        shown = len(reports.producers) + len(reports.transactions) + len(reports.groups)
        unused = sum(int(note.split(": ", 1)[1].split()[0]) for note in reports.notes if "not used" in note)
        assert shown + unused >= len(table.splitlines()) - 1, width


def test_a_table_without_the_columns_that_its_rows_need_is_counted() -> None:
    text = "".join(line.rsplit("\t", 2)[0] + "\n" for line in PRODUCERS.splitlines())
    why = "(the table lacks CurrentTransactionStartOffset)"
    reports = read(f"some words\n{text}\nmore words\n")
    assert not reports.rows
    assert reports.notes == [f"f: 3 lines not used, of kafka-transactions.sh describe-producers {why}"]


# ---------------------------------------------------------------- others


@pytest.mark.parametrize(
    "text",
    [
        "Topic: pay\nPartition: 2\nLeader: 3\n",
        "ProducerId: 31\nthen something else\n",
        "<table><tr><td>ProducerId</td></tr></table>\n",
        "the ProducerId, the TransactionalId and the rest\n",
        'a,b\n"unclosed, ProducerId\n',
        "<td>\n<td\n",
    ],
)
def test_what_only_looks_like_such_a_layout_is_not_read(text: str) -> None:
    assert not looks_like_tool_output(text)
    assert values(read(text)) == []
    for table in ALL.values():
        assert values(read(f"{table}\n{text}")) == values(read(table))
