#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs in an intermediate language, recorded and replayed: SPIR-V made here, on a driver that takes it, or on one that is
# made to (il_layer.c).
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"
LLVM_SPIRV='' clang=''
for version in "" -14 -15 -16; do
    if command -v "llvm-spirv$version" >/dev/null && command -v "clang$version" >/dev/null; then
        LLVM_SPIRV=llvm-spirv$version clang=clang$version
    fi
done
[ -n "$clang" ] || skip "no clang and llvm-spirv to make SPIR-V with (on Debian: apt install clang-14 llvm-spirv-14)"
cat >"$work/kernels.cl" <<'CL'
__kernel void scale(__global float *v, float by) { v[get_global_id(0)] *= by; }
__kernel void count_up(__global uint *v, uint by) {
    size_t i = get_global_id(0);
    v[i] = v[i] * 5 + by + (uint)i;
}
CL
"$clang" -x cl -cl-std=CL1.2 -target spir64-unknown-unknown -Xclang -finclude-default-header -O1 -emit-llvm -c \
    -o "$work/kernels.bc" "$work/kernels.cl" 2>"$work/log" || skip "clang makes no SPIR: $(head -1 "$work/log")"
"$LLVM_SPIRV" "$work/kernels.bc" -o "$work/kernels.spv" 2>"$work/log" || skip "no SPIR-V: $(head -1 "$work/log")"

IL_LAYER_COUNT=$work/count
export LLVM_SPIRV IL_LAYER_COUNT
layer='' code=0
"$programs/cl_il" "$work/kernels.spv" >"$work/log" 2>&1 || code=$?
if [ "$code" -eq 4 ]; then
    layer=$work/libil.so
    "${CC:-cc}" -shared -fPIC -D_GNU_SOURCE -o "$layer" "$TRACESMITH_SOURCE_DIR/tests/replay/il_layer.c" 2>"$work/log" ||
        skip "no compiler: $(head -1 "$work/log")"
    code=0
    OPENCL_LAYERS=$layer "$programs/cl_il" "$work/kernels.spv" >"$work/log" 2>&1 || code=$?
    [ "$code" -eq 0 ] || skip "this driver takes no bitcode either: $(head -1 "$work/log")"
fi
[ "$code" -eq 0 ] || fail "cl_il: $(cat "$work/log")"

replay() {
    want=$1
    shift
    code=0
    "$@" --json "$work/il.sbt" >"$work/il.json" 2>"$work/log" || code=$?
    [ "$code" -eq "$want" ] || fail "$* gave $code: $(cat "$work/log" "$work/il.json")"
}
holds() {
    python3 -c 'import json, sys
a = json.load(open(sys.argv[1])); v = a.get("verdicts"); r = a.get("results")
sys.exit(0 if eval(sys.argv[2]) else "not so: %s: %s" % (sys.argv[2], json.dumps(a)[:2000]))' "$work/il.json" "$1" || fail "il"
}
env ${layer:+OPENCL_LAYERS="$layer"} "$TRACESMITH" profile --capture --capture-hashes -o "$work/il.sbt" -- \
    "$programs/cl_il" "$work/kernels.spv" -n 5 >"$work/log" 2>&1 || fail "il: $(cat "$work/log")"
rm -f "$work/count"
replay 0 env ${layer:+OPENCL_LAYERS="$layer"} "$TRACESMITH" replay
holds 'v["exact"] == len(r) >= 10 and a["recording"]["kernels"] == 10 and not a["refusals"] and not a["notes"]'
# The layer was given the whole program again, as it was.
[ -z "$layer" ] || [ "$(cat "$work/count")" = "$(wc -c <"$work/kernels.spv")" ] || fail "the driver was given another program"
replay 0 env ${layer:+OPENCL_LAYERS="$layer"} "$TRACESMITH" replay --permute 2
holds '"permutation" in a and not a["missing"]'
replay 0 env ${layer:+OPENCL_LAYERS="$layer"} "$TRACESMITH" replay --device 0 --against 0 --each
holds 'v["exact"] == len(r) >= 10'

# An edited kernel in its place, in OpenCL C: what it computes differently is seen, and the kernel named.
sed 's/\* 5/* 7/' "$work/kernels.cl" >"$work/edited.cl"
replay 1 env ${layer:+OPENCL_LAYERS="$layer"} "$TRACESMITH" replay --source "count_up=$work/edited.cl"
holds 'a["first_bad"]["command"]["kernel"] == "count_up" and a["first_bad"]["candidates"] == 1'

# Where no driver takes it, that is the reason, and nothing is called wrong.
[ -n "$layer" ] || exit 0
replay 0 "$TRACESMITH" replay
holds 'v["diverged"] == 0 and v["uncomparable"] >= 10'
holds 'all("intermediate language" in x["reason"] for x in r if x["writer"] in ("scale", "count_up"))'
