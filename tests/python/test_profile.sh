#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# GPU calls, steps and children of Python programs, recorded by themselves and by `python -m tracesmith run`.
set -eu
# shellcheck source=tests/python/prepare.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/python/prepare.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
watched "$venv_python" -B -W error "$TRACESMITH_SOURCE_DIR/tests/python/check_profile.py"
