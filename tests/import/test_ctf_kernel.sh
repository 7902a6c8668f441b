#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Traces of the kernel in the form of LTTng's modules: check_ctf_kernel.py makes them, because recording one needs LTTng's kernel module.
set -eu
source=${TRACESMITH_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
if ! command -v python3 >/dev/null 2>&1; then
    echo "skipped: no python3"
    exit 77
fi
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
python3 "$source/tests/import/check_ctf_kernel.py"
