"""The read committed consumer: its table, and its steps (``reading``)."""

from zombieproof.statemachines.consumer.table import CONSUMER as CONSUMER
