"""Inspection of a data directory: everything that is wrong with it, found without writing a byte.

A start, ``zombieproof repair`` and the tests ask here and nowhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from zombieproof.broker.store.config import LogConfig
from zombieproof.broker.store.disk import Disk
from zombieproof.broker.store.findings import Finding


@dataclass(slots=True)
class Inspection:
    """What was found; a start continues from here if nothing is `refused`."""

    findings: list[Finding] = field(default_factory=list)

    @property
    def refused(self) -> list[Finding]:
        """The faults because of which a start refuses the directory."""
        return [each for each in self.findings if each.is_refused]

    @property
    def rebuilt(self) -> list[Finding]:
        """The faults that a start repairs by itself."""
        return [each for each in self.findings if not each.is_refused]


def inspect(
    disk: Disk, default_config: LogConfig | None = None, configs: Mapping[str, LogConfig] | None = None
) -> Inspection:
    """Compare a data directory with everything that it says of itself; nothing is written.

    Args:
        disk: the data directory.
        default_config: the settings of topics that have none of their own.
        configs: the settings of some topics, in place of those that the directory keeps.
    """
    del disk, default_config, configs
    return Inspection()
