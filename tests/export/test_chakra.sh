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
# Launches into two streams: a call (kind 6) and its kernel (kind 1), one after the other in each stream.
python3 -B -c '
print("process 1 p\ndevice GPU cuda gpu\ntrack 1 thread 1 0\ntrack 2 one 1 1\ntrack 2 two 1 1")
for i in range(60):
    print(f"event 1 6 {i * 100} duration=50 name=cuLaunchKernel correlation={i + 1}")
    print(f"event {2 + i % 2} 1 {i * 100 + 60} duration={130 + i % 7} name=k{i % 5} correlation={i + 1}")
' | "$TRACESMITH_BUILD_DIR/tests/programs/sbt_make" "$TMPDIR/launches.sbt"
set -- "$source/fuzz/corpus/import_json/kineto" "$TMPDIR/launches.sbt"
for name in alexnet_benchmark_result_2869224_1695835535_trace amd_trace_mi250_minitoy_train_ROCm6_2_kineto cuda_event_sync_multi_stream_event_sync_trace; do
    trace=${TRACESMITH_CORPUS:-/nowhere}/$name.json.gz
    [ ! -e "$trace" ] || set -- "$@" "$trace"
done
python3 "$source/tests/export/check_chakra.py" "$@"
