"""The transaction coordinator: its table and its steps."""

from zombieproof.statemachines.coordinator.table import COORDINATOR as COORDINATOR
