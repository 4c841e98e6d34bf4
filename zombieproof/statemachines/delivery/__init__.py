"""A delivery of rows: its table and its steps."""

from zombieproof.statemachines.delivery.table import DELIVERY as DELIVERY
