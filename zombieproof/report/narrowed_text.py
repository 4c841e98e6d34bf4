"""What was asked for, and how much was left out for it."""

from zombieproof.report.screen import Screen, plural
from zombieproof.traces.readers.timestamps import utc
from zombieproof.traces.verdict.report import Narrowed


def show_narrowed(screen: Screen, narrowed: Narrowed | None) -> None:
    """Write the topics and the window, if any were given."""
    if narrowed is None:
        return
    asked = []
    if narrowed.topics:
        asked.append(f"to topics {', '.join(narrowed.topics)}")
    if narrowed.since_ms is not None:
        asked.append(f"from {utc(narrowed.since_ms)}")
    if narrowed.until_ms is not None:
        asked.append(f"up to {utc(narrowed.until_ms)}")
    screen.say(f"narrowed {' '.join(asked)}", "bold")
    if narrowed.left_out:
        screen.say(f"topics not read: {', '.join(narrowed.left_out)}", indent=2, hang=2)
    findings = plural(narrowed.findings_left_out, "finding")
    if narrowed.since_ms is not None or narrowed.until_ms is not None:
        screen.say(f"outside the window: {findings}, {plural(narrowed.transactions_left_out, 'transaction')}", indent=2)
        screen.say(
            "the verdict is about what touches the window; offsets are those of the whole logs", indent=2, hang=2
        )
