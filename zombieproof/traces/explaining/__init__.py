"""Explaining what was found: causes, remedies, times, and what happened in order."""
