"""Where the checker and the live system meet: each action of the checker at live brokers and clients, and back.

Neither of the two sides imports the other. A `Twin` is a live cluster that is projected to the checker's state; its
steps are the checker's actions; a counterexample runs on it (`live`).
"""
