"""The partition leader: its table and its steps."""

from zombieproof.statemachines.partition_leader.table import PARTITION_LEADER as PARTITION_LEADER
