#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Python package: import, ranges, and 10 M kernels as data frames. What is measured: python.py.
set -eu
: "${TRACESMITH_BUILD_DIR:?}"
# shellcheck source=tests/python/prepare.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/python/prepare.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$TRACESMITH_BUILD_DIR/tests/programs/sbt_many" "$work/many.sbt" 10000000 0
"$venv_python" -B "$TRACESMITH_SOURCE_DIR/bench/python.py" "$work"
