"""What is stored: the batches and records of Kafka's logs."""
