"""Recorded sequences that are proven to be wrong or unstable, each with its proof. Replaying knows nothing of them."""

from pathlib import Path
from typing import Final

import yaml

DEVIATIONS: Final = Path(__file__).with_name("deviations.yaml")
SHARE: Final = 0.002
"""The largest part of all sequences that may deviate."""


def deviations(file: Path = DEVIATIONS) -> dict[str, str]:
    """Sequence id -> proof.

    Raises:
        ValueError: the file is no mapping of ids to texts, or a proof is empty.
    """
    found = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    listed = found.items() if isinstance(found, dict) else [(None, found)]
    for name, proof in listed:
        if not isinstance(name, str) or not isinstance(proof, str) or not proof.strip():
            raise ValueError(
                f"{file}: {name!r}: {proof!r} is no proof; legal is, for each sequence id, the text of what a real "
                "broker was asked and answered"
            )
    return dict(listed)


def too_many(listed: int, sequences: int) -> bool:
    """Whether more deviations are listed than `sequences` allow."""
    return listed > SHARE * sequences
