"""Where logs begin, as other evidence tells: what was given may begin later than the log does.

Nothing in a log says where it begins, and the name of a segment only says where the segment does. But offset 0 is the
first one, retention moves the first leader epoch together with the log start, and brokers write the log start into a
checkpoint and into their logs.
Source: ``LeaderEpochFileCache.truncateFromStart``; ``UnifiedLog.maybeIncrementLogStartOffset``.
"""

from pathlib import Path

from zombieproof.traces.evidence import Evidence, Lost, PartitionLog
from zombieproof.traces.readers.files import base_offset_of, plain_name

CHECKPOINT = "log-start-offset-checkpoint"


def look_for_beginnings(evidence: Evidence) -> None:
    """Note in each log to be judged what is lost at its beginning, or what shows that nothing is."""
    for log in evidence.partition_logs().values():
        if log.start_offset > 0 and not log.begin_shown_by:
            log.begin_shown_by = _look_at_epochs(log, evidence) or _reported(log, evidence)


def _look_at_epochs(log: PartitionLog, evidence: Evidence) -> str:
    """Whether the first leader epoch begins with the log: one before it shows that a segment is lost.

    Where the first segment that is there holds the log start, records before it were deleted, and no segment is lost.
    """
    bases = [base for file in log.files if (base := base_offset_of(file)) is not None]
    if bases and min(bases) < log.start_offset:
        return ""
    folders = {str(Path(file).parent) for file in log.files}
    starts = [each for each in evidence.epoch_starts if each.folder in folders and each.offset <= log.start_offset]
    if not starts:
        return ""
    first = min(starts, key=lambda each: each.offset)
    why = f"its first leader epoch begins at {first.offset} ({first.folder}/leader-epoch-checkpoint)"
    if first.offset == log.start_offset:
        return why
    log.lost.insert(0, Lost(first.offset, log.start_offset - 1, why))
    return ""


def _reported(log: PartitionLog, evidence: Evidence) -> str:
    """Where a broker says that it moved the log start to where the log begins; empty if none does."""
    for line in evidence.broker_lines:
        is_here = line.statement == "log_start_moved" and log.topic_partition in line.places
        if is_here and line.fields.get("offset") == str(log.start_offset):
            return f"{plain_name(line.file)}, line {line.line}, moves the log start there"
    return ""
