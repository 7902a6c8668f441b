#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tracesmith.hta, compared with a reckoning microsecond by microsecond, and with HTA itself where it is installed.
set -eu
# shellcheck source=tests/python/prepare.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/python/prepare.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
watched "$venv_python" -B "$TRACESMITH_SOURCE_DIR/tests/python/check_hta.py"
