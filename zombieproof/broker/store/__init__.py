"""What is durable, on disk: stores of logs and of snapshots, and what keeps them small."""
