#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Calls of Python functions as ranges, counted by the program itself. python.versions runs this with newer Pythons too.
set -eu
# shellcheck source=tests/python/prepare.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/python/prepare.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
watched "$venv_python" -B -W error "$TRACESMITH_SOURCE_DIR/tests/python/check_functions.py"
