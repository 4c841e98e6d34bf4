"""The command line: `zombieproof check | replay | verify | scenarios | diagrams | about`."""

import os

# NumPy's linear algebra, which nothing here uses, has threads that wait busily at first: a tenth of a second of CPU.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from zombieproof.cli.main import main

__all__ = ["main"]
