"""The world of the 2014 proposal: its state, what can happen in it, what it promises, and its scenarios."""
