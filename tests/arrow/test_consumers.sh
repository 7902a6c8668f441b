#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pyarrow, polars and DuckDB read the library's Arrow streams and agree with its CSV export and its SQL. Debian has no
# package of them; `./dev python --install` installs them.
set -eu
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}" "${TRACESMITH:?}"
# shellcheck source=tests/support/python.sh
. "$TRACESMITH_SOURCE_DIR/tests/support/python.sh"
for package in pyarrow polars duckdb; do
    "$python" -c "import $package" 2>/dev/null || {
        echo "skipped: no $package for $python (./dev python --install; TRACESMITH_PYTHON names another Python)"
        exit 77
    }
done
if [ -n "${TRACESMITH_SANITIZE-}" ]; then
    echo "skipped: the library is built with a sanitizer, $python is not"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
set --
for name in kineto_resnet50_num_workers_0_worker0.1623143089861.pt.trace.json.gz rocprof_908_results.json.gz \
    nsysai_h100_2gpu_1s.sqlite; do
    file=${TRACESMITH_CORPUS:-/nowhere}/$name
    [ ! -f "$file" ] || set -- "$@" "$file"
done
"$python" -B "$TRACESMITH_SOURCE_DIR/tests/arrow/check_consumers.py" "$work" "$@"
