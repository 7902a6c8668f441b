#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything that only a GPU can prove, in one command: tests/gpu/run.sh [--built DIR] [--out DIR]
#
# Needs an NVIDIA GPU with its driver, and a CUDA toolkit (CUDA_HOME, or under /usr/local). No root, no network, no package.
#   --built DIR  use the build in DIR (bin/tracesmith, lib/) instead of building: for a machine without cmake or headers
#   --out DIR    where results.md, traces and raw CUPTI buffers go; gpu-results in the current folder when not given
#
# Builds TraceSmith and the CUDA programs of programs/, runs each under `tracesmith profile`, compares what it counted with
# its trace, compares times with CUDA events, and prints the table of figures. Exit codes: 0 all true, 1 something is not,
# 2 usage, 4 a tool is lacking (said which), 77 there is no GPU (everything was built).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
built=
out=gpu-results
limit=90 # seconds for one program

say() { printf '%s\n' "$*"; }
die() {
    code=$1
    shift
    printf 'run.sh: %s\n' "$*" >&2
    exit "$code"
}

while [ $# -gt 0 ]; do
    case $1 in
    --built) built=${2:?--built needs a folder} && shift 2 ;;
    --out) out=${2:?--out needs a folder} && shift 2 ;;
    *) die 2 "what is '$1'? usage: run.sh [--built DIR] [--out DIR]" ;;
    esac
done
mkdir -p "$out"
out=$(cd "$out" && pwd)
results=$out/results.md
failures=0
lacking=

# ---- tools

find_cuda() {
    for cuda in "${CUDA_HOME-}" /usr/local/cuda /usr/local/cuda-*; do
        [ -z "$cuda" ] || [ ! -x "$cuda/bin/nvcc" ] || return 0
    done
    return 1
}
find_cuda || die 4 "no CUDA toolkit: nvcc is neither in CUDA_HOME/bin nor under /usr/local/cuda*/bin"
cupti_include=$cuda/include
[ -f "$cupti_include/cupti.h" ] || cupti_include=$cuda/extras/CUPTI/include
cupti_lib=$cuda/lib64
[ -e "$cupti_lib/libcupti.so" ] || cupti_lib=$cuda/extras/CUPTI/lib64

need_command() {
    command -v "$1" >/dev/null || lacking="$lacking $1"
}
need_header() {
    printf '#include <%s>\n' "$1" | "${CC:-cc}" -E - >/dev/null 2>&1 || lacking="$lacking $1"
}
need_command "${CC:-cc}"
need_command awk
need_command timeout
if [ -z "$built" ]; then
    need_command cmake
    for header in zstd.h zlib.h sqlite3.h expat.h; do need_header "$header"; done
fi
[ -z "$lacking" ] || die 4 "this machine lacks:$lacking" \
    "(Debian: cmake gcc libzstd-dev zlib1g-dev libsqlite3-dev libexpat1-dev; or --built DIR with a build made elsewhere)"

# ---- building

build_tracesmith() {
    [ -z "$built" ] || return 0
    built=$out/build
    say "building TraceSmith in $built"
    if ! { cmake -S "$root" -B "$built" -DCMAKE_BUILD_TYPE=Release -DTRACESMITH_BUILD_TESTS=OFF \
        -DTRACESMITH_BUILD_BENCH=OFF -DTRACESMITH_BUILD_EXAMPLES=OFF && cmake --build "$built" -j "$(nproc)"; } \
        >"$out/build.log" 2>&1; then
        die 4 "TraceSmith does not build here: $out/build.log"
    fi
}

build_programs() {
    programs=$out/programs
    mkdir -p "$programs"
    say "building the CUDA programs with $cuda/bin/nvcc"
    : >"$out/nvcc.log"
    for source in "$here"/programs/*.cu; do
        name=$(basename "$source" .cu)
        libraries=
        case $name in
        runtime_compiled) libraries="-lnvrtc -L$cuda/lib64/stubs -lcuda" ;;
        cublas) libraries=-lcublas ;;
        nvtx) libraries=-ldl ;;
        collectives)
            libraries=-lnccl
            [ -f "$cuda/include/nccl.h" ] || printf '#include <nccl.h>\n' | "${CC:-cc}" -E - >/dev/null 2>&1 || {
                say "collectives: left out, NCCL's header is not here"
                continue
            }
            ;;
        esac
        # -cudart shared: as most programs of frameworks are linked. The words of $libraries are several.
        # shellcheck disable=SC2086
        "$cuda/bin/nvcc" -O2 -std=c++14 -cudart shared -Wno-deprecated-gpu-targets -o "$programs/$name" "$source" $libraries \
            >>"$out/nvcc.log" 2>&1 || die 4 "$name.cu does not compile: $out/nvcc.log"
    done
    "${CC:-cc}" -O2 -shared -fPIC -I "$cupti_include" -I "$cuda/include" -o "$programs/libcupti_only.so" \
        "$here/programs/cupti_only.c" -L "$cupti_lib" -lcupti -Wl,-rpath,"$cupti_lib" >>"$out/nvcc.log" 2>&1 ||
        die 4 "cupti_only.c does not compile: $out/nvcc.log"
}

build_tracesmith
tracesmith=$(cd "$built" && pwd)/bin/tracesmith
[ -x "$tracesmith" ] || die 4 "$tracesmith is not there: --built names a build folder of TraceSmith"
"$tracesmith" version >"$out/version.txt" || die 4 "$tracesmith does not run here: see ldd $tracesmith"
build_programs
LD_LIBRARY_PATH=$cuda/lib64:$cupti_lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

"$programs/gpu_info" >"$out/gpu.txt" || {
    code=$?
    cat "$out/gpu.txt"
    say "everything was built; what is to be proved needs an NVIDIA GPU and its driver"
    exit "$code"
}

# ---- comparing

# ask TRACE SQL: one value.
ask() {
    "$tracesmith" query --csv "$1" "$2" | tail -n +2 | head -n 1 | tr -d '"\r'
}

# fact WHAT IS WANTED
fact() {
    if [ "$2" = "$3" ]; then
        return 0
    fi
    say "NOT TRUE: $1: the trace has '$2', the program '$3'"
    failures=$((failures + 1))
}

# compare NAME: the lines the program printed against its trace.
compare() {
    trace=$out/$1.sbt
    while read -r what first second third; do
        case $what in
        kernel) fact "$1: kernel $first" \
            "$(ask "$trace" "SELECT count(*) FROM kernel WHERE name = '$first' OR name LIKE '$first(%'")" "$second" ;;
        kernels-least)
            count=$(ask "$trace" "SELECT count(*) FROM kernel")
            [ "$count" -ge "$first" ] || fact "$1: kernels" "$count" "$first at least"
            ;;
        memcpy) fact "$1: copies $first" \
            "$(ask "$trace" "SELECT count(*) || ' ' || coalesce(sum(bytes), 0) FROM memcpy WHERE direction = '$first'")" \
            "$second $third" ;;
        range | marker) fact "$1: $what $first" "$(ask "$trace" "SELECT count(*) FROM $what WHERE name = '$first'")" "$second" ;;
        projected) fact "$1: kernels launched in $first" "$("$tracesmith" analyze --csv --only ranges "$trace" |
            awk -F, -v name="$first" '$3 == name { print $8; exit }')" "$second" ;;
        collective) fact "$1: $first" \
            "$(ask "$trace" "SELECT count(*) || ' ' || coalesce(sum(bytes), 0) FROM collective WHERE name = '$first'")" \
            "$second $third" ;;
        memset) fact "$1: fills" \
            "$(ask "$trace" "SELECT count(*) || ' ' || coalesce(sum(bytes), 0) FROM memset")" "$first $second" ;;
        esac
    done <"$out/$1.txt"
    fact "$1: lost" "$(ask "$trace" "SELECT coalesce(sum(lost), 0) FROM loss")" 0
    fact "$1: kernels without a time" "$(ask "$trace" "SELECT count(*) FROM kernel WHERE duration IS NULL")" 0
}

# prove NAME [ARGUMENT...]: runs a program under profile and compares.
prove() {
    name=$1
    shift
    code=0
    [ -x "$programs/$name" ] || return 0
    timeout "$limit" "$tracesmith" profile -o "$out/$name.sbt" -- "$programs/$name" "$@" >"$out/$name.txt" \
        2>"$out/$name.err" || code=$?
    if [ "$code" -eq 77 ]; then
        say "$name: $(head -n 1 "$out/$name.txt")"
        return 0
    fi
    if [ "$code" -ne 0 ]; then
        say "NOT TRUE: $name ended with $code: $(tail -n 1 "$out/$name.err")"
        failures=$((failures + 1))
        return 0
    fi
    before=$failures
    compare "$name"
    [ "$before" -ne "$failures" ] || say "$name: as the program counted"
}

# figure FILE NAME: a value that the program printed.
figure() {
    awk -v name="$2" '$1 == "figure" && $2 == name { print $3 }' "$1"
}

# row WHAT VALUE ASKED
row() {
    printf '| %s | %s | %s |\n' "$1" "$2" "$3" | tee -a "$results"
}

# ---- what is counted

head_of_results() {
    say "# On a GPU"
    say
    cat "$out/gpu.txt" "$out/version.txt"
    say
    say "| what | measured | asked |"
    say "|---|---|---|"
}
head_of_results >"$results"
cat "$out/gpu.txt"
for name in vector_add matrix streams graph peer runtime_compiled cublas children nvtx collectives; do prove "$name"; done

# The devices, and their counters while a program runs.
"$tracesmith" devices >"$out/devices.txt" 2>&1 || true
grep -q ' cuda gpu' "$out/devices.txt" || fact "devices" "$(head -n 1 "$out/devices.txt")" "a GPU"
counters() {
    "$tracesmith" profile --gpu-counters 50 -o "$out/counters.sbt" -- "$programs/launches" 300000 >/dev/null \
        2>"$out/counters.err" || true
    grep 'cannot be sampled' "$out/counters.err" && return 0
    for counter in power 'SM clock' 'memory used' 'GPU utilisation'; do
        [ "$(ask "$out/counters.sbt" "SELECT count(*) FROM counter WHERE name = '$counter' AND value > 0")" != 0 ] ||
            say "counters: $counter: this GPU does not tell it, or 0"
    done
    row "counters: samples of power, watts at least and at most" "$(ask "$out/counters.sbt" \
        "SELECT count(*) || ', ' || min(value) || ' to ' || max(value) FROM counter WHERE name = 'power'")" ""
}
counters

# ---- times

# Differences of neighbours, a short kernel and a long one, by events and by the trace: median and largest disagreement.
agreement() {
    prove events
    [ -s "$out/events.sbt" ] || return 0
    "$tracesmith" query --csv "$out/events.sbt" "SELECT duration FROM kernel WHERE name LIKE 'spin%' ORDER BY start" |
        tail -n +3 >"$out/spin.txt"
    awk '$1 == "event" { print $3 }' "$out/events.txt" | paste - "$out/spin.txt" |
        awk 'NR % 2 == 0 { d = ($1 - event) - ($2 - kernel); print d < 0 ? -d : d } { event = $1; kernel = $2 }' | sort -n |
        awk '{ v[NR] = $1 } END { if (NR) printf "%.0f %.0f\n", v[int((NR + 1) / 2)], v[NR] }' >"$out/agreement.txt"
    read -r median worst <"$out/agreement.txt" || return 0
    row "agreement with CUDA events, kernels of 1 and 2 ms (median, largest; the events' own step is 500 ns)" \
        "$median ns, $worst ns" "within 1 us"
}
agreement

# ---- what it costs

# least FILE VALUE: keeps the least of several runs.
least() {
    if [ ! -s "$1" ] || awk -v a="$2" -v b="$(cat "$1")" 'BEGIN { exit !(a < b) }'; then say "$2" >"$1"; fi
}

run_launches() {
    how=$1
    shift
    "$@" "$programs/launches" 10000 >"$out/launches.txt" 2>"$out/launches.err" || return 0
    least "$out/$how.ns" "$(figure "$out/launches.txt" launch_ns)"
    least "$out/$how.wall" "$(awk -v v="$(figure "$out/launches.txt" kernels_per_second)" 'BEGIN { print 1e9 / v }')"
}

costs() {
    rm -f "$out"/*.ns "$out"/*.wall
    for _ in 1 2 3 4 5; do
        run_launches bare env
        run_launches cupti env CUDA_INJECTION64_PATH="$programs/libcupti_only.so"
        run_launches ours "$tracesmith" profile -o "$out/launches.sbt" --
        run_launches stacks "$tracesmith" profile --stacks -o "$out/launches-stacks.sbt" --
    done
    for how in bare cupti ours stacks; do
        [ -s "$out/$how.ns" ] || { say 0 >"$out/$how.ns" && say 0 >"$out/$how.wall"; }
    done
    bare=$(cat "$out/bare.ns")
    row "a launch, ns of host time: bare; with CUPTI alone; with ours; with stacks too (least of 5)" \
        "$bare; $(cat "$out/cupti.ns"); $(cat "$out/ours.ns"); $(cat "$out/stacks.ns")" ""
    row "added by us beyond CUPTI's own, ns per launch" \
        "$(awk -v a="$(cat "$out/ours.ns")" -v b="$(cat "$out/cupti.ns")" 'BEGIN { printf "%.0f", a - b }')" "at most 200"
    row "10,000 kernels with stacks: kernels/s; of the rate without us" \
        "$(awk -v a="$(cat "$out/stacks.wall")" -v b="$(cat "$out/bare.wall")" \
            'BEGIN { if (a > 0) printf "%.0f; %.0f %%", 1e9 / a, 100 * b / a }')" "280,371, or 90 %"
}
costs

million() {
    limit=180
    rm -f "$out/launches.sbt"
    prove launches 1000000
    row "1 M launches: kernels in the trace, lost" \
        "$(ask "$out/launches.sbt" "SELECT count(*) FROM kernel WHERE name LIKE 'nothing%'") of 1000001, $(ask "$out/launches.sbt" \
            "SELECT coalesce(sum(lost), 0) FROM loss")" "all, 0"
}
million

training() {
    command -v python3 >/dev/null || return 0
    code=0
    python3 "$here/programs/train.py" plain 5 >"$out/train.txt" 2>"$out/train.err" || code=$?
    if [ "$code" -ne 0 ]; then
        say "PyTorch: $(cat "$out/train.txt" "$out/train.err" | tail -n 1)"
        return 0
    fi
    rm -f "$out"/train-*.least
    for _ in 1 2 3; do
        for how in plain kineto; do
            python3 "$here/programs/train.py" "$how" 100 >"$out/train.txt" 2>/dev/null &&
                least "$out/train-$how.least" "$(figure "$out/train.txt" step_ns)"
        done
        "$tracesmith" profile -o "$out/train.sbt" -- python3 "$here/programs/train.py" plain 100 >"$out/train.txt" \
            2>/dev/null && least "$out/train-ours.least" "$(figure "$out/train.txt" step_ns)"
    done
    row "a PyTorch training step, us: bare; with Kineto; with ours (least of 3)" \
        "$(for how in plain kineto ours; do awk '{ printf "%.0f; ", $1 / 1000 }' "$out/train-$how.least"; done)" \
        "ours adds at most half of what Kineto adds"
}
training

# ---- test data for the doubles

for name in vector_add graph; do
    CUDA_INJECTION64_PATH=$programs/libcupti_only.so CUPTI_BUFFERS=$out/cupti-$name.bin "$programs/$name" >/dev/null || true
done

say
cat "$results"
say
say "in $out: results.md (for docs/gpu-results.md), traces, cupti-*.bin (raw buffers of our own programs)"
[ "$failures" -eq 0 ] || die 1 "$failures facts are not true"
