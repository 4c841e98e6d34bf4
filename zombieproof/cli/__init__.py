"""The command line: `zombieproof check | replay | verify | scenarios | diagrams | about`."""

from zombieproof.cli.main import main

__all__ = ["main"]
