"""What can happen: every reachable state of a model, explored breadth first by compiled code."""
