"""The partitions of a broker: replicas, their logs and producers, and the requests that reach them."""
