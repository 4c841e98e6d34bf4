"""What the engine hands to compiled code and gets back: buffers, places of counters, names of phases and answers."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

# --- the buffers ------------------------------------------------------------------------------------------------------


ALL_BITS: Final = (1 << 64) - 1  # of a word


def words_of_bits(count: int) -> int:
    """Return how many words of 64 bits it takes to have so many bits."""
    return -(-count // 64)


class States(NamedTuple):
    """Rows of states: `words` (n, WORDS) of uint64 and `records` (n,), the same memory.

    `weights` (n, 2) of uint64, of rows that are expanded: what `fingerprints.weight` says of each. There are
    none of rows that are written as they are.
    """

    words: Any
    records: Any
    weights: Any


class Candidates(NamedTuple):
    """What expand writes: states, fingerprints (n,), parents (n,), actions (n,), and `order` (n,), what is looked up.

    `changes` (n, words / 64) says in bits which words differ from the parent's. Deduplicate writes `fresh` (n,), 1 for
    what is new. `order` has the candidates that are not in `recent` (RECENT,), the fingerprints that were met last by
    this thread: all of them are in the table, or are to be looked up before. No two threads share it.
    """

    states: States
    prints: Any
    parents: Any
    actions: Any
    order: Any
    fresh: Any
    changes: Any
    recent: Any


class Parents(NamedTuple):
    """What is expanded: states that are unpacked, and a block of a level that they are unpacked from (`packing`).

    `packed` are its bytes; `units` (n + 1, 2) say of each unit at which byte and with which row of the block it begins.
    """

    states: States
    packed: Any
    units: Any


class Slots(NamedTuple):
    """Fingerprints: `table` (regions, slots) of uint64, 0 where nothing is, and of each region how many are `used`."""

    table: Any
    used: Any


class Kept(NamedTuple):
    """Where gather writes: `packed` states in `units`; for each fingerprint, parent's index (u4) and action (u2).

    `last` (1, WORDS) is the state that was written last.
    """

    last: Any
    packed: Any
    units: Any
    prints: Any
    parents: Any
    actions: Any


class Surroundings(NamedTuple):
    """What a step needs beside its state: `setup` (1,), `trail` (1,) with its words (1, n), `coverage` of int64."""

    setup: Any
    trail: Any
    trail_words: Any
    coverage: Any


class Way(NamedTuple):
    """A way of a unit through the phases: where its parents are unpacked, its candidates, what a step needs, counters.

    Each thread has `WAYS` of them.
    """

    parents: Parents
    out: Candidates
    around: Surroundings
    tally: Any


WAYS: Final = 2
NO_ACTION: Final = -1

# --- places in `tally` ------------------------------------------------------------------------------------------------

PARENT: Final = 0  # next parent to expand, of those that are unpacked
LAST: Final = 1  # end of the parents
BASE: Final = 2  # index in the level of parent 0
STAGE: Final = 3
FOUND: Final = 4  # candidates in the buffer
FIRST: Final = 5  # parent of the first candidate in the buffer
POSITION: Final = 6  # next place in `order` to deduplicate
GROWN: Final = 7  # how often the table has grown in this batch
QUEUED: Final = 8  # how many candidates are in `order`
FRESH: Final = 9  # candidates kept of the buffer
FILL: Final = 10  # next free row of the next level's block
INDEX: Final = 11  # index in the next level of the next row
GENERATED: Final = 12
VIOLATED: Final = 13  # promise, or -1
CULPRIT: Final = 14  # last candidate that counts when gather stops
RESULT: Final = 15  # of a single step
SKIP: Final = 16  # candidates not to be counted for coverage
SIGN: Final = 17  # what coverage counts
LIMIT: Final = 18  # states that the next level may have, or steps of walks to take
RANDOM: Final = 19  # state of the random numbers of walks, never 0
DEPTH: Final = 20  # steps of the walk under way
WALKS: Final = 21  # walks that have ended
DEEPEST: Final = 22  # steps of the longest walk
UNFINISHED: Final = 23  # promise that is broken at rest, or -1; the parent is the one before PARENT
UNIT: Final = 24  # next unit to unpack, in its block
UNITS: Final = 25  # end of the units
BLOCK: Final = 26  # index in the level of row 0 of the block
BYTES: Final = 27  # next free byte of the next level's block
FILLED: Final = 28  # how often in this batch what is kept goes into other arrays, as those before are full
DRAINS: Final = 29  # in the tally of the first way of a thread: 1 when it takes no unit until its own are settled
SIFTED: Final = 30  # 1 when `order` is without those candidates that the table had before the turn came
WITNESSES: Final = 32  # for each promise: index in the next level of its first witness, or -1
ACTIVE: Final = 128  # for each promise: 0 not judged, ALWAYS, SOMETIMES or AT_REST
BOUNDS: Final = 224  # for each code of bound_hit: how many states
JUDGED: Final = 256  # the promises that are judged in every state, as bits; two words
OLDEST: Final = 258  # in the tally of the first way of a thread: the way that has been expanded first, of ...
PENDING: Final = 259  # ... so many that wait for their turn
EXPECTED: Final = 260  # those of them that are expected to hold, of the kind *always*, as bits; two words
# Only in the tally that all threads of a batch share: what they write at once lies in cache lines of its own.
NEXT: Final = 272  # next unit to be taken
LOOKED_UP: Final = 280  # the unit whose candidates are looked up now
TURN: Final = 288  # the unit whose new states are kept and judged now
ENDED: Final = 296  # 1 when nobody has a turn any more
PLACES: Final = 304
MAX_PROMISES: Final = 96
MAX_BOUNDS: Final = 32
ALWAYS: Final = 1
SOMETIMES: Final = 2
AT_REST: Final = 3
LEADS_TO: Final = 4

# phases
RUN: Final = 0
EXPAND: Final = 1
DEDUPLICATE: Final = 2
GATHER: Final = 3
STEP: Final = 4
JUDGE: Final = 5
UNPACK: Final = 6

# answers of RUN
DONE: Final = 0
TABLE_FULL: Final = 1
BLOCK_FULL: Final = 2
STOPPED: Final = 3
WAITING: Final = 4  # for a turn that does not come soon
RENEWED: Final = 5  # another thread has let the table grow, or has filled what is kept
NEVER: Final = 6  # its turn does not come any more: another thread has stopped
DRAINED: Final = 7  # all units of a thread that drains are settled

MOST_SEED: Final = (1 << 32) - 1  # of random walks

REGION_BITS: Final = 6
REGIONS: Final = 1 << REGION_BITS
RECENT: Final = 1 << 14  # fingerprints
BUCKET: Final = 8  # slots of the table that are compared at once: a cache line
MOST_THREADS: Final = 64
