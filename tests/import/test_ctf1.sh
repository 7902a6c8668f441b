#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CTF 1.8: check_ctf1.py encodes traces from known values, bit by bit after the specification, and compares.
set -eu
source=${TRACESMITH_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
if ! command -v python3 >/dev/null 2>&1; then
    echo "skipped: no python3"
    exit 77
fi
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
python3 "$source/tests/import/check_ctf1.py"
