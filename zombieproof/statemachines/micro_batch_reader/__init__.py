"""The reader of a source in micro-batches: its table and its steps."""

from zombieproof.statemachines.micro_batch_reader.table import MICRO_BATCH_READER as MICRO_BATCH_READER
