"""Promises that need more than one log: markers against decisions, what applications were told, other witnesses."""
