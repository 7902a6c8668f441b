#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The programs of the guide and of the README run as they are written, and the names in the guide are those of the package.
set -eu
# shellcheck source=tests/python/prepare.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/python/prepare.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
watched "$venv_python" -B -W error "$TRACESMITH_SOURCE_DIR/tests/python/check_docs.py" "$TRACESMITH_SOURCE_DIR/docs/python.md" "$TRACESMITH_SOURCE_DIR/README.md"
