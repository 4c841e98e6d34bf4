"""The transaction protocol as a model: its worlds, actions, reductions and scenarios."""
