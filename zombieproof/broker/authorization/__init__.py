"""Who asks, what the entries of an access list say about it, and the door that asks for rights before anything else."""
