"""Each anomaly by a history that has it, and its nearest legal neighbours: what differs is said in the name."""

from typing import NamedTuple

from zombieproof.traces.history.anomalies import Anomaly


class Row(NamedTuple):
    """A sentence, what is to be found, and the history."""

    name: str
    found: frozenset[Anomaly]
    text: str


def row(name: str, text: str, *found: Anomaly) -> Row:
    return Row(name, frozenset(found), text)


SENT = "A init x; A has x; A begin 1; A send v t; A ack v 0"
BOTH = f"{SENT}; A send w u; A ack w 0"
DONE = "A commit; A committed"
MIXED = f"{SENT}; B begin 1; B send w t; B ack w 1; B commit; B committed; {DONE}"
COPY = "C init x; C has x; C begin 1; C send o t of g/in@0; C ack o 0; C offsets g in=1; C offsets ok"
COPIED = f"{COPY}; C commit; C committed"

TWO = "P send i t; P ack i 0; P send j t; P ack j 1"
MADE = "C begin 1; C send o u of g/t@0; C ack o 0"
ENDED = "C commit; C committed"
AGAIN = "D begin 1; D send o2 t of g/in@0; D ack o2 2"

TABLE = (
    # ---------------------------------------------------------------- duplicates
    row(
        "one record at two offsets",
        f"{SENT}; {DONE}; R reads t 0; R got v t 0; R got v t 2",
        Anomaly.DUPLICATE,
        Anomaly.MOVED_WRITE,
    ),
    row(
        "one record of unknown offset at two",
        "A send v t; A lost v; U sees t 0; U got v t 0; U got v t 1",
        Anomaly.DUPLICATE,
    ),
    row(
        "one record at two offsets for two readers",
        "A send v t; A lost v; R reads t 0; R got v t 3; S reads t 4; S got v t 5",
        Anomaly.DUPLICATE,
    ),
    row(
        "one record read again by who starts again",
        f"{SENT}; {DONE}; R reads t 0; R got v t 0; R reads t 0; R got v t 0",
    ),
    row("one record read by two readers", f"{SENT}; {DONE}; R reads t 0; R got v t 0; S reads t 0; S got v t 0"),
    row(
        "two records of one application that sends again under another name",
        "A send v t; A lost v; A send v2 t; A ack v2 1; R reads t 0; R got v t 0; R got v2 t 1",
    ),
    # ---------------------------------------------------------------- lost writes
    row(
        "a committed record that a reader passes", f"{SENT}; {DONE}; R reads t 0; R final t 2 of 2", Anomaly.LOST_WRITE
    ),
    row(
        "a committed record behind the end of the log",
        f"{SENT}; {DONE}; R reads t 0; R final t 0 of 0",
        Anomaly.LOST_WRITE,
    ),
    row(
        "a record of nobody's transaction that a reader passes",
        "A send v t; A ack v 0; B send w t; B ack w 1; R reads t 0; R got w t 1",
        Anomaly.LOST_WRITE,
    ),
    row(
        "a committed record, nobody knows where, that is not in a whole log",
        f"A begin 1; A send v t; A ack v ?; {DONE}; R reads t 0; R final t 2 of 2",
        Anomaly.LOST_WRITE,
    ),
    row(
        "a committed record, nobody knows where, that is in a whole log",
        f"A begin 1; A send v t; A ack v ?; {DONE}; R reads t 0; R got v t 1; R final t 3 of 3",
    ),
    row(
        "a committed record, nobody knows where, that is not in the rest of a log",
        f"A begin 1; A send v t; A ack v ?; {DONE}; R reads t 1; R final t 2 of 2",
    ),
    row(
        "an acknowledged record that even read_uncommitted passes",
        f"{SENT}; A abort; A aborted; U sees t 0; U final t 2 of 2",
        Anomaly.LOST_WRITE,
    ),
    row("a committed record in front of where a reader starts", f"{SENT}; {DONE}; R reads t 1; R final t 2 of 2"),
    row("a committed record that a reader has not reached", f"{SENT}; {DONE}; R reads t 0"),
    row("an acknowledged record that is aborted", f"{SENT}; A abort; A aborted; R reads t 0; R final t 2 of 2"),
    row("a record of unknown outcome that is acknowledged after all", "A send v t; A lost v; A ack v 0"),
    row("a record of unknown outcome that is not there", "A send v t; A lost v; R reads t 0; R final t 0 of 0"),
    row(
        "a record that is acknowledged after the final read was asked for",
        "R reads t 0; A send v t; R final t 0 of 0; A ack v 0",
    ),
    row("an acknowledged record of a commit of unknown outcome", f"{SENT}; A commit; R reads t 0; R final t 2 of 2"),
    # ---------------------------------------------------------------- moved, phantom, reordered
    row(
        "a record at another offset than acknowledged", f"{SENT}; {DONE}; R reads t 0; R got v t 1", Anomaly.MOVED_WRITE
    ),
    row("a record at its offset behind a gap", "A send v t; A ack v 5; R reads t 0; R got v t 5"),
    row("a record that nobody sent", "R reads t 0; R got v t 0", Anomaly.PHANTOM_READ),
    row("a record in another partition", f"{SENT}; {DONE}; R reads u 0; R got v u 0", Anomaly.PHANTOM_READ),
    row("a record before it was sent", "R reads t 0; R got v t 0; A send v t; A ack v 0", Anomaly.PHANTOM_READ),
    row("a refused record that is there", "A send v t; A fail v; R reads t 0; R got v t 0", Anomaly.PHANTOM_READ),
    row("a record that is read before its acknowledgement", "A send v t; R reads t 0; R got v t 0; A ack v 0"),
    row("two records in the wrong order", "A send v t; A send w t; A ack v 1; A ack w 0", Anomaly.REORDERED_WRITES),
    row(
        "two records in the wrong order, as a reader sees",
        "A send v t; A send w t; A lost v; A ack w 0; R reads t 0; R got w t 0; R got v t 1",
        Anomaly.REORDERED_WRITES,
    ),
    row("two records of two processes in the other order", "A send v t; B send w t; A ack v 1; B ack w 0"),
    row("two records in two partitions", "A send v t; A send w u; A ack v 1; A ack w 0"),
    row("two records acknowledged in the other order", "A send v t; A send w t; A ack w 1; A ack v 0"),
    # ---------------------------------------------------------------- aborted, dirty
    row(
        "a record of an aborted transaction",
        f"{SENT}; A abort; A aborted; R reads t 0; R got v t 0",
        Anomaly.ABORTED_READ,
    ),
    row(
        "a record of a commit that failed",
        f"{SENT}; A commit; A end failed; R reads t 0; R got v t 0",
        Anomaly.ABORTED_READ,
    ),
    row("a record of a transaction that nobody ended", f"{SENT}; R reads t 0; R got v t 0", Anomaly.ABORTED_READ),
    row("a record of an abort without an answer", f"{SENT}; A abort; R reads t 0; R got v t 0", Anomaly.ABORTED_READ),
    row(
        "a record of an aborted transaction under read_uncommitted",
        f"{SENT}; A abort; A aborted; U sees t 0; U got v t 0",
    ),
    row("a record of a commit without an answer", f"{SENT}; A commit; R reads t 0; R got v t 0"),
    row(
        "a record of a commit that was answered with fenced",
        f"{SENT}; A commit; A end fenced; R reads t 0; R got v t 0",
    ),
    row(
        "a record of a commit of unknown outcome whose abort failed",
        f"{SENT}; A commit; A end lost; A abort; A end failed; R reads t 0; R got v t 0",
    ),
    row("a record before its commit was asked for", f"{SENT}; R reads t 0; R got v t 0; {DONE}", Anomaly.DIRTY_READ),
    row("a record between the commit and its answer", f"{SENT}; A commit; R reads t 0; R got v t 0; A committed"),
    row("an open record under read_uncommitted", f"{SENT}; U sees t 0; U got v t 0; {DONE}"),
    # ---------------------------------------------------------------- torn, hanging
    row(
        "half a transaction of unknown outcome",
        f"{BOTH}; A commit; R reads t 0; R got v t 0; S reads u 0; S final u 2 of 2",
        Anomaly.TORN_TRANSACTION,
    ),
    row(
        "half a committed transaction",
        f"{BOTH}; {DONE}; R reads t 0; R got v t 0; R reads u 0; R final u 2 of 2",
        Anomaly.TORN_TRANSACTION,
        Anomaly.LOST_WRITE,
    ),
    row(
        "half a transaction, and the other half behind the end of the log",
        f"{BOTH}; A commit; R reads t 0; R got v t 0; R reads u 0; R final u 0 of 0",
        Anomaly.TORN_TRANSACTION,
    ),
    row(
        "half a transaction that read_uncommitted passes",
        f"{BOTH}; A commit; R reads t 0; R got v t 0; U sees u 0; U final u 2 of 2",
        Anomaly.LOST_WRITE,
    ),
    row(
        "half an aborted transaction",
        f"{BOTH}; A abort; A aborted; R reads t 0; R got v t 0; R reads u 0; R final u 2 of 2",
        Anomaly.ABORTED_READ,
    ),
    row(
        "a transaction whose records are there and whose offsets are not",
        f"{COPY}; C commit; R reads t 0; R got o t 0; F fetch g in=-1",
        Anomaly.TORN_TRANSACTION,
    ),
    row(
        "a transaction whose offsets are there and whose records are not",
        f"{COPY}; C commit; F fetch g in=1; R reads t 0; R final t 2 of 2",
        Anomaly.TORN_TRANSACTION,
    ),
    row(
        "a whole transaction of unknown outcome",
        f"{BOTH}; A commit; R reads t 0; R got v t 0; S reads u 0; S got w u 0; S final u 2 of 2",
    ),
    row(
        "nothing of a transaction of unknown outcome",
        f"{BOTH}; A commit; R reads t 0; R final t 2 of 2; S reads u 0; S final u 2 of 2",
    ),
    row(
        "half a transaction where the other half was not reached",
        f"{BOTH}; A commit; R reads t 0; R got v t 0; S reads u 0",
    ),
    row(
        "half a transaction whose other record was never acknowledged",
        f"{SENT}; A send w u; A commit; R reads t 0; R got v t 0; S reads u 0; S final u 2 of 2",
    ),
    row(
        "a transaction whose offsets are there for who waits",
        f"{COPY}; C commit; R reads t 0; R got o t 0; F peek g in=-1; F fetch g in=1",
    ),
    row("a reader that is held back for ever", f"{SENT}; R reads t 0; R final t 0 of 1", Anomaly.HANGING_TRANSACTION),
    row("a reader of everything that stops early", f"{SENT}; U sees t 0; U got v t 0; U final t 1 of 2"),
    row("a reader at the end of an aborted log", f"{SENT}; R reads t 0; R final t 2 of 2"),
    # ---------------------------------------------------------------- readers
    row(
        "a reader that gets an offset again",
        "A send v t; A ack v 0; R reads t 0; R got v t 0; R got v t 0",
        Anomaly.READER_GOES_BACK,
    ),
    row(
        "a reader that goes back",
        "A send v t; A ack v 0; B send w t; B ack w 1; R reads t 0; R got w t 1; R got v t 0",
        Anomaly.READER_GOES_BACK,
    ),
    row(
        "a reader in front of where it started",
        "A send v t; A ack v 0; R reads t 1; R got v t 0",
        Anomaly.READER_GOES_BACK,
    ),
    row(
        "a reader that is sent back",
        "A send v t; A ack v 0; A send w t; A ack w 1; R reads t 0; R got v t 0; R got w t 1; R reads t 0; R got v t 0",
    ),
    row(
        "a reader that buffers and gets what was committed first first",
        f"{MIXED}; H holds t 0; H got w t 1; H got v t 0; H final t 4 of 4",
    ),
    row(
        "a reader that buffers and is handed an offset again",
        f"{MIXED}; H holds t 0; H got w t 1; H got v t 0; H got w t 1",
        Anomaly.READER_GOES_BACK,
    ),
    row(
        "a reader that buffers and gets a transaction backwards",
        f"{SENT}; A send w t; A ack w 1; {DONE}; H holds t 0; H got w t 1; H got v t 0",
        Anomaly.READER_GOES_BACK,
    ),
    row("a reader that buffers and holds the older one back", f"{MIXED}; H holds t 0; H got w t 1"),
    row(
        "a reader that buffers and forgets the older one",
        f"{MIXED}; H holds t 0; H got w t 1; H final t 4 of 4",
        Anomaly.LOST_WRITE,
    ),
    row(
        "a reader that buffers and gets what is open",
        f"{SENT}; H holds t 0; H got v t 0; {DONE}",
        Anomaly.DIRTY_READ,
    ),
    row(
        "a reader of two partitions",
        "A send v t; A ack v 5; A send w u; A ack w 0; R reads t 0; R reads u 0; R got v t 5; R got w u 0",
    ),
    row(
        "two records at one offset",
        "A send v t; B send w t; R reads t 0; R got v t 0; S reads t 0; S got w t 0",
        Anomaly.READERS_DISAGREE,
    ),
    row(
        "a record that one reader gets and one passes",
        f"{SENT}; A commit; R reads t 0; R got v t 0; S reads t 0; S final t 2 of 2",
        Anomaly.READERS_DISAGREE,
        Anomaly.TORN_TRANSACTION,
    ),
    row(
        "a record of nobody's that one reader gets and one passes",
        "A send v t; A lost v; R reads t 0; R got v t 0; S reads t 0; S final t 2 of 2",
        Anomaly.READERS_DISAGREE,
    ),
    row(
        "a committed record that read_uncommitted passes",
        "A send v t; A lost v; R reads t 0; R got v t 0; U sees t 0; U final t 2 of 2",
        Anomaly.READERS_DISAGREE,
    ),
    row(
        "a record that one reader gets and one has not reached",
        "A send v t; A lost v; R reads t 0; R got v t 0; S reads t 0; S final t 0 of 0",
    ),
    row(
        "an aborted record that only read_uncommitted gets",
        f"{SENT}; A abort; A aborted; U sees t 0; U got v t 0; R reads t 0; R final t 2 of 2",
    ),
    # ---------------------------------------------------------------- offsets of groups
    row("an offset that nobody committed", "F fetch g in=3", Anomaly.UNCOMMITTED_OFFSET),
    row(
        "an offset of an aborted transaction",
        f"{COPY}; C abort; C aborted; F fetch g in=1",
        Anomaly.UNCOMMITTED_OFFSET,
        Anomaly.OFFSET_AHEAD_OF_OUTPUT,
    ),
    row(
        "an offset before its commit was asked for",
        f"{COPY}; F fetch g in=1; {ENDED}",
        Anomaly.UNCOMMITTED_OFFSET,
    ),
    row("an offset that was refused", "C offsets g in=1; C offsets failed; F fetch g in=1", Anomaly.UNCOMMITTED_OFFSET),
    row("an offset of another group", f"{COPIED}; F fetch h in=1", Anomaly.UNCOMMITTED_OFFSET),
    row("an offset of a commit without an answer", f"{COPY}; C commit; F fetch g in=1"),
    row("an offset of nobody's transaction", "C offsets g in=1; C offsets ok; F fetch g in=1"),
    row("an offset of nobody's transaction without an answer", "C offsets g in=1; F fetch g in=1"),
    row("an offset that was committed and is gone", f"{COPIED}; F fetch g in=-1", Anomaly.LOST_OFFSET),
    row(
        "an offset of nobody's transaction that is gone",
        "D offsets g in=1; D offsets ok; F fetch g in=-1",
        Anomaly.LOST_OFFSET,
    ),
    row(
        "an offset that is older than a committed one",
        f"{COPIED}; C begin 2; C offsets g in=2; C offsets ok; {ENDED}; F fetch g in=1",
        Anomaly.LOST_OFFSET,
    ),
    row(
        "an offset that was asked for before the newer one was told",
        f"{COPIED}; C begin 2; C offsets g in=2; C offsets ok; C commit; F fetch g in=1; C committed",
    ),
    row("an offset that is older and did not wait", f"{COPIED}; F peek g in=-1"),
    row("an offset that somebody set back", f"{COPIED}; D offsets g in=0; D offsets ok; F fetch g in=0"),
    row("an offset that may have been set back", f"{COPIED}; D offsets g in=0; D offsets lost; F fetch g in=0"),
    row(
        "an offset past an input whose output is aborted",
        f"{COPY}; C abort; C aborted; D begin 1; D offsets g in=1; D offsets ok; D commit; D committed",
        Anomaly.OFFSET_AHEAD_OF_OUTPUT,
    ),
    row(
        "an offset past an input that nobody has dealt with",
        f"{TWO}; {MADE}; C offsets g t=2; C offsets ok; {ENDED}",
        Anomaly.OFFSET_AHEAD_OF_OUTPUT,
    ),
    row(
        "an offset past an input that was left out on purpose",
        f"{TWO}; {MADE}; C offsets g t=2 of g/t@1; C offsets ok; {ENDED}",
    ),
    row(
        "an offset past an input that was dealt with in the second try",
        f"{COPY}; C abort; C aborted; C begin 2; C send o2 t of g/in@0; C ack o2 2; "
        f"C offsets g in=1; C offsets ok; {ENDED}; F fetch g in=1",
    ),
    row(
        "an offset past a gap that is no record",
        f"P send i t; P ack i 0; {MADE}; C offsets g t=2; C offsets ok; {ENDED}",
    ),
    row(
        "an input that is processed twice",
        f"{COPIED}; {AGAIN}; D offsets g in=1; D offsets ok; D commit; D committed",
        Anomaly.INPUT_PROCESSED_TWICE,
    ),
    row(
        "an input that is processed twice outside of transactions",
        "C send o t of g/in@0; C ack o 0; D send o2 t of g/in@0; D ack o2 1",
        Anomaly.INPUT_PROCESSED_TWICE,
    ),
    row(
        "an input that is processed again after a commit that is seen",
        f"{COPY}; C commit; R reads t 0; R got o t 0; "
        "D begin 1; D send o2 u of g/in@0; D ack o2 2; D commit; D committed",
        Anomaly.INPUT_PROCESSED_TWICE,
    ),
    row(
        "an input that is processed again after an abort",
        f"{COPY}; C abort; C aborted; {AGAIN}; D commit; D committed",
    ),
    row(
        "an input that two groups process",
        f"{COPIED}; D begin 1; D send o2 t of h/in@0; D ack o2 2; D commit; D committed",
    ),
    row(
        "an input of which one transaction makes two records",
        f"C begin 1; C send o t of g/in@0; C ack o 0; C send o2 t of g/in@0; C ack o2 1; {ENDED}",
    ),
    # ---------------------------------------------------------------- instances
    row(
        "a zombie that sends and is committed",
        f"A init x; A has x; A begin 1; B init x; B has x; A send v t; A ack v 0; {DONE}",
        Anomaly.ZOMBIE_WRITE,
    ),
    row(
        "a zombie whose commit is asked for afterwards",
        f"{SENT}; B init x; B has x; A commit; A committed",
        Anomaly.ZOMBIE_WRITE,
    ),
    row(
        "a zombie whose commit is only seen",
        f"{SENT}; B init x; B has x; A commit; R reads t 0; R got v t 0",
        Anomaly.ZOMBIE_WRITE,
    ),
    row(
        "a zombie whose acknowledged record is not committed",
        "A init x; A has x; A begin 1; B init x; B has x; A send v t; A ack v 0; A abort",
    ),
    row(
        "a commit that was asked for before the successor was there",
        f"{SENT}; A commit; B init x; B has x; A committed",
    ),
    row("a commit beside another transactional id", f"{SENT}; B init y; B has y; {DONE}"),
    row(
        "a commit of one of two that took the id over at once",
        f"B init x; A init x; B has x; A has x; A begin 1; A send v t; A ack v 0; {DONE}",
    ),
    row(
        "a commit of one that was told late that it has the id",
        "A init x; B init x; B has x; A has x; B begin 1; B send v t; B ack v 0; B commit; B committed",
    ),
    row("a successor that failed to get the id", f"{SENT}; B init x; B init failed; {DONE}"),
    row(
        "a fenced process that sends",
        "A send v t; A fenced v; A send w t; A ack w 0",
        Anomaly.ACKNOWLEDGED_AFTER_FENCED,
    ),
    row("a fenced process that commits", f"{SENT}; A send w t; A fenced w; {DONE}", Anomaly.ACKNOWLEDGED_AFTER_FENCED),
    row(
        "a fenced process that commits offsets",
        "A send w t; A fenced w; A offsets g in=1; A offsets ok",
        Anomaly.ACKNOWLEDGED_AFTER_FENCED,
    ),
    row("a fenced process whose earlier record is acknowledged", "A send v t; A send w u; A fenced w; A ack v 0"),
    row(
        "a fenced process that tries again and is fenced again",
        f"{SENT}; A send w t; A fenced w; A send z t; A fenced z; A offsets g in=1; A offsets failed; "
        "A commit; A end fenced",
    ),
    row("a process whose neighbour is fenced", "B send w t; B fenced w; A send v t; A ack v 0"),
    # ---------------------------------------------------------------- everything at once
    row(
        "two producers, a crash and a copy that nobody can fault",
        f"{BOTH}; A commit; B init x; B has x; B begin 1; B send z t; B ack z 2; R reads t 0; R got v t 0; "
        "B commit; R got z t 2; B committed; "
        "S reads u 0; S got w u 0; R final t 4 of 4; S final u 2 of 2",
    ),
)
