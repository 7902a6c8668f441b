#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything that only a GPU can prove, in one command: tests/gpu/run.sh [--built DIR] [--out DIR]
#
# Needs an NVIDIA GPU with its driver, and a CUDA toolkit (CUDA_HOME, nvcc in PATH, or under /usr/local). No root, no
# network, no package.
#   --built DIR  use the build in DIR (bin/tracesmith, lib/) instead of building: what tests/gpu/pack.sh made, say. When
#                TraceSmith does not build here, the folder build-gpu of the checkout is taken if it is there
#   --out DIR    where results.md, run.log and raw.tar.gz go; $OUT or gpu-results when not given
#
# Builds TraceSmith and the CUDA programs of programs/, runs each under `tracesmith profile`, compares what it counted with
# its trace, compares times with CUDA events, and prints one table. A step that fails is a line of the table, and the others
# go on; every command has a limit, and all of it ends within 8 minutes (TRACESMITH_GPU_SECONDS). Exit codes: 0 all true (figures
# that are not met are in the table), 1 something is not, 2 usage, 4 a tool is lacking (said which), 77 there is no GPU (everything was built).
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
built=
out=${OUT:-gpu-results}

say() { printf '%s\n' "$*"; }
die() {
    code=$1
    shift
    say "run.sh: $*" >&2
    [ ! -d "${work-}" ] || say "**$***" >>"$work/conclusion"
    exit "$code"
}

for word in "$@"; do [ "$word" != --inside ] || inside=1; done
while [ $# -gt 0 ]; do
    case $1 in
    --inside) shift ;;
    --built | --out)
        [ -n "${2:-}" ] || die 2 "$1 needs a folder"
        if [ "$1" = --out ]; then out=$2; else built=$2; fi
        shift 2
        ;;
    *) die 2 "what is '$1'? usage: run.sh [--built DIR] [--out DIR]" ;;
    esac
done
mkdir -p "$out" || die 2 "$out cannot be made"
out=$(cd "$out" && pwd)
[ -z "$built" ] || built=$(cd "$built" && pwd) || die 2 "there is no such folder for --built"

# Outside: what is printed goes into run.log as well; whatever becomes of the inside, what there is is kept.
if [ -z "${inside-}" ]; then
    seconds=${TRACESMITH_GPU_SECONDS:-450}
    work=$(mktemp -d "${TMPDIR:-/tmp}/tracesmith-gpu.XXXXXX") || exit 2
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    # The inside ends by itself before; a machine without timeout(1) says so there.
    within=
    command -v timeout >/dev/null && within="timeout -k 5 $((seconds + 20))"
    { # shellcheck disable=SC2086 # three words
        WORK=$work SECONDS_LEFT=$seconds $within "$0" --inside --out "$out" ${built:+--built "$built"} 2>&1
        echo $? >"$work/code"
    } | tee "$out/run.log"
    code=$(cat "$work/code")
    {
        say "# On a GPU"
        say
        cat "$work/about" 2>/dev/null
        say
        cat "$work/conclusion" 2>/dev/null
        case $code in 124 | 137) say "**The time was over before all was done.**" ;; esac
        say
        cat "$work/facts" "$work/figures" "$work/devices" 2>/dev/null
    } >"$out/results.md"
    # Traces of a million launches are no test data; the rest is small.
    (cd "$work" && rm -rf build programs/*.o && find . -type f -size -2000k ! -path './programs/*' ! -path './build/*' |
        tar -czf "$out/raw.tar.gz" -T -) 2>/dev/null
    if [ "$(wc -c <"$out/raw.tar.gz")" -gt 15000000 ]; then
        (cd "$work" && find . -type f -size -500k ! -name '*.sbt' ! -path './programs/*' | tar -czf "$out/raw.tar.gz" -T -)
    fi
    say "in $out: results.md (for docs/gpu-results.md), run.log, raw.tar.gz (traces, logs, raw CUPTI buffers of our own programs)"
    exit "$code"
fi

work=${WORK:?run it without --inside}
end=$(($(date +%s) + ${SECONDS_LEFT:?}))
failures=0
loader_path=${LD_LIBRARY_PATH-}
[ -z "${TRACESMITH_SESSION-}" ] || die 2 "this runs inside a recording: end that first"

# ---- steps

left() { echo $((end - $(date +%s))); }

# limited SECONDS COMMAND...: with what is left of the time at most.
limited() {
    most=$1
    shift
    [ "$most" -le "$(left)" ] || most=$(left)
    [ "$most" -gt 0 ] || return 124
    timeout -k 5 "$most" "$@"
}

# verdict WHAT HOW: a line of the table of facts.
verdict() {
    [ -s "$work/facts" ] || printf '| compared with its trace | result |\n|---|---|\n' >"$work/facts"
    printf '| %s | %s |\n' "$1" "$(printf %s "$2" | tr '|\n' '/ ')" >>"$work/facts"
    say "$1: $2"
}

untrue() {
    say "NOT TRUE: $*"
    failures=$((failures + 1))
}

# row WHAT VALUE ASKED [MET]: a line of the table of figures. MET is what `met` says, where a number is asked for.
row() {
    [ -s "$work/figures" ] || printf '\n| what | measured | asked | met |\n|---|---|---|---|\n' >"$work/figures"
    printf '| %s | %s | %s | %s |\n' "$1" "$2" "$3" "${4-}" | tee -a "$work/figures"
    [ "${4-}" != no ] || say "**Not met: $1: $2, asked $3**  " >>"$work/conclusion"
}

# met CONDITION VALUE...: "yes" or "no", of values a, b, c in awk's words; "not measured" where one is not there.
met() {
    condition=$1
    shift
    for value in "$@"; do
        case $value in '' | *[!0-9.e+-]* | -) say "not measured" && return 0 ;; esac
    done
    if awk -v a="$1" -v b="${2-}" -v c="${3-}" "BEGIN { exit !($condition) }"; then say yes; else say no; fi
}

# step NAME: whether there is time for it.
step() {
    [ "$(left)" -gt 5 ] && return 0
    untrue "$1: not run, the time was over"
    verdict "$1" "not run: the time was over"
    return 1
}

# ---- tools

lacking=
need_command() { command -v "$1" >/dev/null || lacking="$lacking $1"; }
for tool in "${CC:-cc}" awk timeout tar gzip; do need_command "$tool"; done
[ -z "$lacking" ] || die 4 "this machine lacks:$lacking"

find_cuda() {
    nvcc=$(command -v nvcc 2>/dev/null) && nvcc=$(readlink -f "$nvcc")
    for cuda in "${CUDA_HOME-}" "${CUDA_PATH-}" /usr/local/cuda "${nvcc%/bin/nvcc}" /usr/local/cuda-*; do
        [ -z "$cuda" ] || [ ! -x "$cuda/bin/nvcc" ] || return 0
    done
    return 1
}
find_cuda || die 4 "no CUDA toolkit: nvcc is neither in CUDA_HOME/bin, nor in PATH, nor under /usr/local/cuda*/bin"
cuda_lib=$cuda/lib64
[ -d "$cuda_lib" ] || cuda_lib=$cuda/lib # as Python's packages have it
find_file() { # NAME FOLDER...
    name=$1
    shift
    for folder in "$@"; do
        for file in "$folder"/$name; do [ ! -e "$file" ] || { say "$folder" && return 0; }; done
    done
    return 1
}
cupti_include=$(find_file cupti.h "$cuda/include" "$cuda/extras/CUPTI/include" "$cuda/../cuda_cupti/include") || cupti_include=
cupti_lib=$(find_file 'libcupti.so*' "$cuda_lib" "$cuda/extras/CUPTI/lib64" "$cuda/../cuda_cupti/lib") || cupti_lib=$cuda_lib

# ---- building

build_tracesmith() {
    [ -z "$built" ] || return 0
    built=$work/build
    say "building TraceSmith"
    if ! command -v cmake >/dev/null; then
        say "no cmake here" >"$work/build.log"
    elif limited 240 cmake -S "$root" -B "$built" -DCMAKE_BUILD_TYPE=Release -DTRACESMITH_BUILD_TESTS=OFF \
        -DTRACESMITH_BUILD_BENCH=OFF -DTRACESMITH_BUILD_EXAMPLES=OFF -DTRACESMITH_ENABLE_BPF=OFF \
        -DTRACESMITH_ENABLE_OCLGRIND=OFF >"$work/build.log" 2>&1 &&
        limited 300 cmake --build "$built" -j "$(nproc)" >>"$work/build.log" 2>&1; then
        return 0
    fi
    say "TraceSmith does not build here: $(grep -i -m 1 -A 1 -E 'not found|no cmake|error' "$work/build.log" | tr -s '\n ' ' ')"
    built=$root/build-gpu
    [ -x "$built/bin/tracesmith" ] && say "using $built" && return 0
    say "on a machine with a network, './dev build' installs what is missing (as root, or by sudo); or run tests/gpu/pack.sh on any"
    say "machine where it builds, and copy the folder build-gpu that it makes into this checkout"
    return 1
}

# The GPU's own code, where it can be asked for: else the driver compiles once more for each process.
architecture() {
    capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sort -u | head -n 1 | tr -d '. \r')
    case $capability in
    [0-9][0-9] | [0-9][0-9][0-9]) say "-arch=sm_$capability" ;;
    esac
}

compile() { # NAME SOURCE LIBRARY...
    name=$1 source=$2
    shift 2
    # -cudart shared: as most programs of frameworks are linked.
    for with in "$arch" ""; do
        # shellcheck disable=SC2086 # no word when it is empty
        limited 120 "$cuda/bin/nvcc" $with -O2 -lineinfo -std=c++17 -cudart shared -Wno-deprecated-gpu-targets \
            -L"$cuda_lib" -o "$work/programs/$name" "$source" "$@" >"$work/nvcc-$name.log" 2>&1 && return 0
    done
    return 1
}

# All at once: nvcc takes seconds for each.
build_programs() {
    mkdir -p "$work/programs"
    say "building the CUDA programs with $cuda/bin/nvcc"
    arch=$(architecture)
    for source in "$here"/programs/*.cu; do
        name=$(basename "$source" .cu)
        case $name in
        runtime_compiled) compile "$name" "$source" -lnvrtc -L"$cuda_lib/stubs" -lcuda & ;;
        cublas) compile "$name" "$source" -lcublas & ;;
        nvtx) compile "$name" "$source" -ldl & ;;
        collectives)
            if [ -f "$cuda/include/nccl.h" ] || printf '#include <nccl.h>\n' | "${CC:-cc}" -E - >/dev/null 2>&1; then
                compile "$name" "$source" -lnccl &
            fi
            ;;
        *) compile "$name" "$source" & ;;
        esac
    done
    limited 60 "${CC:-cc}" -O2 -shared -fPIC -I "$cupti_include" -I "$cuda/include" -o "$work/programs/libcupti_only.so" \
        "$here/programs/cupti_only.c" "$(find "$cupti_lib"/libcupti.so* 2>/dev/null | head -n 1)" \
        -Wl,-rpath,"$cupti_lib" >"$work/nvcc-cupti_only.log" 2>&1
    wait
}

have=1
build_tracesmith || have=
tracesmith=$built/bin/tracesmith
if [ -n "$have" ] && ! limited 20 "$tracesmith" version >"$work/version.txt" 2>&1; then
    have=
    say "$tracesmith does not run here: $(head -n 1 "$work/version.txt")"
fi
[ -n "$have" ] || untrue "TraceSmith can neither be built nor run here: only the GPU's own figures follow"
build_programs
[ -x "$work/programs/gpu_info" ] || die 4 "nvcc does not compile: $(head -n 3 "$work/nvcc-gpu_info.log" | tr '\n' ' ')"
programs=$work/programs
LD_LIBRARY_PATH=$cuda_lib:$cupti_lib${loader_path:+:$loader_path}
export LD_LIBRARY_PATH

code=0
limited 60 "$programs/gpu_info" >"$work/gpu.txt" 2>&1 || code=$?
# A toolkit that is newer than the driver brings a libcuda of its own, for GPUs of data centres.
if [ "$code" -ne 0 ] && [ -e "$cuda/compat/libcuda.so.1" ] &&
    LD_LIBRARY_PATH=$cuda/compat:$LD_LIBRARY_PATH limited 60 "$programs/gpu_info" >"$work/compat.txt" 2>&1; then
    code=0
    { cat "$work/compat.txt" && say "with the toolkit's own libcuda, $cuda/compat: the driver is older than the toolkit"; } >"$work/gpu.txt"
    LD_LIBRARY_PATH=$cuda/compat:$LD_LIBRARY_PATH
fi
about() {
    sed 's/$/  /' "$work/gpu.txt"
    nvidia-smi --query-gpu=driver_version,vbios_version,mig.mode.current,power.limit --format=csv 2>/dev/null | sed 's/$/  /'
    say "$(uname -srm), $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release 2>/dev/null), $(nproc) processors, $("$cuda/bin/nvcc" --version | sed -n 's/.*release/nvcc/p')  "
    head -n 1 "$work/version.txt" 2>/dev/null
}
about >"$work/about" 2>/dev/null
cat "$work/about"
if [ "$code" -ne 0 ]; then
    for log in "$work"/nvcc-*.log; do
        name=${log##*/nvcc-} name=${name%.log}
        [ -e "$programs/$name" ] || [ -e "$programs/lib$name.so" ] || say "$name does not compile: $(head -n 1 "$log")"
    done
    say "everything was built; what is to be proved needs an NVIDIA GPU and a driver that is as new as $cuda (or that with CUDA_HOME is)"
    [ "$code" -eq 77 ] || [ "$code" -eq 127 ] || say "gpu_info ended with $code"
    exit 77
fi

# ---- comparing

# ask TRACE SQL: one value.
ask() { limited 60 "$tracesmith" query --csv "$1" "$2" 2>>"$work/query.err" | tail -n +2 | head -n 1 | tr -d '"\r'; }

# fact WHAT IS WANTED
fact() {
    [ "$2" = "$3" ] || untrue "$1: the trace has '$2', the program '$3'"
}

count_and_bytes() { ask "$1" "SELECT count(*) || ' ' || coalesce(sum(bytes), 0) FROM $2"; }

# compare NAME TRACE: the lines the program printed against its trace.
compare() {
    trace=$2
    while read -r what first second third; do
        case $what in
        kernel) fact "$1: kernel $first" \
            "$(ask "$trace" "SELECT count(*) FROM kernel WHERE name = '$first' OR name LIKE '$first(%'")" "$second" ;;
        kernels-least)
            count=$(ask "$trace" "SELECT count(*) FROM kernel")
            [ "${count:-0}" -ge "$first" ] || fact "$1: kernels" "$count" "$first at least"
            ;;
        memcpy-least) # libraries copy for themselves too
            count=$(ask "$trace" "SELECT count(*) >= $second AND coalesce(sum(bytes), 0) >= $third FROM memcpy WHERE direction = '$first'")
            fact "$1: copies $first, $second of $third bytes at least" "$count" 1
            ;;
        memcpy) fact "$1: copies $first" "$(count_and_bytes "$trace" "memcpy WHERE direction = '$first'")" "$second $third" ;;
        range | marker) fact "$1: $what $first" "$(ask "$trace" "SELECT count(*) FROM $what WHERE name = '$first'")" "$second" ;;
        projected) fact "$1: kernels launched in $first" "$(limited 60 "$tracesmith" analyze --csv --only ranges "$trace" |
            awk -F, -v name="$first" '$3 == name { print $8; exit }')" "$second" ;;
        collective) fact "$1: $first" "$(count_and_bytes "$trace" "collective WHERE name = '$first'")" "$second $third" ;;
        memset) fact "$1: fills" "$(count_and_bytes "$trace" memset)" "$first $second" ;;
        esac
    done <"$work/$1.txt"
    fact "$1: lost" "$(ask "$trace" "SELECT coalesce(sum(lost), 0) FROM loss ${but-}")" 0
    fact "$1: tracks of calls whose thread CUPTI does not name" \
        "$(ask "$trace" "SELECT count(*) FROM tracks WHERE name = 'calls of unknown threads'")" 0
    fact "$1: kernels without a time" "$(ask "$trace" "SELECT count(*) FROM kernel WHERE duration IS NULL")" 0
}

# prove NAME [ARGUMENT...]: runs a program under profile and compares. `options` are profile's, `as` another name of it.
prove() {
    name=$1
    shift
    as=${as:-$name}
    if [ ! -x "$programs/$name" ]; then
        log=$work/nvcc-$name.log
        [ -f "$log" ] || { verdict "$as" "left out: its libraries are not here" && return 0; }
        untrue "$as does not compile: $(grep -m 1 -i error "$log")"
        verdict "$as" "does not compile: $(grep -m 1 -i error "$log")"
        return 0
    fi
    step "$as" || return 0
    before=$failures code=0
    # shellcheck disable=SC2086 # options are words
    limited "${limit:-60}" "$tracesmith" profile ${options-} -o "$work/$as.sbt" -- "$programs/$name" "$@" >"$work/$as.txt" \
        2>"$work/$as.err" || code=$?
    if [ "$code" -eq 77 ]; then
        verdict "$as" "$(head -n 1 "$work/$as.txt")"
        return 0
    fi
    if [ "$code" -ne 0 ]; then
        why=$(grep -v -e '^tracesmith: next: ' -e '^tracesmith: .*\.sbt: ' "$work/$as.err" | tail -n 1)
        untrue "$as ended with $code: $why"
        verdict "$as" "ended with $code$([ "$code" -ne 124 ] || say " (its time was over)")${why:+: $why}"
        return 0
    fi
    compare "$as" "$work/$as.sbt" >"$work/$as.untrue" # not in a subshell: failures are counted
    cat "$work/$as.untrue"
    if [ "$before" -eq "$failures" ]; then
        verdict "$as" "as the program counted"
    else
        verdict "$as" "$(head -n 1 "$work/$as.untrue")"
    fi
}

# figure FILE NAME: a value that the program printed.
figure() { awk -v name="$2" '$1 == "figure" && $2 == name { print $3 }' "$1"; }

# ---- raw buffers first: test data for the doubles, and they need nothing of ours

for name in vector_add graph streams; do
    [ ! -x "$programs/$name" ] || [ ! -e "$programs/libcupti_only.so" ] ||
        CUDA_INJECTION64_PATH=$programs/libcupti_only.so CUPTI_BUFFERS=$work/cupti-$name.bin limited 30 "$programs/$name" \
            >/dev/null 2>"$work/cupti-$name.err"
done

# ---- what is counted

if [ -n "$have" ]; then
    for name in vector_add matrix streams graph peer runtime_compiled cublas children nvtx collectives; do
        as='' prove "$name"
    done
    options=--stacks as=matrix-stacks prove matrix
    options='--cuda latency' as=matrix-latency prove matrix
    [ ! -s "$work/matrix-latency.sbt" ] || row "kernels of matrix with queued and submitted, of all; least ns from queued to start" \
        "$(ask "$work/matrix-latency.sbt" "SELECT count(queued) || ', ' || count(submitted) || ' of ' || count(*) || '; ' || coalesce(min(start - queued), 'unknown') FROM kernel")" ""
    as='' options=
fi

# The devices, and their counters while a program runs.
counters() {
    step counters || return 0
    limited 30 "$tracesmith" devices >"$work/devices.txt" 2>&1
    { printf '\n```\n' && cat "$work/devices.txt" && printf '```\n'; } >"$work/devices"
    grep -q ' cuda gpu' "$work/devices.txt" || fact "devices" "$(head -n 1 "$work/devices.txt")" "a GPU"
    limited 60 "$tracesmith" profile --gpu-counters 50 -o "$work/counters.sbt" -- "$programs/launches" 300000 >/dev/null \
        2>"$work/counters.err"
    grep 'cannot be sampled' "$work/counters.err" && return 0
    for counter in power 'SM clock' 'memory used' 'GPU utilisation'; do
        [ "$(ask "$work/counters.sbt" "SELECT count(*) FROM counter WHERE name = '$counter' AND value > 0")" != 0 ] ||
            say "counters: $counter: this GPU does not tell it, or 0"
    done
    row "counters: samples of power, watts at least and at most" "$(ask "$work/counters.sbt" \
        "SELECT count(*) || ', ' || min(value) || ' to ' || max(value) FROM counter WHERE name = 'power'")" ""
    # CUDA and NVML number GPUs differently; each has to be one device all the same. MIG instances are devices besides.
    gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
    [ "$gpus" -gt 0 ] && ! nvidia-smi -L | grep -q MIG || gpus=
    devices=$(ask "$work/counters.sbt" "SELECT count(*) FROM devices")
    row "devices in a trace with CUDA and counters" "$devices" "${gpus:-one per GPU}" "$(met 'a == b' "$devices" "$gpus")"
}
[ -z "$have" ] || counters

# ---- times

# Differences of neighbours, a short kernel and a long one, by events and by the trace: median and largest disagreement.
agreement() {
    as='' prove events
    [ -s "$work/events.sbt" ] || return 0
    limited 30 "$tracesmith" query --csv "$work/events.sbt" \
        "SELECT duration FROM kernel WHERE name LIKE 'spin%' ORDER BY start" 2>/dev/null | tail -n +3 >"$work/spin.txt"
    awk '$1 == "event" { print $3 }' "$work/events.txt" | paste - "$work/spin.txt" |
        awk 'NR % 2 == 0 { d = ($1 - event) - ($2 - kernel); print d < 0 ? -d : d } { event = $1; kernel = $2 }' | sort -n |
        awk '{ v[NR] = $1 } END { if (NR) printf "%.0f %.0f\n", v[int((NR + 1) / 2)], v[NR] }' >"$work/agreement.txt"
    read -r median worst <"$work/agreement.txt" || return 0
    row "agreement with CUDA events, kernels of 1 and 2 ms (median, largest; the events' own step is 500 ns)" \
        "$median ns, $worst ns" "within 1 us" "$(met 'a <= 1000' "$median")"
}
[ -z "$have" ] || agreement

# ---- what it costs

# least FILE VALUE: keeps the least of several runs.
least() {
    [ -n "$2" ] || return 0
    if [ ! -s "$1" ] || awk -v a="$2" -v b="$(cat "$1")" 'BEGIN { exit !(a < b) }'; then say "$2" >"$1"; fi
}

run_launches() { # HOW COMMAND...
    how=$1
    shift
    # What fails once is not tried again: a way that hangs would take the time of all that follows.
    [ ! -e "$work/launches-$how.failed" ] || return 0
    if ! limited 30 "$@" "$programs/launches" 10000 >"$work/launches-$how.txt" 2>"$work/launches-$how.err"; then
        : >"$work/launches-$how.failed"
        untrue "launches, $how: ended otherwise or not at all: $(grep -v '^tracesmith: next: ' "$work/launches-$how.err" | tail -n 1)"
        return 0
    fi
    least "$work/$how.ns" "$(figure "$work/launches-$how.txt" launch_ns)"
    least "$work/$how.wall" "$(awk -v v="$(figure "$work/launches-$how.txt" kernels_per_second)" 'BEGIN { if (v > 0) print 1e9 / v }')"
}

value() { if [ -s "$work/$1" ]; then cat "$work/$1"; else say -; fi; }

costs() {
    for round in 1 2 3 4 5; do
        step "what a launch costs, round $round" || break
        run_launches bare env
        [ ! -e "$programs/libcupti_only.so" ] || run_launches cupti env CUDA_INJECTION64_PATH="$programs/libcupti_only.so"
        [ -n "$have" ] || continue
        run_launches ours "$tracesmith" profile -o "$work/costs.sbt" --
        run_launches stacks "$tracesmith" profile --stacks -o "$work/costs.sbt" --
        run_launches samples "$tracesmith" profile --pc-samples -o "$work/costs.sbt" --
    done
    rm -f "$work/costs.sbt"
    row "a launch, ns of host time: bare; with CUPTI alone; with ours; with stacks too (least of 5)" \
        "$(value bare.ns); $(value cupti.ns); $(value ours.ns); $(value stacks.ns)" ""
    row "a launch, ns, with PC samples; kernels/s bare and with them" "$(value samples.ns); $(for how in bare samples; do
        awk '$1 > 0 { printf "%.0f; ", 1e9 / $1 }' "$work/$how.wall" 2>/dev/null
    done)" ""
    row "added by us beyond CUPTI's own, ns per launch" \
        "$(awk -v a="$(value ours.ns)" -v b="$(value cupti.ns)" 'BEGIN { if (a != "-" && b != "-") printf "%.0f", a - b; else print "-" }')" \
        "at most 200" "$(met 'a - b <= 200' "$(value ours.ns)" "$(value cupti.ns)")"
    row "10,000 kernels with stacks: kernels/s; of the rate without us" \
        "$(awk -v a="$(value stacks.wall)" -v b="$(value bare.wall)" \
            'BEGIN { if (a > 0 && b > 0) printf "%.0f; %.0f %%", 1e9 / a, 100 * b / a; else print "-" }')" \
        "280,371, or 90 %" "$(met '1e9 / a >= 280371 || b / a >= 0.9' "$(value stacks.wall)" "$(value bare.wall)")"
}
[ ! -x "$programs/launches" ] || costs

million() {
    limit=120 as='' prove launches 1000000
    [ -s "$work/launches.sbt" ] || return 0
    count=$(ask "$work/launches.sbt" "SELECT count(*) FROM kernel WHERE name LIKE 'nothing%'")
    lost=$(ask "$work/launches.sbt" "SELECT coalesce(sum(lost), 0) FROM loss")
    row "1 M launches: kernels in the trace, lost" "$count of 1000001, $lost" "all, 0" "$(met 'a == 1000001 && b == 0' "$count" "$lost")"
    row "1 M launches: CUPTI's overhead records, ms; size of the trace, bytes" "$(ask "$work/launches.sbt" \
        "SELECT printf('%.1f', sum(duration) / 1e6) FROM overhead"); $(wc -c <"$work/launches.sbt")" ""
}
[ -z "$have" ] || million

# ---- where the device is

samples() {
    # What the hardware dropped of samples, and those of other programs, are figures.
    but="WHERE reason NOT IN ('vendor_dropped', 'untraced')" options=--pc-samples as=matrix-samples prove matrix
    as='' options='' but=
    [ -s "$work/matrix-samples.sbt" ] || return 0
    grep 'PC samples' "$work/matrix-samples.err"
    count=$(ask "$work/matrix-samples.sbt" "SELECT coalesce(sum(count), 0) FROM sample")
    # Who may not read the GPU's counters has measured nothing.
    ! grep -q ERR_NVGPUCTRPERM "$work/matrix-samples.err" || count=-
    lines=$(ask "$work/matrix-samples.sbt" "SELECT coalesce(sum(count), 0) FROM sample WHERE line IS NOT NULL")
    row "PC samples of matrix: samples, functions, reasons, with a source line; lost" "$count, $(ask "$work/matrix-samples.sbt" \
        "SELECT count(DISTINCT name) || ', ' || count(DISTINCT category) FROM sample"), $lines; $(ask "$work/matrix-samples.sbt" \
        "SELECT coalesce(sum(lost), 0) FROM loss")" "some, with lines" "$(met 'a > 0 && b > 0' "$count" "$lines")"
    limited 30 "$tracesmith" analyze --only stalls "$work/matrix-samples.sbt" >"$work/stalls.txt" 2>&1
}
[ -z "$have" ] || samples

training() {
    asked="ours adds at most half of what Kineto adds"
    if ! command -v python3 >/dev/null; then
        row "a PyTorch training step" "no python3 here" "$asked" "not measured"
        return 0
    fi
    step "PyTorch" || return 0
    if ! LD_LIBRARY_PATH=$loader_path limited 90 python3 "$here/programs/train.py" plain 5 >"$work/train.txt" 2>"$work/train.err"; then
        verdict "PyTorch" "$(cat "$work/train.txt" "$work/train.err" | tail -n 1)"
        row "a PyTorch training step" "-" "$asked" "not measured"
        return 0
    fi
    for round in 1 2 3; do
        step "PyTorch, round $round" || break
        for how in plain kineto ours; do
            with=$how
            set --
            [ "$how" != ours ] || { [ -n "$have" ] && with=plain && set -- "$tracesmith" profile -o "$work/train.sbt" --; } || continue
            # PyTorch has libraries of its own.
            LD_LIBRARY_PATH=$loader_path limited 60 "$@" python3 "$here/programs/train.py" "$with" 100 >"$work/train-$how.txt" \
                2>"$work/train-$how.err" && least "$work/train-$how.least" "$(figure "$work/train-$how.txt" step_ns)"
        done
    done
    row "a PyTorch training step, us: bare; with Kineto; with ours (least of 3)" \
        "$(for how in plain kineto ours; do awk '{ printf "%.0f; ", $1 / 1000 }' "$work/train-$how.least" 2>/dev/null; done)" \
        "$asked" \
        "$(met '2 * (c - a) <= b - a' "$(value train-plain.least)" "$(value train-kineto.least)" "$(value train-ours.least)")"
    [ ! -s "$work/train.sbt" ] || row "the same: kernels in our trace, lost" "$(ask "$work/train.sbt" "SELECT count(*) FROM kernel"), $(ask "$work/train.sbt" \
        "SELECT coalesce(sum(lost), 0) FROM loss")" "110 steps of the same number, 0"
}
training

say
cat "$work/facts" "$work/figures" 2>/dev/null
say
[ "$failures" -eq 0 ] || die 1 "$failures facts are not true"
