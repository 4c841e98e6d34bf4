"""PySpark's face of the pipeline: a source and a sink by the Python Data Source API, drivers of the machines below.

What they do is said by `pipeline.reader` and `pipeline.sink`; here are the names that Spark calls, its options, and how
rows travel between tasks and driver.
"""
