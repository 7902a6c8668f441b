#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# C++ snippets of the documents of the library that came before this one.
set -eu
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
command -v g++ >/dev/null || command -v clang++ >/dev/null || {
    echo "skipped: no C++ compiler (Debian: g++)"
    exit 77
}
python3 -B "$TRACESMITH_SOURCE_DIR/tests/cpp/check_seeds.py" -I"$TRACESMITH_SOURCE_DIR/bindings/cpp/include" \
    -I"$TRACESMITH_SOURCE_DIR/include" -L"$TRACESMITH_BUILD_DIR/lib" -ltracesmith -Wl,-rpath,"$TRACESMITH_BUILD_DIR/lib" -pthread
