"""A group of the consumer protocol (KIP-848): its steps. It has epochs where a classic group has states: no table."""
