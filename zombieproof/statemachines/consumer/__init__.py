"""The read committed consumer: its table and its steps."""

from zombieproof.statemachines.consumer.table import CONSUMER as CONSUMER
