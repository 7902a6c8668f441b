#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CSV of Nsight Compute: check_ncu.py makes tables of known numbers as locales write them, and compares.
set -eu
source=${TRACESMITH_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
if ! command -v python3 >/dev/null 2>&1; then
    echo "skipped: no python3"
    exit 77
fi
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
python3 "$source/tests/import/check_ncu.py"
