"""What is open at the end of the logs, and who will end it."""
