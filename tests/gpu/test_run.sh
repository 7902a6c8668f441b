#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh itself, where there is no GPU: a fake nvcc makes "CUDA programs" that run an OpenCL program of ours and print
# its counts; so the comparing, the table and the exit codes are tried. Then with a count that is not true. With a
# real toolkit: that everything compiles, and that the missing GPU is reported.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
loop=$TRACESMITH_BUILD_DIR/tests/programs/cl_launch_loop
run=$TRACESMITH_SOURCE_DIR/tests/gpu/run.sh
[ -x "$loop" ] || { echo "skipped: no OpenCL program is built"; exit 77; }
"$loop" -n 1 >/dev/null 2>&1 || { echo "skipped: no OpenCL device"; exit 77; }
# No limit but that of the program that hangs decides anything here, and each cost is measured once.
export TRACESMITH_GPU_PATIENCE=20 TRACESMITH_GPU_ROUNDS=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*"
    cat "$work/out"
    exit 1
}

# The driver's libraries for devices and counters are the mocks of tests/nvml.
mkdir "$work/driver"
for library in nvml:libnvidia-ml.so.1 cuda:libcuda.so.1; do
    "${CC:-cc}" -w -shared -fPIC -I "$TRACESMITH_SOURCE_DIR/agents/nvml" -o "$work/driver/${library#*:}" \
        "$TRACESMITH_SOURCE_DIR/tests/nvml/mock_${library%:*}.c"
done

# A toolkit of scripts. For NAME.cu, nvcc makes a script that prints the output of NAME on a GPU.
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
graph) body='[ -z "${HANG-}" ] || sleep 1000; "$LOOP" -n 49 >/dev/null && echo "kernel tick 50"' ;;
cublas) body='[ -z "${NO_CUBLAS-}" ] || { echo "$0: error while loading shared libraries: libcublas.so.13: cannot open shared object file" >&2; exit 127; }
    "$LOOP" -n 9 >/dev/null && echo "kernels-least 10"' ;;
streams) body='[ -z "${CRASH-}" ] || kill -SEGV $$; "$LOOP" -n 49 >/dev/null && echo "kernel tick 50"' ;;
vector_add) body='[ -z "${CUPTI_SAY-}" ] || echo "cupti 130001 records ${CUPTI_RECORDS-100} buffers 1" >&2
    "$LOOP" -n 49 >/dev/null && printf "kernel tick 50\nmemcpy h2d 1 4\nmemcpy d2h 1 4\n"' ;;
gpu_info) body='case ${OLD_DRIVER-}:$LD_LIBRARY_PATH in yes:*/compat:* | :*) echo "GPU 0: simulated" ;; *) exit 77 ;; esac' ;;
peer) body='echo "skipped: not enough GPUs"; exit 77' ;;
events) body='"$LOOP" -n 9 >/dev/null && echo "kernel tick 10"' ;;
launches) body='"$LOOP" -n 20 >/dev/null && printf "kernel tick 21\nfigure launch_ns 12.5\nfigure kernels_per_second 1000\n"' ;;
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
export TRACESMITH_GPU_SEARCH="$work/cuda"
mkdir "$work/cuda/compat"
ln -s "$work/driver/libcuda.so.1" "$work/cuda/compat/"

# run [ARGUMENT...]: results in $work/results; the exit code in $code.
run() {
    code=0
    LD_LIBRARY_PATH=$work/driver LOOP=$loop CUDA_HOME=$work/cuda CC=$work/cc "$run" --build --built "$TRACESMITH_BUILD_DIR" --out "$work/results" "$@" \
        >"$work/out" 2>&1 || code=$?
}
results=$work/results/results.md

# results.md is complete: its last line is only there once everything is.
whole() {
    [ -s "$results" ] || fail "$1: there are no results"
    tail -n 1 "$results" | grep -q '^End of the results, written ' || fail "$1: results.md is not whole"
    gzip -t "$work/results/raw.tar.gz" || fail "$1: raw.tar.gz is not whole"
}

# The driver is older than the toolkit, which brings its own.
OLD_DRIVER=yes run
[ "$code" -eq 0 ] || fail "what is true gave $code"
for name in vector_add matrix streams graph runtime_compiled cublas children nvtx collectives events launches; do
    grep -q "^$name: as the program counted" "$work/out" || fail "$name was not compared"
done
grep -q '^peer: skipped: not enough GPUs' "$work/out" || fail "what was left out is not said"
grep -q '^| a launch, ns of host time: .* | 12.5; 12.5; 12.5; 12.5 |' "$results" || fail "the table is not right"
grep -q '^| counters: samples of power, .* | [0-9]*, 123.5 to 123.5 |' "$results" || fail "no counters"
grep -q '^| devices in a trace with CUDA and counters | [0-9]' "$results" || fail "no devices"
grep -q '^# On a GPU (simulated)$' "$results" || fail "the results do not say that they are simulated"
grep -q '^GPU 0: simulated' "$results" || fail "the table does not say where"
grep -q "^with the toolkit's own libcuda, $work/cuda/compat" "$results" || fail "it does not say by which driver"
for stage in probes facts costs torch million samples metrics ends replay kineto others; do
    grep -q "^| $stage | .* | done | [0-9]* |\$" "$results" || fail "stage $stage is not done"
done

for file in results.md run.log raw.tar.gz; do [ -s "$work/results/$file" ] || fail "no $file"; done
[ "$(find "$work/results" -type f | wc -l)" -eq 3 ] || fail "more than three files come out"
tar -tzf "$work/results/raw.tar.gz" | grep -q 'vector_add.sbt' || fail "the traces are not kept"

# A debugger that is quick.
mkdir "$work/bin"
printf '#!/bin/sh\necho "#0 in the debugger: $*"\n' >"$work/bin/cuda-gdb"
chmod +x "$work/bin/cuda-gdb"
PATH=$work/bin:$PATH

# A folder of programs, as pack.sh makes it.
mkdir "$work/pack"
LOOP=$loop CC=$work/cc "$TRACESMITH_SOURCE_DIR/tests/gpu/build_programs.sh" "$work/pack/programs" "$work/cuda"

# PyTorch, as far as the script sees it: with what it prints.
cat >"$work/bin/python3" <<'PYTHON'
#!/bin/sh
case $1:$2 in
*:plain) [ -n "${NOTHING-}" ] || "$LOOP" -n 9 >/dev/null ;;
esac
case $1:$2 in
*/train.py:plain) echo "version PyTorch 2.11.0+cu130, CUDA 13.0" && echo "figure step_ns 1000000" ;;
*/train.py:kineto) printf 'figure kineto_kernels 300\nfigure step_ns 1500000\n' ;;
*/launches.py:plain) echo "figure launch_ns 2000" ;;
*/launches.py:*) echo "figure launch_ns 5000" ;;
*) exit 1 ;;
esac
PYTHON
chmod +x "$work/bin/python3"
touch "$work/pack/programs/liblaunches.so"
run --programs "$work/pack" torch kineto
[ "$code" -eq 0 ] || fail "with PyTorch the exit code is $code"
grep -q '^| PyTorch | PyTorch 2.11.0+cu130, CUDA 13.0 |' "$results" || fail "which PyTorch is not said"
grep -q '^| a PyTorch training step, us: .* | 1000; 1500; 1000; -;  | .* | yes |' "$results" || fail "training steps are not compared"
grep -q "^| Kineto's own kernels: without us; with us | 300; 300 | the same number | yes |" "$results" || fail "Kineto's kernels are not compared"
grep -q '^| a launch in PyTorch.s process, ns: .* | 2000; 5000; 5000; 2000; 2000;  | .* | yes |' "$results" ||
    fail "launches in PyTorch are not compared"
# Where nothing was recorded, what that cost is not measured.
NOTHING=yes run --programs "$work/pack" torch kineto
grep -q '^| a PyTorch training step, us: .* | 1000; 1500; -; -;  | .* | not measured |' "$results" || fail "nothing recorded counts as cheap"
grep -q '^| a launch in PyTorch.s process, ns: .* | 2000; 5000; 5000; -; -;  | .* | not measured |' "$results" ||
    fail "nothing recorded counts as cheap"
rm "$work/bin/python3"

# Failures are reported, and the rest continues: a program that does not compile, one that counts something else, one
# that hangs (its limit is what decides), one that crashes, one whose library is not there, a CUPTI that has no
# records with this driver.
BROKEN=nvtx COUNT=51 HANG=yes CRASH=yes NO_CUBLAS=yes CUPTI_RECORDS=0 TRACESMITH_GPU_LIMITS='graph=1' run probes facts
[ "$code" -eq 1 ] || fail "what is not true gave $code"
whole "with failures"
grep -q "^NOT TRUE: matrix: kernel tick: the trace has '50', the program '51'" "$work/out" || fail "it is not said what"
grep -q '^| nvtx | does not compile: nvtx.cu: error: broken |' "$results" || fail "what does not compile is not said"
grep -q '^events: as the program counted' "$work/out" || fail "one failure ended all"
grep -q '^| graph | ended with 124: its time was over; its stacks are below |' "$results" || fail "what hangs is not said"
grep -q '^== process [0-9]*: sleep 1000' "$results" || fail "the process that hangs is not there"
grep -q '^#0 in the debugger: -p [0-9]' "$results" || fail "no debugger was asked"
grep -q '^thread [0-9]* sleep: ' "$results" || fail "the stack of what hangs is not there"
! grep -q '^NOT TRUE: cublas' "$work/out" || fail "what is not there counts as not true"
grep -q '^| cublas | not there: libcublas.so.13 |' "$results" || fail "what is not there is not said"
grep -q '^| streams | ended with 139' "$results" || fail "a crash is not said"
grep -q '^| CUPTI in .* | does not work with this driver: ' "$results" || fail "a CUPTI that does not work is not said"
grep -q "^| CUPTI | taken although it had no records at the program's end: " "$results" || fail "the only CUPTI is not taken"
for stage in costs torch million; do ! grep -q "^| $stage |" "$results" || fail "stage $stage was not asked for"; done

# Without any time left it ends, and prints what was not done.
TRACESMITH_GPU_SECONDS=0 run --programs "$work/pack"
[ "$code" -eq 3 ] || fail "without time the code is $code"
whole "without time"
grep -q '^\*\*the time was over before the GPU was asked\*\*' "$results" || fail "what was not done is not said"

# Killed in any stage, what was measured before is there, and whole: each stage here waits for that in its first program.
for stage in probes facts costs; do
    rm -rf "$work/results"
    mkfifo "$work/log"
    LD_LIBRARY_PATH=$work/driver LOOP=$loop CUDA_HOME=$work/cuda CC=$work/cc setsid "$run" --built "$TRACESMITH_BUILD_DIR" \
        --programs "$work/pack" --out "$work/results" $stage >"$work/log" 2>&1 &
    group=$!
    while read -r line; do
        case $line in "== stage $stage: "*) break ;; esac
    done <"$work/log"
    kill -KILL -"$group"
    wait "$group" 2>/dev/null || true
    rm "$work/log"
    whole "killed in $stage"
    grep -q "^| $stage | .* | begun, and not ended |" "$results" || fail "killed in $stage: it is not said that it did not end"
    [ "$stage" = probes ] || grep -q '^| probes | .* | done |' "$results" || fail "killed in $stage: what was done before is not said"
done

# Killed within a stage, what it has measured is there, too.
rm -rf "$work/results"
mkfifo "$work/log"
LD_LIBRARY_PATH=$work/driver LOOP=$loop CUDA_HOME=$work/cuda CC=$work/cc setsid "$run" --built "$TRACESMITH_BUILD_DIR" \
    --programs "$work/pack" --out "$work/results" facts >"$work/log" 2>&1 &
group=$!
while read -r line; do
    case $line in 'vector_add: as the program counted') break ;; esac
done <"$work/log"
kill -KILL -"$group"
wait "$group" 2>/dev/null || true
rm "$work/log"
whole "killed within facts"
grep -q '^| vector_add | as the program counted |' "$results" || fail "killed within facts: what was measured is not there"

# A checkout with a folder of pack.sh builds nothing.
mkdir -p "$work/checkout/tests/gpu"
cp "$TRACESMITH_SOURCE_DIR"/tests/gpu/*.sh "$work/checkout/tests/gpu/"
ln -s "$work/pack" "$work/checkout/build-gpu"
code=0
LD_LIBRARY_PATH=$work/driver LOOP=$loop CUDA_HOME=$work/cuda CC=$work/cc "$work/checkout/tests/gpu/run.sh" --built "$TRACESMITH_BUILD_DIR" \
    --out "$work/results" probes >"$work/out" 2>&1 || code=$?
[ "$code" -eq 0 ] || fail "in a checkout with build-gpu the code is $code"
grep -q "^using $work/checkout/build-gpu" "$work/out" || fail "build-gpu was not used"
! grep -q '^building' "$work/out" || fail "something was built although build-gpu is there"

# Where there is a toolkit everything compiles, and then it is the GPU that is there or not.
for cuda in "${CUDA_HOME-}" /usr/local/cuda /usr/local/cuda-*; do
    [ -x "$cuda/bin/nvcc" ] || continue
    code=0
    CUDA_VISIBLE_DEVICES='' CUDA_HOME=$cuda "$run" --build --built "$TRACESMITH_BUILD_DIR" --out "$work/real" >"$work/out" 2>&1 || code=$?
    [ "$code" -eq 77 ] || fail "without a GPU the code is $code"
    grep -q '^everything was built' "$work/out" || fail "what is lacking is not said"
    break
done
