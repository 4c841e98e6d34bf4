"""What outlives a process: Kafka's log directories, and the doors to files and time."""
