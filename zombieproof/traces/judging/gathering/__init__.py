"""What was given, what was not, and of how many clusters it is."""
