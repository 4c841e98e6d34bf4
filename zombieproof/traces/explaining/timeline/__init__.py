"""What happened to one transactional id, partition or producer, in order."""
