"""Errors for Spark, with their reason in the first line.

Spark shows an error of Python as the text of its traceback: the first line of a ``StreamingQueryException`` would end
in "Traceback (most recent call last):", and the reason would stand many lines below. The errors of this project say
what to do without a traceback, so workers leave it out (the variable is that of Spark's setting
``spark.sql.execution.pyspark.udf.hideTraceback.enabled``). Unexpected errors keep theirs.

A worker ends after an error, so no other function of the user loses its traceback. In the driver, where a function of
``foreachBatch`` runs, the reason goes before the traceback: Python prints the context of an error first.
"""

import functools
import os
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

from pyspark import SparkContext
from pyspark.errors import PySparkException

Given = ParamSpec("Given")
Result = TypeVar("Result")
Part = TypeVar("Part")

HIDE = "SPARK_HIDE_TRACEBACK"


def _put_first(error: Exception) -> None:
    """Let an expected error be printed with its reason in the first line."""
    is_ours = type(error).__module__.startswith("zombieproof.") and not isinstance(error, AssertionError)
    if not is_ours and not isinstance(error, (OSError, PySparkException)):
        return
    if SparkContext._active_spark_context is None:  # noqa: SLF001  # this is a worker
        os.environ[HIDE] = "1"
        return
    text, name = " ".join(str(error).split("\n\n")[0].split()), type(error).__name__
    error.__suppress_context__ = False
    error.__context__ = type(name, (Exception,), {"__module__": "builtins", "__qualname__": name})(text)


def reason_first(call: Callable[Given, Result]) -> Callable[Given, Result]:
    """Let a function that Spark calls raise its errors with their reason first."""

    @functools.wraps(call)
    def called(*arguments: Given.args, **named: Given.kwargs) -> Result:
        try:
            return call(*arguments, **named)
        except Exception as error:
            _put_first(error)
            raise

    return called


def reason_first_in(parts: Callable[Given, Iterator[Part]]) -> Callable[Given, Iterator[Part]]:
    """Do the same for a function that returns an iterator, whose errors come with its parts."""

    @functools.wraps(parts)
    def called(*arguments: Given.args, **named: Given.kwargs) -> Iterator[Part]:
        try:
            yield from parts(*arguments, **named)
        except Exception as error:
            _put_first(error)
            raise

    return called
