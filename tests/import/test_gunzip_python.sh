#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Both decoders of gzip against Python's: check_gunzip.py.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
exec python3 -B "$TRACESMITH_SOURCE_DIR/tests/import/check_gunzip.py" "$TRACESMITH_BUILD_DIR/tests/import/test_gunzip"
