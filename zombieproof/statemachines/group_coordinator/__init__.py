"""The group coordinator: its table and its steps.

- ``lookup``: who answers for a group.
- ``commits``: a commit of offsets on its way to the log.
- ``offsets``: what the log does to offsets, and what a reader is told.
"""

from zombieproof.statemachines.group_coordinator.table import GROUP_COORDINATOR as GROUP_COORDINATOR
