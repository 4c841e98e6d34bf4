"""The pipeline: rows from a log through a job and into a log, each exactly once (extra `spark`).

- In a session of Spark: `register(spark)`, then ``format("zombieproof")`` to read and to write; `exactly_once` in
  ``foreachBatch``.
- Recorded logs as DataFrames, judged as by ``zombieproof audit``: `audit_report(spark, path)`, `audit_transactions`.
- Without Spark: `pipeline.reader` and `pipeline.sink`.

Nothing of it is imported by `import zombieproof`; each part asks for what it needs when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from zombieproof.pipeline.audit import audit_report, audit_transactions
    from zombieproof.pipeline.spark.sessions import exactly_once, register

__all__ = ["audit_report", "audit_transactions", "exactly_once", "register"]

_SESSIONS: Final = "zombieproof.pipeline.spark.sessions"
_HOME: Final = {
    "audit_report": "zombieproof.pipeline.audit",
    "audit_transactions": "zombieproof.pipeline.audit",
    "exactly_once": _SESSIONS,
    "register": _SESSIONS,
}
VERSIONS: Final = ("4.2", "4.3")
"""Versions of pyspark that source and sink are tested with."""
_LACKS: Final = {
    "3": "it has no data sources in Python",
    "4.0": "its data sources in Python have no limits for micro-batches, no Trigger.AvailableNow and no Arrow sinks",
    "4.1": "its data sources in Python have no limits for micro-batches and no Trigger.AvailableNow",
}


class UnsupportedSpark(ImportError):
    """A version of pyspark that source and sink do not run with."""


def _refuse_version(version: str) -> None:
    """Check the version of pyspark.

    Raises:
        UnsupportedSpark: source and sink do not run with it, or were not tested with it.
    """
    minor = ".".join(version.split(".")[:2])
    if minor not in VERSIONS:
        lacks = _LACKS.get(minor) or _LACKS.get(minor.partition(".")[0]) or "source and sink were not tested with it"
        raise UnsupportedSpark(
            f"zombieproof.pipeline: pyspark {version} is not supported: {lacks}. Use pyspark {' or '.join(VERSIONS)}: "
            "pip install 'zombieproof[spark]'"
        )


def __getattr__(name: str) -> Any:
    """A name of Spark's part, when it is first asked for.

    Raises:
        AttributeError: there is no such name.
        ModuleNotFoundError: Spark is not installed.
    """
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        if _HOME[name] == _SESSIONS:
            _refuse_version(importlib.import_module("pyspark").__version__)
        return getattr(importlib.import_module(_HOME[name]), name)
    except ModuleNotFoundError as missing:
        if missing.name not in ("pyspark", "pyarrow"):
            raise
        raise ModuleNotFoundError(
            f"zombieproof.pipeline.{name} needs {missing.name}, which is not installed; pip install "
            "'zombieproof[spark]' "
            "(Spark needs Java 17 as well)",
            name=missing.name,
        ) from missing
