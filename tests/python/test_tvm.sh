#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Calls of a virtual machine of TVM.
set -eu
# shellcheck source=tests/python/prepare.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/python/prepare.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
watched "$venv_python" -B -W error "$TRACESMITH_SOURCE_DIR/tests/python/check_tvm.py"
