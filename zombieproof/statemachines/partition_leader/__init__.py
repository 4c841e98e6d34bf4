"""The partition leader: its table and its steps.

- ``verification``: a batch arrives, and the coordinator's word on it.
- ``batches``, ``markers``: at the log, in the log, and met in a log.
- ``forgetting``: expiry, and memory that is lost with its leader.
- ``offsets``: what the partition adds up, for readers.
- ``front_door``: what is asked before the log is looked at.
"""

from zombieproof.statemachines.partition_leader.table import PARTITION_LEADER as PARTITION_LEADER
