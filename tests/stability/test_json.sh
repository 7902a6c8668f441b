#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The JSON of the commands, of committed files, has every key of json.txt with its type (check_json.py).
#   test_json.sh --update adds what is new
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_SOURCE_DIR:?}"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
here=$TRACESMITH_SOURCE_DIR/tests/stability
python3 -B "$here/check_json.py" "$here" files "$@"
code=0
"$TRACESMITH" devices --json >/dev/null 2>&1 || code=$?
if [ "$code" -eq 4 ]; then
    echo "left out: replay and devices: no device"
    exit 0
fi
python3 -B "$here/check_json.py" "$here" opencl "$@"
