"""A connection that has to be authenticated: its table and its step."""

from zombieproof.statemachines.connection.table import CONNECTION as CONNECTION
