#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program that NVIDIA's own compiler made, over a mock of the CUDA runtime: every launch of every kernel by its name in
# the source, from the runtime's call, counted once although the runtime calls the driver for it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

[ -z "${TRACESMITH_SANITIZE:-}" ] || skip "nvcc does not build sanitized programs"
nvcc=
for place in ${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda /usr/local/cuda-13*; do
    [ -x "$place/bin/nvcc" ] && nvcc=$place/bin/nvcc
done
[ -n "$nvcc" ] || skip "nvcc of CUDA 13 is not installed"
"$nvcc" -cudart shared -o "$work/vectors" "$here/vectors.cu" 2>"$work/nvcc.err" || skip "nvcc does not work here: $(head -1 "$work/nvcc.err")"
ldd "$work/vectors" | grep -q "libcudart.so.13 => $mocks" || skip "the program needs another CUDA runtime"

record program -- "$work/vectors" 500
[ "$status" -eq 0 ] || fail "exit status $status: $(cat "$work/program.err")"
MOCK_NESTED=inner record inner -- "$work/vectors" 500
MOCK_NESTED=outer record outer -- "$work/vectors" 500
options=--stacks
record stacks -- "$work/vectors" 100
"$TRACESMITH" view --stacks -t kernel "$work/stacks.sbt" >"$work/stacks.text"
grep -q ' main at .*vectors.cu\|  main ' "$work/stacks.text" || fail "main is not on the stacks: $(head -20 "$work/stacks.text")"
python3 - "$work" <<'PY'
import sys
from collections import Counter
from trace import Run

# The ids of the runtime's call and of the driver's call in it are one, or two, of which a kernel has either.
for name in ("inner", "outer"):
    run = Run(sys.argv[1], name)
    launches = run.truth["add"] + run.truth["scale"]
    run.expect(not run.lost, f"lost {run.lost}")
    run.expect(len(run.of("kernel")) == launches, "kernels")
    host = {run.tracks[k.get("host_track", 0)]["kind"] if k.get("host_track") else None for k in run.of("kernel")}
    run.expect(host == {"thread"}, f"who launched: {host}")

run = Run(sys.argv[1], "program")
truth = run.truth
names = Counter(kernel["name"] for kernel in run.of("kernel"))
run.expect(names == {"void add<float>(float const*, float const*, float*, int)": truth["add"], "scale(float*, float)": truth["scale"]},
           f"{names}")
launches = truth["add"] + truth["scale"]
run.expect(len(run.calls("__cudaLaunchKernel")) == launches, "calls of the runtime")
run.expect(not run.lost, f"lost {run.lost}")
run.expect(len(run.of("memcpy")) == truth["copies"] and len(run.of("alloc")) == truth["allocs"], "copies and memory")
sizes = {k["name"].split("(")[0]: (k["global_x"], k.get("global_y"), k["local_x"], k["args"].get("dynamicSharedMemory"))
         for k in run.of("kernel")}
run.expect(sizes == {"void add<float>": (256, None, 64, None), "scale": (128, 2, 128, 16)}, f"{sizes}")
run.check_simulated()
PY
