"""A session of Spark that a command of ours begins for itself."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTRA: Final = "pip install 'zombieproof[spark]'"


class NoSpark(Exception):
    """Spark cannot be used here; the message says what is missing and what to do."""


def session(master: str, name: str) -> SparkSession:
    """A session of that name; the one that this process has, if it has one.

    Raises:
        NoSpark: pyspark or Java is missing, or Spark does not start there.
    """
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415  # optional
    except ImportError as error:
        raise NoSpark(f"--spark needs pyspark, which is not installed: {EXTRA}") from error
    if master.startswith("sc://"):
        raise NoSpark(f"--spark {master}: tasks are given to a SparkContext, and Spark Connect has none; give a master")
    _need_java()
    builder = SparkSession.builder.master(master).appName(name)
    settings = {
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings |= {
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
    for setting, value in settings.items():
        builder = builder.config(setting, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        said = f"Spark did not start: {first_words(error)}"
        raise NoSpark(f"--spark {master}: {said}; it needs Java 17 or newer and a master that answers") from error


def _need_java() -> None:
    """See that there is a Java.

    Raises:
        NoSpark: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    if home and not (Path(home) / "bin" / "java").exists():
        raise NoSpark(f"JAVA_HOME is {home}, where there is no bin/java; set it to a Java 17 or newer, or unset it")
    if not home and shutil.which("java") is None:
        raise NoSpark(
            "Spark needs Java 17 or newer, and there is no java; install one (Debian, Ubuntu: openjdk-17-jre-headless) "
            "or set JAVA_HOME"
        )


def first_words(error: Exception) -> str:
    """What Spark says, without its traces."""
    lines = [line.strip() for line in str(getattr(error, "java_exception", None) or error).splitlines()]
    return next(filter(None, lines), type(error).__name__)[:400]
