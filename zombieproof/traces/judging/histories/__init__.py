"""Logs folded, one at a time, through machines and decisions, and the promises that one log alone can break."""
