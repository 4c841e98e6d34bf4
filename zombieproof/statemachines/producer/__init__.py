"""The producer client: its table and its steps."""

from zombieproof.statemachines.producer.table import PRODUCER as PRODUCER
