"""The session that all tests share is as it was told, and its workers know this package, these tests and the broker."""

import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zombieproof
from tests.pipeline.topics import fill, make_topics, read_back
from tests.spark.sessions import settings

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

    from tests.pipeline.real import RealKafka
    from zombieproof.bridge.under_test import TestedBrokers


def told_by_worker(_: int) -> tuple[int, str, str]:
    """Who does a task; a worker imports this module by its name."""
    import zombieproof.pipeline.kafka  # noqa: PLC0415  # in the worker

    return os.getpid(), sys.executable, zombieproof.pipeline.kafka.__file__


def test_a_worker_is_this_python_with_this_package(spark: "SparkSession") -> None:
    ((pid, python, file),) = spark.sparkContext.parallelize([0], 1).map(told_by_worker).collect()
    assert pid != os.getpid()
    assert (python, Path(file).parents[1]) == (sys.executable, Path(zombieproof.__file__).parent)


def test_the_settings_of_the_session_are_those_of_tests(
    spark: "SparkSession", tmp_path_factory: "pytest.TempPathFactory"
) -> None:
    context = spark.sparkContext
    folder = Path(spark.conf.get("spark.local.dir")).parent
    assert folder.is_relative_to(tmp_path_factory.getbasetemp())
    told, said = settings(folder), dict(context.getConf().getAll())
    of_jvm = told.pop("spark.driver.extraJavaOptions")
    assert said.pop("spark.driver.extraJavaOptions").endswith(of_jvm)
    assert {name: said.get(name, "").removeprefix("file:") for name in told} == told
    jvm: Any = context._jvm
    running = jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments()
    assert set(of_jvm.split()) <= set(running)
    assert context.uiWebUrl is None
    assert Path(jvm.System.getProperty("java.io.tmpdir")) == folder
    assert not jvm.org.slf4j.LoggerFactory.getLogger("org.apache.spark").isWarnEnabled()


def test_a_worker_reads_what_the_broker_has_committed(
    spark: "SparkSession", broker: "TestedBrokers | RealKafka"
) -> None:
    make_topics(broker.bootstrap, input=3)
    filled, bootstrap = fill(broker.bootstrap, "input", 3, 200, per_transaction=20), broker.bootstrap
    (read,) = spark.sparkContext.parallelize([0], 1).map(lambda _: read_back(bootstrap, "input")).collect()
    assert read == Counter(filled.committed)
    assert filled.aborted
