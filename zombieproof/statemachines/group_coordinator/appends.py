"""What a group coordinator does while a commit is in its log and replicas do not have it yet.

Theory of operation: append and memory are one step, the answer is another one, behind the replicas. Between them a
reader, a marker, another generation or another leader may come.
Source: ``CoordinatorRuntime.java``; the decisions of ``group_log``.
"""

from zombieproof.model.decisions.group_log import answers_with_append, is_seen, keeps_what_failed, tells_with_append

__all__ = ["answers_with_append", "is_seen", "keeps_what_failed", "tells_with_append"]
