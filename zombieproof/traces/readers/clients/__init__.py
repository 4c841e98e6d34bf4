"""What clients of Kafka print about their transactions: the statements of each, and the layouts around them."""
