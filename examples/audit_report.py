"""What an audit on Spark says of recorded logs, as DataFrames; and a plot of what was open when, as PNG.

    .venv/bin/python examples/audit_report.py [PATH] [--master local[2]] [--png open.png]

PATH is a folder of segments, or anything else that `zombieproof audit` takes; without it a small one is recorded first,
in which a transaction stays open. The parts between the lines `# %%` are cells of a notebook. Needed: Java 17, the
extras `spark` and `plot`.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from zombieproof import Embedded, EmbeddedTransport, Producer
from zombieproof.pipeline import audit_report, audit_transactions

mpl.use("Agg")
import matplotlib.pyplot as plt


def record(folder: Path) -> Path:
    """Transactions of three applications, of which the last one is never ended."""
    with Embedded(folder, topics={"orders": 2}) as cluster:
        for name in ("billing", "shipping", "audit"):
            producer = Producer(EmbeddedTransport(cluster), transactional_id=name)
            producer.init_transactions()
            for number in range(20):
                producer.begin_transaction()
                producer.send("orders", f"{name} {number}".encode(), key=str(number).encode())
                producer.flush()
                if name == "audit" and number == 10:
                    break
                if number % 5:
                    producer.commit_transaction()
                else:
                    producer.abort_transaction()
    return folder


# %% what is asked for
parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
parser.add_argument("path", nargs="?", type=Path, help="recorded logs; a small example if it is left away")
parser.add_argument("--master", default="local[2]", help="of Spark (local[2])")
parser.add_argument("--png", default=Path("open-transactions.png"), type=Path, help="the plot (open-transactions.png)")
asked = parser.parse_args()
path = asked.path or record(Path(tempfile.mkdtemp(prefix="audit-")))

# %% a session
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
spark = SparkSession.builder.master(asked.master).config("spark.ui.showConsoleProgress", "false").getOrCreate()

# %% broken promises
findings = audit_report(spark, path)
findings.select("promise", "topic", "partition", "offset", "effect").show(truncate=60)

# %% transactions: each begins with its first data on a partition, and ends with its marker there
transactions = audit_transactions(spark, path).cache()
transactions.groupBy("outcome").count().orderBy("outcome").show()

# %% how many were open after each of these
steps = (
    transactions.select(f.col("began").alias("at"), f.lit(1).alias("step"))
    .unionAll(transactions.where("ended is not null").select(f.col("ended").alias("at"), f.lit(-1).alias("step")))
    .groupBy("at")
    .agg(f.sum("step").alias("step"))
    .orderBy("at")
    .toPandas()
)
figure, axes = plt.subplots(figsize=(9, 3))
axes.step(steps["at"], steps["step"].cumsum(), where="post")
axes.yaxis.get_major_locator().set_params(integer=True)
axes.set(ylabel="open transactions on partitions", xlabel="time (UTC)", title="what was open when")
figure.autofmt_xdate()
figure.savefig(asked.png, dpi=120, bbox_inches="tight")
print(f"{findings.count()} findings, {transactions.count()} transactions on partitions; plot: {asked.png}")
spark.stop()
