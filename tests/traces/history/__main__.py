"""`python -m tests.traces.history` writes docs/histories.md and docs/history-schema.json."""

from tests.traces.history.page import write

write()
