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
# Tracing of functions needs Python 3.12: TRACESMITH_FUNCTIONS_PYTHON names one that has the wheel.
functions_python=${TRACESMITH_FUNCTIONS_PYTHON:-$venv_python}
if "$functions_python" -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
    "$functions_python" -B "$TRACESMITH_SOURCE_DIR/bench/python_functions.py"
else
    echo "skipped: no Python 3.12 for the tracing of functions (TRACESMITH_FUNCTIONS_PYTHON)"
fi
