"""Brokers and what is between them: cluster, network, metadata, settings, time, and the journal."""
