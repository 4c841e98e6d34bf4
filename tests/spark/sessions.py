"""A session of Spark for tests: of the fixture `spark`, and of programs that a test starts and kills."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tests.jvm.java import java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
LOG_SETTINGS = Path(__file__).resolve().parent / "log4j2.properties"
ENDS_WITHIN_S = 30.0


def surroundings(folder: Path) -> dict[str, str]:
    """What has to be in the environment before the JVM starts, with `folder` for whatever is left behind.

    Workers are this Python, and import this package and the modules of `tests` by their names.
    """
    path = os.environ.get("PYTHONPATH")
    return {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join((str(ROOT), path) if path else (str(ROOT),)),
        "TMPDIR": str(folder),
    }


def settings(folder: Path, master: str = "local[2]") -> dict[str, str]:
    """Spark's settings for tests: small, silent, quick to start, and nothing outside of `folder`."""
    small = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    return {
        "spark.master": master,
        "spark.app.name": "zombieproof-tests",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": (
            f"{small} -Dlog4j2.configurationFile={LOG_SETTINGS} -Djava.io.tmpdir={folder} -Dderby.system.home={folder}"
        ),
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    }


def session(folder: Path, master: str = "local[2]", more: Mapping[str, str] | None = None) -> "SparkSession":
    """The one session of this process, begun.

    Raises:
        NoJava: there is no Java that is new enough.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415  # an extra

    java()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(surroundings(folder))
    builder = SparkSession.builder
    for name, value in {**settings(folder, master), **(more or {})}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def end(spark: "SparkSession") -> None:
    """Stop the session, and its JVM; there is none in this process afterwards."""
    from pyspark import SparkContext  # noqa: PLC0415  # an extra

    gateway = SparkContext._gateway
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(ENDS_WITHIN_S)
    SparkContext._gateway = SparkContext._jvm = None
