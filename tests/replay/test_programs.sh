#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that nobody wrote for this are recorded with their data and replayed in another process, from another place: what
# they compute is the same with and without recording, and every result of the replay is exact; where the order of a
# floating-point sum is not fixed, it is noise. A program that is not installed is left out, and said so.
#
# docs/replay.md lists the programs. TRACESMITH_SOAK: a hundred replays each.
# shellcheck disable=SC2016 # inner shells expand what is in single quotes
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"
# A program that knows no sanitizer cannot load an agent that was built with one.
[ -z "${TRACESMITH_SANITIZE-}" ] || skip "the agents are built with a sanitizer"
times=1
[ -z "${TRACESMITH_SOAK-}" ] || times=100
python=/usr/bin/python3
[ -x "$python" ] || python=python3
pyopencl="$TRACESMITH_SOURCE_DIR/tests/replay/pyopencl_programs.py"
export PYOPENCL_NO_CACHE=1 OPENCV_OPENCL_DEVICE=:CPU: OPENCV_OPENCL_CACHE_ENABLE=false
mkdir "$work/elsewhere"
tried=0

# try NAME exact|noise LEAST COMMAND...: at least so many results.
try() {
    name=$1
    kind=$2
    least=$3
    shift 3
    "$@" >"$work/alone" 2>"$work/alone.err" || fail "$name does not run by itself: $(tail -3 "$work/alone.err")"
    "$TRACESMITH" profile --capture -o "$work/run.sbt" -- "$@" >"$work/recorded" 2>"$work/recorded.err" ||
        fail "$name: $(tail -3 "$work/recorded.err")"
    cmp -s "$work/alone" "$work/recorded" || fail "recording changes what $name says"
    mv "$work/run.sbt" "$work/elsewhere/moved.sbt"
    count=$times
    [ "$kind" = exact ] || count=20
    code=0
    "$TRACESMITH" replay --json --times "$count" "$work/elsewhere/moved.sbt" >"$work/answer.json" 2>"$work/err" || code=$?
    [ "$code" -eq 0 ] || fail "$name: replay gave $code: $(tail -3 "$work/err") $(cut -c1-2000 "$work/answer.json")"
    python3 -c 'import json, sys
a = json.load(open(sys.argv[1])); v = a["verdicts"]; n = len(a["results"])
good = v["exact"] + (v["within-noise"] if sys.argv[2] == "noise" else 0) == n >= int(sys.argv[3])
sys.exit(None if good else json.dumps([v, a["notes"], [r for r in a["results"] if r["verdict"] != "exact"][:3]]))' \
        "$work/answer.json" "$kind" "$least" || fail "$name"
    tried=$((tried + 1))
}

# Ours.
try cl_ranges exact 2 "$programs/cl_ranges"
try cl_what_if exact 1 sh -c '"$0" queues >/dev/null' "$programs/cl_what_if"
[ ! -x "$TRACESMITH_BUILD_DIR/examples/image_pipeline" ] ||
    try image_pipeline exact 5 sh -c '"$0" -n 4 -s 256x128 --json | sed "s/.*\"checksum\"/checksum/; s/,.*//"' \
        "$TRACESMITH_BUILD_DIR/examples/image_pipeline"

# pyopencl: arrays, scans, sorts, images, shared memory, ...
if "$python" -c 'import pyopencl' 2>/dev/null; then
    "$python" "$pyopencl" >"$work/names"
    while read -r name noisy; do
        try "pyopencl $name" "$([ -n "$noisy" ] && echo noise || echo exact)" 2 "$python" "$pyopencl" "$name"
    done <"$work/names"
else
    echo "left out: pyopencl (Debian: python3-pyopencl)"
fi

# Debian's programs.
if command -v clinfo >/dev/null; then
    "$TRACESMITH" profile --capture -o "$work/run.sbt" -- clinfo -l >/dev/null 2>&1 || fail "clinfo"
    tried=$((tried + 1))
else
    echo "left out: clinfo"
fi
if command -v clpeak >/dev/null; then
    # It prints how fast it was, which is never the same.
    try clpeak exact 1 sh -c 'clpeak --kernel-latency >/dev/null'
else
    echo "left out: clpeak"
fi
if ffmpeg -v error -filters 2>/dev/null | grep -q avgblur_opencl; then
    ffmpeg -v error -y -f lavfi -i testsrc=size=160x120:rate=5:duration=1 -pix_fmt yuv420p "$work/v.y4m" || fail ffmpeg
    for filter in avgblur_opencl=3 unsharp_opencl sobel_opencl transpose_opencl; do
        try "ffmpeg $filter" exact 5 ffmpeg -v error -y -init_hw_device opencl=o:0.0 -filter_hw_device o \
            -i "$work/v.y4m" -vf "format=yuv420p,hwupload,$filter,hwdownload,format=yuv420p" -f md5 -
    done
else
    echo "left out: ffmpeg with OpenCL"
fi
# build NAME LIBRARY HEADER: a program in tests/replay/programs that needs a library of Debian's.
build() {
    printf '#include <%s>\nint main(void) { return 0; }\n' "$3" >"$work/probe.c"
    if "${CC:-cc}" -w -DCL_TARGET_OPENCL_VERSION=120 "$work/probe.c" -o "$work/probe" -l"$2" -lOpenCL 2>/dev/null; then
        "${CC:-cc}" -w -DCL_TARGET_OPENCL_VERSION=120 "$TRACESMITH_SOURCE_DIR/tests/replay/programs/$1.c" -o "$work/$1" -l"$2" \
            -lOpenCL -lm || fail "$1 does not compile"
        try "$1" exact 2 "$work/$1"
    else
        echo "left out: $1 ($2 is not there)"
    fi
}
build clblast_gemm clblast clblast_c.h
build clfft_round_trip clFFT clFFT.h
if "$python" -c 'import cv2; import sys; sys.exit(not cv2.ocl.useOpenCL())' 2>/dev/null; then
    try "OpenCV UMat" exact 10 "$python" "$TRACESMITH_SOURCE_DIR/tests/replay/programs/opencv_umat.py"
else
    echo "left out: OpenCV (Debian: python3-opencv)"
fi

echo "$tried programs, $times replays of each"
