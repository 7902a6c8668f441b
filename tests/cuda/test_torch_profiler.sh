#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The real Kineto, of PyTorch's CUDA wheels, over the mocks of the driver, the runtime and CUPTI: torch.profiler records
# the same with and without TraceSmith, and the trace has every launch. TRACESMITH_TORCH names a Python that has PyTorch
# with CUDA 13 (python3 -m venv V && V/bin/pip install torch); without it the test is skipped.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
[ -n "${TRACESMITH_TORCH:-}" ] || skip "TRACESMITH_TORCH names no Python with PyTorch for CUDA 13"
[ -z "${TRACESMITH_SANITIZE:-}" ] || skip "PyTorch does not load sanitized libraries"

# The runtime mock under another name, so that NVIDIA's own is loaded for what the mock lacks.
${CC:-cc} -w -shared -fPIC -o "$work/front.so" "$here/mock/cudart.c" -Wl,--version-script="$here/mock/cudart.map" -L"$mocks" -l:libcuda.so.1
preload="$mocks/libcuda.so.1 $mocks/libcupti.so.13 $work/front.so"

env LD_PRELOAD="$preload" "$TRACESMITH_TORCH" "$here/torch_profiler.py" "$work" >"$work/alone.json" 2>"$work/alone.err" ||
    fail "alone: $(tail -n 3 "$work/alone.err")"
for options in '' --stacks; do
    "$TRACESMITH" profile --api cuda $options -o "$work/torch.sbt" -- env LD_PRELOAD="$preload" "$TRACESMITH_TORCH" "$here/torch_profiler.py" "$work" \
        >"$work/both.json" 2>"$work/both.err" || fail "with TraceSmith: $(tail -n 3 "$work/both.err")"
    diff "$work/alone.json" "$work/both.json" || fail "torch.profiler records something else when it is recorded itself"
    kernels=$("$TRACESMITH" query --csv "$work/torch.sbt" "SELECT count(*) || ' ' || (SELECT coalesce(sum(lost), 0) FROM loss) FROM kernel" | tail -n 1 | tr -d '"\r')
    launches=$(sed -n 's/.*"launches": \([0-9]*\).*/\1/p' "$work/both.json" | tail -n 1)
    [ "$kernels" = "$launches 0" ] || fail "kernels and losses of the trace: $kernels, launches: $launches"
done
[ "$(grep -c '"kernel": 500' "$work/alone.json")" -eq 4 ] || fail "alone it records something else: $(cat "$work/alone.json")"
cat "$work/alone.json"
