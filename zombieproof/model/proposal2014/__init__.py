"""The proposal "Transactional Messaging in Kafka" of 2014, which was never shipped: its words, rules and decisions."""
