#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Chakra execution traces, written and read: check_chakra.py compares them with SQL and with what protoc makes of them.
set -eu
source=${TRACESMITH_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
for tool in python3 protoc; do
    command -v $tool >/dev/null 2>&1 || { echo "skipped: no $tool"; exit 77; }
done
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
set -- "$source/fuzz/corpus/import_json/kineto"
for name in alexnet_benchmark_result_2869224_1695835535_trace amd_trace_mi250_minitoy_train_ROCm6_2_kineto cuda_event_sync_multi_stream_event_sync_trace; do
    trace=${TRACESMITH_CORPUS:-/nowhere}/$name.json.gz
    [ ! -e "$trace" ] || set -- "$@" "$trace"
done
python3 "$source/tests/export/check_chakra.py" "$@"
