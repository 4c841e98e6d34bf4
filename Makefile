# Nothing is needed but Python >= 3.11 and make. Every target first brings .venv up to date.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh

BIN := .venv/bin
# Extra arguments: make test ARGS="-k fencing"
ARGS ?=
# Test processes; one for each core, and not more than 8 because each compiles the checker for itself. Each has a part of
# the tests that belong together, and takes from the others' when it is through with its own.
JOBS ?= logical
# Kept bytecode: tests start hundreds of processes, and each would compile every source again. `make clean` removes it.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help check test oldest pythons spark spark-versions spark-plans recipes-table clients spark-connector pipeline pipeline-kafka kafka-versions deep gate proposal reductions check-nightly soak lint format diagrams conformance bench coverage clean

help: ## this list
	@echo "zombieproof: Kafka's exactly-once protocol, checked exhaustively and replayed against real recordings"
	@echo
	@sed -n 's/^\([a-z-]*\):.*## /\1 /p' Makefile | while read -r target text; do printf '  make %-10s %s\n' "$$target" "$$text"; done
	@echo
	@echo "Start with 'make check'. PYTHON=/path/to/python3.11 chooses another Python for .venv."

check: .venv/ready ## the main job: explore the protocol, replay the recordings, compare the diagrams
	$(BIN)/zombieproof verify $(ARGS)

test: .venv/ready ## the tests, but for long ones (ARGS="-k words" chooses, JOBS=1 runs them in one process, ZOMBIEPROOF_TESTS=ci takes all)
	$(BIN)/python -m pytest -n $(JOBS) --maxprocesses 8 --dist worksteal $(ARGS)

oldest: .venv/oldest/ready ## the tests of checker and command line with the oldest versions that pyproject.toml allows (four minutes)
	.venv/oldest/bin/python -m pytest -n $(JOBS) --maxprocesses 8 --dist worksteal tests/checker tests/cli $(ARGS)

pythons: .venv/ready ## the tests of checker and command line with each of python3.11 to python3.14 that there is (PYTHONS="/path/to/python3.14 ..." adds others; 10 minutes each)
	$(BIN)/python -m tests.pythons $(PYTHONS) -- $(ARGS)

spark: .venv/spark ## the pipeline's tests on real Spark, in two sessions (Java 17; gets pyspark, 0.5 GB; ZOMBIEPROOF_TESTS=ci takes the slow ones too)
	$(BIN)/python -m pytest -m spark -n 2 --dist worksteal tests/spark tests/pipeline tests/cli/test_farm.py $(ARGS)

spark-plans: .venv/spark ## run 200 random plans under random faults on real Spark, each exact or refused (20 minutes; continues where it stopped, ARGS=--again starts over); writes docs/spark-plans.md
	$(BIN)/python -m tests.spark.plans $(ARGS)

spark-versions: .venv/spark ## the pipeline's tests on each version of pyspark that it supports, and the refusal of the others (gets 0.5 GB for each; half an hour)
	$(BIN)/python -m tests.spark_versions $(ARGS)

# Delta is the default, with the newest Spark that it has a release for.
recipes-table: PYSPARK ?= 4.2.0
recipes-table: PACKAGE ?= io.delta:delta-spark_4.2_2.13:4.4.0
recipes-table: KIND ?= delta
recipes-table: TABLE ?= default.rows
recipes-table: CONF ?= --conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension --conf spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog
recipes-table: .venv/spark ## Kafka to a table of Delta and back (gets pyspark 4.2.0 and Delta, 0.5 GB; others: PYSPARK=VERSION PACKAGE=GROUP:ARTIFACT:VERSION KIND=iceberg TABLE=CATALOG.DB.NAME CONF="--conf NAME=VALUE ...")
	PYTHONPATH=$$($(BIN)/python -m tests.spark_versions --get $(PYSPARK)) TABLE_KIND=$(KIND) TABLE=$(TABLE) ZOMBIEPROOF_TESTS=ci \
		PYSPARK_SUBMIT_ARGS='$(if $(PACKAGE),--packages $(PACKAGE)) $(CONF) pyspark-shell' \
		$(BIN)/python -m pytest -m spark -n 0 tests/spark/test_recipes.py -k to_a_table $(ARGS)

clients: .venv/ready ## get clients that others have written (PyPI, npm, Go, Maven) and run all of them against serve (half an hour); writes docs/clients.md
	$(BIN)/python -m tests.real_clients.install || true
	$(BIN)/python -m tests.real_clients $(ARGS)

spark-connector: .venv/ready ## get Spark's own Kafka connector (PyPI, Maven; 0.5 GB) and run it against brokers of ours (5 minutes); writes docs/spark-connector.md
	$(BIN)/python -m tests.real_clients.install spark-connector
	$(BIN)/python -m tests.spark_connector $(ARGS)

pipeline: .venv/spark ## the pipeline on real Spark with a broker of ours: committed rows in, each out once, through a crash and a lost checkpoint (Java 17)
	$(BIN)/python examples/spark_pipeline.py $(ARGS)
	$(BIN)/python examples/spark_pipeline.py --mode partition $(ARGS)

pipeline-kafka: .venv/spark ## run the same, every reported event, and the pipeline's tests at a real Apache Kafka 4.3.1 on loopback (Java 17, and Maven, which gets it; about an hour); writes docs/spark-plans.md
	$(BIN)/python -m tests.jvm.kafka_node -- $(BIN)/python examples/spark_pipeline.py $(ARGS)
	$(BIN)/python -m tests.jvm.kafka_node -- $(BIN)/python examples/spark_pipeline.py --mode partition $(ARGS)
	$(BIN)/python -m tests.spark.plans --real-kafka --again
	$(BIN)/python -m pytest -p no:xdist tests/pipeline --real-kafka
	$(BIN)/python -m pytest -p no:xdist -m spark tests/spark/test_starting.py --real-kafka

deep: .venv/ready ## the longest walks alone: many cuts of every recording, every altered case, the largest scopes twice (over half an hour)
	ZOMBIEPROOF_TESTS=deep ZOMBIEPROOF_ALTERATIONS=all $(BIN)/python -m pytest -o faulthandler_timeout=3600 -n $(JOBS) --maxprocesses 8 --dist worksteal -m deep $(ARGS)
	ZOMBIEPROOF_TESTS=deep ZOMBIEPROOF_ALTERATIONS=all $(BIN)/python -m pytest -o faulthandler_timeout=3600 -n $(JOBS) --maxprocesses 8 --dist worksteal -k alterations $(ARGS)

gate: .venv/ready ## crashes, kills, torn writes, failing disks, clocks that jump, a million bad frames, at full depth (a quarter of an hour); writes docs/crashes.md
	$(BIN)/python -m tests.store.gate --depth gate --write $(ARGS)

proposal: .venv/ready ## the proposal of 2014: every reading both ways, and Kafka's protocol beside it (a minute); writes docs/proposal-2014.md (ARGS=--check: compares it)
	$(BIN)/python -m tests.proposal2014 $(ARGS)

reductions: .venv/ready ## every scenario and mutant with and without each reduction: the same verdicts (five minutes); writes docs/reductions.md (ARGS=--check: compares it; ARGS="--check --most 50000": what is smaller)
	$(BIN)/python -m tests.reductions $(ARGS)

check-nightly: .venv/ready ## scenarios within larger bounds than `make check`, the cheapest first, until time is up (8 hours; ARGS="--seconds 3600"); writes docs/nightly.md (ARGS=--missing: only what has no result; ARGS=--check: explores and compares only what is cheap)
	$(BIN)/python -m tests.nightly $(ARGS)

soak: .venv/ready ## random applications under random faults of messages and disks, 100,000 transactions, judged by what clients were told (ARGS="--seed 7"); then 200 connections for ten minutes
	$(BIN)/python -m tests.soak --transactions 100000 $(ARGS)
	$(BIN)/python -m tests.wire.load

lint: .venv/ready ## ruff, mypy and the layers
	@failed=; \
	for linter in "ruff check" "ruff format --check" "mypy" "lint-imports"; do \
	  echo "== $$linter"; \
	  $(BIN)/$$linter || failed="$$failed [$$linter]"; \
	done; \
	[ -z "$$failed" ] || { echo "make lint: failed:$$failed" >&2; exit 1; }

format: .venv/ready ## rewrite the sources as lint wants them
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

kafka-versions: .venv/ready ## what a release of Kafka has, read from its jars (ARGS=4.4.0; Java 17, Maven): fails when something in it has no home
	$(BIN)/python -m tests.model.kafka_versions $(ARGS)

diagrams: .venv/ready ## render every machine from its table into diagrams/ and docs/machines.md
	$(BIN)/zombieproof diagrams $(ARGS)

conformance: .venv/ready ## all recorded answers and all of Kafka's cases that lie in ../shared; writes docs/conformance.md
	$(BIN)/python -m tests.answers $(ARGS)

bench: .venv/ready ## states per second of the checker, events of replay, requests to live brokers
	$(BIN)/python benchmarks/run.py $(ARGS)

coverage: .venv/ready ## tests with branch coverage (what Numba compiles is not seen by it)
	$(BIN)/python -m pytest -n $(JOBS) --maxprocesses 8 --dist worksteal --cov --cov-report=term $(ARGS)

clean: ## remove .venv and everything that tools left behind
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage htmlcov
	find zombieproof tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The first Python that is new enough and can make virtual environments.
.venv/ready: pyproject.toml
	@if [ ! -x $(BIN)/python ]; then \
	  for python in $(PYTHON) python3.11 python3.12 python3.13 python3.14 python3 python; do \
	    if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found="$$python"; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo "make: no Python >= 3.11 with venv and ensurepip was found (tried: $(PYTHON) python3.11 ... python3 python)." >&2; \
	    echo "      Install one (Debian and Ubuntu: apt-get install python3-venv), or say where it is: make PYTHON=/path/to/python3.11" >&2; \
	    exit 1; \
	  fi; \
	  echo "setting up .venv with $$found"; \
	  "$$found" -m venv .venv; \
	fi
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

.venv/oldest/ready: .venv/ready pyproject.toml tests/oldest.py
	$(BIN)/python -m venv .venv/oldest
	$(BIN)/python -m tests.oldest > .venv/oldest/constraints.txt
	.venv/oldest/bin/python -m pip install --quiet --disable-pip-version-check --constraint .venv/oldest/constraints.txt --editable '.[test]'
	@touch $@

# Spark is an extra, and large: only what runs on it asks for it. Without Java it is not even fetched.
.venv/spark: .venv/ready pyproject.toml
	$(BIN)/python -m tests.jvm.java
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,spark,plot]'
	@touch $@
