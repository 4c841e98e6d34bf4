#!/bin/sh
# A step of a CI job: explore some scenarios, keep a report that the CI server shows, and the stories of what broke.
#
#   examples/check_in_ci.sh REPORTS [SCENARIO or option...]
#
# Leaves REPORTS/checks.xml (JUnit) and, for each broken promise, REPORTS/SCENARIO.jsonl, which
# `zombieproof replay` tells step by step on anybody's machine. Ends with the exit code of the check.
set -u
reports=${1:?"usage: check_in_ci.sh REPORTS [SCENARIO or option...]"}
shift
mkdir -p "$reports"

zombieproof check --memory "${MEMORY:-8G}" --format junit -o "$reports" "$@" > "$reports/checks.xml"
code=$?

case $code in
  0) echo "every scenario holds" ;;
  1) echo "a promise is broken; tell the story with: zombieproof replay $reports/*.jsonl" ;;
  3) echo "inconclusive: more memory (MEMORY=16G) or smaller bounds" ;;
  *) echo "the check did not run (exit code $code)" ;;
esac
exit $code
