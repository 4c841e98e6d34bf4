"""Moving machines in the checker: the table is asked for a subject, and the step's trail notes it."""

from zombieproof.checker.transactions.state import Trail
from zombieproof.statemachines import notes


def move(trail: Trail, machine: int, subject: int, state: int, event: int) -> int:
    """The state after `event`; the move is `subject`'s."""
    trail.subject = subject
    return notes.move(trail, machine, state, event)


def note_answer(trail: Trail, error: int) -> None:
    """Remember the answer that sets out."""
    trail.answered = True
    trail.error = error
