"""The group coordinator: its table and its steps."""

from zombieproof.statemachines.group_coordinator.table import GROUP_COORDINATOR as GROUP_COORDINATOR
