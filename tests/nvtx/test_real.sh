#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same with NVIDIA's own NVTX headers, where a CUDA toolkit is installed: our declarations against theirs, and a
# program that includes them.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
for include in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/local/cuda-*/include /usr/include; do
    [ ! -f "$include/nvtx3/nvToolsExt.h" ] || break
    include=
done
[ -n "$include" ] || { echo "skipped: no nvtx3 headers (CUDA_HOME names a toolkit)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$TRACESMITH_SOURCE_DIR/tests/nvtx
"${CC:-cc}" -fsyntax-only -isystem "$include" -I "$TRACESMITH_SOURCE_DIR/agents/nvtx" "$here/abi.c"
"${CC:-cc}" -O2 -DNVTX_REAL -isystem "$include" -o "$work/nvtx_say" "$TRACESMITH_SOURCE_DIR/tests/programs/nvtx_say.c" \
    -ldl -lpthread
# NVIDIA's own library that may be injected, which wants nothing of it where there is no GPU.
for other in "${include%include}lib64/libcupti.so" "${include%include}extras/CUPTI/lib64/libcupti.so"; do
    [ ! -e "$other" ] || break
    other=
done
NVTX_OTHER=$other NVTX_SAY="$work/nvtx_say" python3 "$here/check_ranges.py"
