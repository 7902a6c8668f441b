#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How large a recording is, against a second measure: a layer of this test dumps every launch's arguments before and after
# (dump_layer.c). The file is at most 1.2 times the different bytes among those dumps, in pieces of 64 KiB (and what a
# program without data takes); of a loop of a hundred launches it is ten times smaller than the dumps. The data of
# a part of a program that begins at its first launch is no more than of the whole.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"
[ -z "${TRACESMITH_SANITIZE-}" ] || skip "the agents are built with a sanitizer"
"${CC:-cc}" -shared -fPIC -O1 -w -o "$work/dump.so" "$TRACESMITH_SOURCE_DIR/tests/replay/dump_layer.c" 2>"$work/cc" ||
    skip "no compiler, or no headers of OpenCL's layers: $(head -1 "$work/cc")"
tried=0
export PYOPENCL_NO_CACHE=1
# Memory a program allocates and does not write holds the same bytes in every run: they are data of the recording too,
# and the runs are compared with one another.
export MALLOC_PERTURB_=90

# measure NAME LEAST-RATIO COMMAND...: the dumps are at least LEAST-RATIO times larger than the recording.
measure() {
    name=$1
    ratio=$2
    shift 2
    rm -f "$work/dumps"
    "$@" >"$work/alone" 2>&1 || fail "$name does not run by itself: $(tail -3 "$work/alone")"
    OPENCL_LAYERS=$work/dump.so DUMP_FILE=$work/dumps "$@" >"$work/out" 2>&1 || fail "$name: with the dumping layer"
    [ -s "$work/dumps" ] || skip "this OpenCL loader knows no layers"
    "$TRACESMITH" profile --capture -o "$work/all.sbt" -- "$@" >"$work/out" 2>"$work/err" || fail "$name: $(cat "$work/err")"
    "$TRACESMITH" profile --capture=kernels:1+3 -o "$work/part.sbt" -- "$@" >"$work/out" 2>"$work/err" || fail "$name: $(cat "$work/err")"
    for file in all part; do
        "$TRACESMITH" replay --mode dry-run --json "$work/$file.sbt" >"$work/$file.json" || fail "$name: dry run"
    done
    python3 - "$name" "$ratio" "$work" <<'PY' || fail "$name"
import hashlib, json, os, struct, sys
name, ratio, work = sys.argv[1], float(sys.argv[2]), sys.argv[3]
dumps, seen, unique = open(work + "/dumps", "rb").read(), set(), 0
at = 0
while at < len(dumps):
    size, = struct.unpack_from("<Q", dumps, at)
    at += 8
    for piece in range(at, at + size, 65536):
        data = dumps[piece:min(piece + 65536, at + size)]
        key = hashlib.sha256(data).digest()
        if key not in seen and data.strip(b"\0"):
            seen.add(key)
            unique += len(data)
    at += size
whole = os.path.getsize(work + "/all.sbt")
all_data, part_data = (json.load(open("%s/%s.json" % (work, x)))["recording"]["chunk_bytes"] for x in ("all", "part"))
fixed = 48 << 10  # sources of programs, commands, events of the trace
print("%s: dumps %d, different %d, recording %d (%.2f); its data %d, of the first launches %d" % (name, len(dumps), unique, whole, whole / unique, all_data, part_data))
wrong = [text for bad, text in ((whole > 1.2 * unique + fixed, "larger than 1.2 times the different bytes"),
         (len(dumps) < ratio * whole, "not %g times smaller than dumps" % ratio), (part_data > all_data, "a part is larger")) if bad]
sys.exit("; ".join(wrong) if wrong else None)
PY
    tried=$((tried + 1))
}

measure cl_ranges 10 "$programs/cl_ranges"
python=/usr/bin/python3
[ -x "$python" ] || python=python3
if "$python" -c 'import pyopencl' 2>/dev/null; then
    cat >"$work/loop.py" <<'PY'
# A hundred steps of a damped wave on a grid of random heights.
import numpy as np
import pyopencl as cl
context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
queue = cl.CommandQueue(context)
side = 256
heights = np.random.default_rng(5).standard_normal(side * side).astype(np.float32)
flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
now, before = (cl.Buffer(context, flags, hostbuf=heights) for _ in range(2))
wave = cl.Program(context, """__kernel void wave(__global const float *now, __global float *before, int side) {
    int i = get_global_id(0), x = i % side, y = i / side;
    if (x == 0 || y == 0 || x == side - 1 || y == side - 1) return;
    float sum = now[i - 1] + now[i + 1] + now[i - side] + now[i + side];
    before[i] = 0.995f * (sum * 0.5f - before[i]);
}""").build().wave
for _ in range(100):
    wave(queue, (side * side,), None, now, before, np.int32(side))
    now, before = before, now
cl.enqueue_copy(queue, heights, now)
print(heights.view(np.uint32).sum(dtype=np.uint64))
PY
    measure "a loop on pyopencl" 10 "$python" "$work/loop.py"
    for name in radix_sort matrix_product inclusive_scan; do
        measure "pyopencl $name" 0 "$python" "$TRACESMITH_SOURCE_DIR/tests/replay/pyopencl_programs.py" "$name"
    done
else
    echo "left out: pyopencl (Debian: python3-pyopencl)"
fi
if command -v clFFT-client >/dev/null; then
    measure clFFT-client 1 clFFT-client -x 128 -y 128 -p 10
else
    echo "left out: clFFT-client (Debian: clfft-client)"
fi
echo "$tried programs"
