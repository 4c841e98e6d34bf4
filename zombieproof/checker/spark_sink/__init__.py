"""Spark's environment as a model: batches run again, zombies, lost checkpoints, and the sinks that live with them."""
