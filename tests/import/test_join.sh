#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# import --join: check_join.py makes traces and files that belong to them, and says which record is of which event.
set -eu
source=${TRACESMITH_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
if ! command -v python3 >/dev/null 2>&1; then
    echo "skipped: no python3"
    exit 77
fi
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
python3 "$source/tests/import/check_join.py"
