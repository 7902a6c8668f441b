#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh itself, where there is no GPU: a fake nvcc makes "CUDA programs" that run an OpenCL program of ours and say what
# that counts; so the comparing, the table and the exit codes are tried. Then with a count that is not true. With a real
# toolkit: that everything compiles, and that the lack of a GPU is said.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
loop=$TRACESMITH_BUILD_DIR/tests/programs/cl_launch_loop
run=$TRACESMITH_SOURCE_DIR/tests/gpu/run.sh
[ -x "$loop" ] || { echo "skipped: no OpenCL program is built"; exit 77; }
"$loop" -n 1 >/dev/null 2>&1 || { echo "skipped: no OpenCL device"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*"
    cat "$work/out"
    exit 1
}

# The driver's libraries for devices and counters are the doubles of tests/nvml.
mkdir "$work/driver"
for library in nvml:libnvidia-ml.so.1 cuda:libcuda.so.1; do
    "${CC:-cc}" -w -shared -fPIC -I "$TRACESMITH_SOURCE_DIR/agents/nvml" -o "$work/driver/${library#*:}" \
        "$TRACESMITH_SOURCE_DIR/tests/nvml/double_${library%:*}.c"
done

# A toolkit of scripts. What nvcc makes of NAME.cu is a script that says what NAME says on a GPU.
mkdir -p "$work/cuda/bin" "$work/cuda/include" "$work/cuda/lib64"
cat >"$work/cuda/bin/nvcc" <<'NVCC'
#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    -o) to=$2 && shift ;;
    esac
    shift
done
[ "$(basename "$to")" != "${BROKEN-}" ] || { echo "$BROKEN.cu: error: broken" >&2; exit 2; }
case $(basename "$to") in
gpu_info) body='case ${OLD_DRIVER-}:$LD_LIBRARY_PATH in yes:*/compat:* | :*) echo "GPU 0: simulated" ;; *) exit 77 ;; esac' ;;
peer) body='echo "skipped: not enough GPUs"; exit 77' ;;
events) body='"$LOOP" -n 9 >/dev/null && echo "kernel tick 10"' ;;
launches) body='"$LOOP" -n 20 >/dev/null && printf "kernel tick 21\nfigure launch_ns 12.5\nfigure kernels_per_second 1000\n"' ;;
cublas) body='"$LOOP" -n 9 >/dev/null && echo "kernels-least 10"' ;;
*) body='"$LOOP" -n 49 >/dev/null && printf "kernel tick ${COUNT:-50}\nmemcpy h2d 1 4\nmemcpy d2h 1 4\n"' ;;
esac
printf '#!/bin/sh\n%s\n' "$body" >"$to"
chmod +x "$to"
NVCC
cat >"$work/cc" <<'CC'
#!/bin/sh
for word in "$@"; do to=$last last=$word && case $to in -o) : >"$word" ;; esac; done
exit 0
CC
chmod +x "$work/cuda/bin/nvcc" "$work/cc"
touch "$work/cuda/include/cupti.h" "$work/cuda/lib64/libcupti.so"
mkdir "$work/cuda/compat"
ln -s "$work/driver/libcuda.so.1" "$work/cuda/compat/"

# The driver is older than the toolkit, which brings its own.
code=0
OLD_DRIVER=yes LD_LIBRARY_PATH=$work/driver LOOP=$loop CUDA_HOME=$work/cuda CC=$work/cc "$run" --built "$TRACESMITH_BUILD_DIR" \
    --out "$work/results" >"$work/out" 2>&1 || code=$?
[ "$code" -eq 0 ] || fail "what is true gave $code"
for name in vector_add matrix streams graph runtime_compiled cublas children nvtx collectives events launches; do
    grep -q "^$name: as the program counted" "$work/out" || fail "$name was not compared"
done
grep -q '^peer: skipped: not enough GPUs' "$work/out" || fail "what was left out is not said"
grep -q '^| a launch, ns .* | 12.5; 12.5; 12.5; 12.5 |' "$work/results/results.md" || fail "the table is not right"
grep -q '^| counters: samples of power, .* | [0-9]*, 123.5 to 123.5 |' "$work/results/results.md" || fail "no counters"
grep -q '^| devices in a trace with CUDA and counters | [0-9]' "$work/results/results.md" || fail "no devices"
grep -q '^GPU 0: simulated' "$work/results/results.md" || fail "the table does not say where"
grep -q "^with the toolkit's own libcuda, $work/cuda/compat" "$work/results/results.md" || fail "it does not say by which driver"

for file in results.md run.log raw.tar.gz; do [ -s "$work/results/$file" ] || fail "no $file"; done
[ "$(find "$work/results" -type f | wc -l)" -eq 3 ] || fail "more than three files come out"
tar -tzf "$work/results/raw.tar.gz" | grep -q 'vector_add.sbt' || fail "the traces are not kept"

# What fails is said, and the rest goes on.
code=0
BROKEN=graph COUNT=51 LD_LIBRARY_PATH=$work/driver LOOP=$loop CUDA_HOME=$work/cuda CC=$work/cc "$run" --built "$TRACESMITH_BUILD_DIR" --out "$work/results" \
    >"$work/out" 2>&1 || code=$?
[ "$code" -eq 1 ] || fail "what is not true gave $code"
grep -q "^NOT TRUE: matrix: kernel tick: the trace has '50', the program '51'" "$work/out" || fail "it is not said what"
grep -q '^| graph | does not compile: graph.cu: error: broken |' "$work/results/results.md" || fail "what does not compile is not said"
grep -q '^events: as the program counted' "$work/out" || fail "one failure ended all"

# Without any time left it ends, and says what was not done.
code=0
TRACESMITH_GPU_SECONDS=0 LD_LIBRARY_PATH=$work/driver LOOP=$loop CUDA_HOME=$work/cuda CC=$work/cc "$run" \
    --built "$TRACESMITH_BUILD_DIR" --out "$work/short" >"$work/out" 2>&1 || code=$?
case $code in 0 | 124 | 137) fail "without time the code is $code" ;; esac
[ -s "$work/short/results.md" ] || fail "without time there are no results"

# Where there is a toolkit everything compiles, and then it is the GPU that is there or not.
for cuda in "${CUDA_HOME-}" /usr/local/cuda /usr/local/cuda-*; do
    [ -x "$cuda/bin/nvcc" ] || continue
    code=0
    CUDA_VISIBLE_DEVICES='' CUDA_HOME=$cuda "$run" --built "$TRACESMITH_BUILD_DIR" --out "$work/real" >"$work/out" 2>&1 || code=$?
    [ "$code" -eq 77 ] || fail "without a GPU the code is $code"
    grep -q '^everything was built' "$work/out" || fail "what is lacking is not said"
    break
done
