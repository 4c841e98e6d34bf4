"""How the page of a farm looks, and what makes its table sort: both stand in the page itself."""

from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #cf222e; --open: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --good: #3fb950; --bad: #ff7b72; --open: #d29922; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 110rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
pre { background: #8882; padding: .5rem .75rem; overflow-x: auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
th { border-bottom: 2px solid var(--line); }
th button { all: unset; cursor: pointer; font-weight: 600; }
th button:focus-visible { outline: 2px solid currentColor; }
th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
tbody tr:hover { background: #8881; }
.as-expected { color: var(--good); }
.unexpected, .failed { color: var(--bad); font-weight: 600; }
.inconclusive { color: var(--open); font-weight: 600; }
input { font: inherit; padding: .2rem .4rem; min-width: 16rem; }
"""

SCRIPT: Final = """
"use strict";
const body = document.querySelector("#results tbody");
const rows = Array.from(body.rows);
const heads = Array.from(document.querySelectorAll("#results th"));
const value = (row, column) => {
  const cell = row.cells[column];
  if (!cell.classList.contains("number")) return cell.textContent;
  return "number" in cell.dataset ? Number(cell.dataset.number) : null;
};
const compare = (one, other) => {
  if (one === null || other === null) return (one === null) - (other === null);
  return typeof one === "number" ? one - other : one.localeCompare(other);
};
heads.forEach((head, column) => head.addEventListener("click", () => {
  const down = head.getAttribute("aria-sort") === "ascending";
  heads.forEach(each => each.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  rows.sort((one, other) => {
    const [a, b] = [value(one, column), value(other, column)];
    if (a === null || b === null) return compare(a, b);
    return down ? compare(b, a) : compare(a, b);
  });
  body.append(...rows);
}));
const words = document.querySelector("#words");
const shown = document.querySelector("#shown");
words.addEventListener("input", () => {
  const wanted = words.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let count = 0;
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !wanted.every(word => text.includes(word));
    count += !row.hidden;
  }
  shown.textContent = wanted.length ? `${count} of ${rows.length}` : "";
});
"""
