#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Memory snapshots of PyTorch: check_torch_memory.py makes them, knows what is in them, and compares.
set -eu
source=${TRACESMITH_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
if ! command -v python3 >/dev/null 2>&1; then
    echo "skipped: no python3"
    exit 77
fi
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
python3 "$source/tests/import/check_torch_memory.py"
