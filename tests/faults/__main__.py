"""``python -m tests.faults``: write docs/faults.md."""

from tests.faults.copies import ROOT
from tests.faults.page import PAGE, page
from tests.faults.table import FAULTS

if __name__ == "__main__":
    (ROOT / PAGE).write_text(page(FAULTS), encoding="utf-8")
