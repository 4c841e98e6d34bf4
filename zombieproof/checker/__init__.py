"""What can happen: every reachable world of a model, explored breadth first by compiled code."""
