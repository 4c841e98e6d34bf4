"""Screening: logs as columns, and a compiled kernel that clears what conforms, so that only the rest is folded.

`walk` and `reading` make columns of segments, one row for each batch. `kernel` goes over them and stops at whatever it
cannot clear; `summaries` are what it leaves of a segment, and merge in the order of the log. The verdict is the fold's
alone (`traces.judging`): what is cleared here, the fold finds nothing in, and what is not, is not judged here.
"""
