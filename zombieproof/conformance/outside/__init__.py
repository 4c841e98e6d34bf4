"""Brokers outside of this process, of whatever make: asked by bytes, told nothing, and left as they were found."""
