"""The transaction protocol as a model: its states, actions, reductions and scenarios."""
