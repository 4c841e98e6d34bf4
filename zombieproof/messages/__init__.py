"""What is said: each request and each answer once."""
