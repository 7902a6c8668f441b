#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranges, marks and counters of Python programs: threads, coroutines, exceptions, fork, exit.
set -eu
# shellcheck source=tests/python/prepare.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/python/prepare.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
watched "$venv_python" -B -W error "$TRACESMITH_SOURCE_DIR/tests/python/check_record.py"
