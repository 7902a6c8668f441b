#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Foreign programs are recorded with their data and replayed in another process, from another place: what
# they compute is the same with and without recording, and every result of the replay is exact; where the order of a
# floating-point sum is not fixed, it is noise. A program that is not installed is left out, which is printed.
#
# docs/replay.md lists the programs. TRACESMITH_SOAK: a hundred replays each, and programs whose kernels take minutes
# to build. TRACESMITH_PROGRAMS: only those whose name has this in it. With one of these, each program of pyopencl is a process of its own.
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

# try NAME exact|noise LEAST COMMAND...: at least LEAST results.
try() {
    name=$1
    kind=$2
    least=$3
    shift 3
    case $name in *"${TRACESMITH_PROGRAMS-}"*) ;; *) return 0 ;; esac
    "$@" >"$work/alone" 2>"$work/alone.err" || fail "$name does not run by itself: $(tail -3 "$work/alone.err")"
    "$TRACESMITH" profile --capture -o "$work/run.sbt" -- "$@" >"$work/recorded" 2>"$work/recorded.err" ||
        fail "$name: $(tail -3 "$work/recorded.err")"
    cmp -s "$work/alone" "$work/recorded" || fail "recording changes what $name says"
    mv "$work/run.sbt" "$work/elsewhere/moved.sbt"
    # How the last bits of a float sum come out is the device's luck: only that no order moves it by more than all its roundings.
    tolerance=
    [ "$kind" = exact ] || tolerance="--tolerance 65536"
    code=0
    # shellcheck disable=SC2086 # empty, or two words
    "$TRACESMITH" replay --json --times "$times" $tolerance "$work/elsewhere/moved.sbt" >"$work/answer.json" 2>"$work/err" || code=$?
    [ "$least" -eq 0 ] && want=4 || want=0 # 4: there was nothing to compare
    [ "$code" -eq "$want" ] || fail "$name: replay gave $code: $(tail -3 "$work/err") $(cut -c1-2000 "$work/answer.json")"
    python3 -c 'import json, sys
a = json.load(open(sys.argv[1])); v = a["verdicts"]; n = len(a["results"])
good = v["exact"] + (v["within-tolerance"] + v["within-noise"] if sys.argv[2] == "noise" else 0) == n >= int(sys.argv[3])
sys.exit(None if good else json.dumps([v, a["notes"], [r for r in a["results"] if r["verdict"] != "exact"][:3]]))' \
        "$work/answer.json" "$kind" "$least" || fail "$name"
    tried=$((tried + 1))
}

# Ours.
try cl_ranges exact 2 "$programs/cl_ranges"
try cl_binary exact 2 "$programs/cl_binary"
try cl_what_if exact 1 sh -c '"$0" queues >/dev/null' "$programs/cl_what_if"
[ ! -x "$TRACESMITH_BUILD_DIR/examples/image_pipeline" ] ||
    try image_pipeline exact 5 sh -c '"$0" -n 4 -s 256x128 --json | sed "s/.*\"checksum\"/checksum/; s/,.*//"' \
        "$TRACESMITH_BUILD_DIR/examples/image_pipeline"

# pyopencl: arrays, scans, sorts, images, shared memory, ...
if "$python" -c 'import pyopencl' 2>/dev/null; then
    "$python" "$pyopencl" >"$work/names"
    if [ -n "${TRACESMITH_SOAK-}${TRACESMITH_PROGRAMS-}" ]; then
        while read -r name noisy; do
            try "pyopencl $name" "$([ -n "$noisy" ] && echo noise || echo exact)" 2 "$python" "$pyopencl" "$name"
        done <"$work/names"
    else
        # All in one process: each interpreter and each replay takes a second to start.
        exact=$(awk 'NF == 1' "$work/names")
        # shellcheck disable=SC2086 # words
        try "pyopencl, exact" exact "$(($(echo "$exact" | wc -l) * 2))" "$python" "$pyopencl" $exact
        # shellcheck disable=SC2046 # words
        try "pyopencl, noisy" noise 2 "$python" "$pyopencl" $(awk 'NF == 2 { print $1 }' "$work/names")
    fi
else
    echo "left out: pyopencl (Debian: python3-pyopencl)"
fi

# Debian's programs.
if command -v clinfo >/dev/null; then
    # It makes no context: there is nothing to replay, and nothing is missing.
    try clinfo exact 0 clinfo -l
    [ -n "${TRACESMITH_PROGRAMS-}" ] || grep -q '"notes":\[\]' "$work/answer.json" || fail "clinfo: $(cat "$work/answer.json")"
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
# build NAME.c|NAME.cc LIBRARY|- HEADER RESULTS: a program in tests/replay/programs that needs a library of Debian's.
build() {
    name=${1%.*}
    compiler=${CC:-cc}
    [ "$1" = "$name.c" ] || compiler=${CXX:-c++}
    link=-lm
    [ "$2" = - ] || link=-l$2
    printf '#include <%s>\nint main(void) { return 0; }\n' "$3" >"$work/probe.${1##*.}"
    if "$compiler" -w -DCL_TARGET_OPENCL_VERSION=120 "$work/probe.${1##*.}" -o "$work/probe" "$link" -lOpenCL 2>/dev/null; then
        "$compiler" -w -O1 -DCL_TARGET_OPENCL_VERSION=120 "$TRACESMITH_SOURCE_DIR/tests/replay/programs/$1" -o "$work/$name" \
            "$link" -lOpenCL -lm || fail "$name does not compile"
        try "$name" exact "$4" "$work/$name"
    else
        echo "left out: $name ($3 is not there)"
    fi
}
build clblast_gemm.c clblast clblast_c.h 2
build clfft_round_trip.c clFFT clFFT.h 2
build viennacl_solve.cc - viennacl/vector.hpp 30
build boost_compute.cc - boost/compute.hpp 10
# CLBlast's own tests, each against its own reference.
for routine in xamax xaxpy xdot xnrm2 xger; do
    if command -v "clblast_test_$routine" >/dev/null; then
        try "clblast_test_$routine" exact 700 "clblast_test_$routine" -platform 0 -device 0
    else
        echo "left out: clblast_test_$routine (Debian: clblast-tests)"
    fi
done
if command -v clFFT-client >/dev/null; then
    # It prints how fast it was.
    try clFFT-client exact 3 sh -c 'clFFT-client -x 64 -y 64 -p 3 >/dev/null'
else
    echo "left out: clFFT-client (Debian: clfft-client)"
fi
if command -v wlangenpmkocl >/dev/null; then
    seq 10000000 10000300 >"$work/words"
    # Its batches double while the device is fast enough: how many there are depends on that.
    try wlangenpmkocl exact 4 sh -c 'rm -f "$1"; wlangenpmkocl -e name -i "$0" -a "$1" && sort "$1"' "$work/words" "$work/keys"
else
    echo "left out: wlangenpmkocl (Debian: hcxkeys)"
fi
for example in vector_scal incrementer block variable; do
    starpu=$(ls /usr/lib/*/starpu/examples/$example 2>/dev/null) || starpu=
    if [ -n "$starpu" ]; then
        try "starpu $example" exact 1 env STARPU_NCPU=0 STARPU_NCUDA=0 STARPU_NOPENCL=1 STARPU_OPENCL_ON_CPUS=1 \
            STARPU_HOME="$work" STARPU_SILENT=1 "$starpu"
    else
        echo "left out: starpu $example (Debian: starpu-examples)"
    fi
done
if [ -n "${TRACESMITH_SOAK-}" ] && command -v hashcat >/dev/null; then
    printf '5f4dcc3b5aa765d61d8327deb882cf99\n' >"$work/hash"
    printf 'foo\npassword\nbar\n' >"$work/candidates"
    try hashcat exact 30 sh -c 'rm -f "$0"; hashcat -m 0 --potfile-path="$0" --force -D 1 -n 1 -u 1 --backend-vector-width 1 \
        --self-test-disable "$1" "$2" >/dev/null; cat "$0"' "$work/pot" "$work/hash" "$work/candidates"
else
    echo "left out: hashcat (its kernels build for half a minute: TRACESMITH_SOAK)"
fi
if "$python" -c 'import cv2; import sys; sys.exit(not cv2.ocl.useOpenCL())' 2>/dev/null; then
    try "OpenCV UMat" exact 10 "$python" "$TRACESMITH_SOURCE_DIR/tests/replay/programs/opencv_umat.py"
else
    echo "left out: OpenCV (Debian: python3-opencv)"
fi

echo "$tried programs, $times replays of each"
