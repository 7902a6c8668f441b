#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything that only a GPU can prove, in one command: tests/gpu/run.sh [--programs DIR | --build] [--built DIR] [--out DIR] [STAGE...]
#
# Needs an NVIDIA GPU with its driver. No root, no network, no package.
#   --programs DIR  build nothing: DIR is what tests/gpu/pack.sh made. Not needed when this file lies in such a folder, or the
#                   checkout has one as build-gpu. Otherwise TraceSmith and the programs are built here, which takes minutes
#                   (then a CUDA toolkit is needed: CUDA_HOME, nvcc in PATH, or under /usr/local)
#   --build         build here, even if there is such a folder
#   --built DIR     use the build of TraceSmith in DIR (bin/tracesmith, lib/) instead of building it
#   --out DIR       where results.md, run.log and raw.tar.gz go; $OUT or gpu-results when not given
#   STAGE           only these, in this order: probes facts ends million costs torch samples metrics replay kineto others
#
# The first stage takes a minute at most: which libraries are where, whether CUPTI works, its clock. Each one after it takes two
# minutes at most and is useful alone, the most useful ones first. results.md is written anew after each line of a table and
# raw.tar.gz after each stage, so whatever ends this leaves what was measured until then. Every command has a limit, and one that does not end leaves the stacks of its threads. All of it
# ends within TRACESMITH_GPU_SECONDS (560).
# Exit codes: 0 all true (figures that are not met are in the table), 1 something is not, 2 usage, 3 the time was over before all was done,
# 4 a tool is lacking (said which), 77 there is no GPU.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
all_stages='probes facts ends million costs torch samples metrics replay kineto others'
built='' pack='' wanted='' build=''
out=${OUT:-gpu-results}

die() {
    code=$1
    shift
    printf 'run.sh: %s\n' "$*" >&2
    [ ! -d "${work-}" ] || {
        echo "**$***" >>"$work/conclusion"
        write_results
    }
    exit "$code"
}

for word in "$@"; do [ "$word" != --inside ] || inside=1; done
while [ $# -gt 0 ]; do
    case $1 in
    --inside) ;;
    --build) build=--build ;;
    --built | --out | --programs)
        [ -n "${2:-}" ] || die 2 "$1 needs a folder"
        case $1 in --out) out=$2 ;; --built) built=$2 ;; *) pack=$2 ;; esac
        shift
        ;;
    -*) die 2 "unknown option '$1'; usage: run.sh [--programs DIR | --build] [--built DIR] [--out DIR] [STAGE...]" ;;
    *)
        case " $all_stages " in *" $1 "*) ;; *) die 2 "unknown stage '$1'; stages: $all_stages" ;; esac
        wanted="$wanted $1"
        ;;
    esac
    shift
done
mkdir -p "$out" || die 2 "$out cannot be made"
out=$(cd "$out" && pwd)
[ -z "$built" ] || built=$(cd "$built" && pwd) || die 2 "there is no such folder for --built"
[ -z "$pack" ] || pack=$(cd "$pack" && pwd) || die 2 "there is no such folder for --programs"
stages="probes $(echo "${wanted:-$all_stages}" | sed 's/probes//')"

# A file system may refuse to run programs and to load libraries from it (noexec).
runs_programs() { # FOLDER
    printf '#!/bin/sh\n' >"$1/runs" && chmod +x "$1/runs" && "$1/runs" 2>/dev/null
    runs_code=$?
    rm -f "$1/runs"
    return $runs_code
}

# Outside: what is printed goes into run.log as well, and what is left of a folder for all of it is removed.
if [ -z "${inside-}" ]; then
    seconds=$((${TRACESMITH_GPU_SECONDS:-560} * ${TRACESMITH_GPU_PATIENCE:-1}))
    command -v timeout >/dev/null || die 4 "this machine lacks: timeout"
    work=$(mktemp -d "${TMPDIR:-/tmp}/tracesmith-gpu.XXXXXX" 2>/dev/null) || work=$(mktemp -d "$out/work.XXXXXX") || exit 2
    trap 'rm -rf "$work"' EXIT
    if ! runs_programs "$work"; then
        say_where="$work cannot hold programs (noexec): "
        rm -rf "$work"
        work=$(mktemp -d "$out/work.XXXXXX") || exit 2
        echo "${say_where}work is in $work"
    fi
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    { # The inside ends by itself before this limit. All of it is one process group.
        # shellcheck disable=SC2086 # stages are words
        WORK=$work SECONDS_LEFT=$seconds timeout --foreground -k 5 $((seconds + 40)) sh "$0" --inside --out "$out" ${built:+--built "$built"} \
            ${pack:+--programs "$pack"} $build $stages 2>&1
        echo $? >"$work/code"
    } | tee "$out/run.log"
    code=$(cat "$work/code")
    echo "in $out: results.md (for docs/gpu-results.md), run.log, raw.tar.gz (traces, logs, raw CUPTI buffers of our own programs)"
    exit "$code"
fi

work=${WORK:?run it without --inside}
end=$(($(date +%s) + ${SECONDS_LEFT:?}))
stage_end=$end failures=0 untimed=0
# For tests on a busy machine: factor for every time limit. TRACESMITH_GPU_ROUNDS is the number of measurements of
# each cost.
patience=${TRACESMITH_GPU_PATIENCE:-1}
loader_path=${LD_LIBRARY_PATH-}
. "$here/steps.sh"
. "$here/stages.sh"
. "$here/probes.sh"
[ -z "${TRACESMITH_SESSION-}" ] || die 2 "this runs inside a recording: end that first"

# ---- what is run: a folder of pack.sh, or built here

lacking=
for tool in awk tar gzip sed grep find; do command -v "$tool" >/dev/null || lacking="$lacking $tool"; done
[ -z "$lacking" ] || die 4 "this machine lacks:$lacking"

find_cuda() {
    nvcc=$(command -v nvcc 2>/dev/null) && nvcc=$(readlink -f "$nvcc")
    for cuda in "${CUDA_HOME-}" "${CUDA_PATH-}" /usr/local/cuda "${nvcc%/bin/nvcc}" /usr/local/cuda-*; do
        [ -z "$cuda" ] || [ ! -x "$cuda/bin/nvcc" ] || return 0
    done
    return 1
}
find_file() { # NAME FOLDER...
    name=$1
    shift
    for folder in "$@"; do
        for file in "$folder"/$name; do [ ! -e "$file" ] || { say "$folder" && return 0; }; done
    done
    return 1
}

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
    capability=$(timeout 20 nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sort -u | head -n 1 | tr -d '. \r')
    case $capability in
    [0-9][0-9] | [0-9][0-9][0-9]) say "-arch=sm_$capability" ;;
    esac
}

build_here() {
    build_tracesmith || have=
    programs=$work/programs programs_py=$here/programs
    cuda_lib=$cuda/lib64
    [ -d "$cuda_lib" ] || cuda_lib=$cuda/lib # as Python's packages have it
    cupti_lib=$(find_file 'libcupti.so*' "$cuda_lib" "$cuda/extras/CUPTI/lib64" "$cuda/../cuda_cupti/lib") || cupti_lib=$cuda_lib
    say "building the CUDA programs with $cuda/bin/nvcc"
    # CUDART=shared: as most programs of frameworks are linked.
    # shellcheck disable=SC2046 # no word when it is not known
    limited 240 env CUDART=shared sh "$here/build_programs.sh" "$programs" "$cuda" $(architecture)
    [ -x "$programs/gpu_info" ] || die 4 "nvcc does not compile: $(head -n 3 "$programs/logs/gpu_info.log" | tr '\n' ' ')"
    LD_LIBRARY_PATH=$cuda_lib:$cupti_lib${loader_path:+:$loader_path}
}

have=1 cuda='' cupti='' cupti_lib=/nonexistent extra_path=''
[ -n "$pack" ] || [ ! -e "$here/programs/gpu_info" ] || pack=$here
# Building takes minutes, and may fail for a library that a machine with a GPU lacks.
if [ -z "$pack$build" ] && [ -e "$root/build-gpu/programs/gpu_info" ]; then
    pack=$root/build-gpu
    say "using $pack; --build builds instead"
fi
[ -n "$pack" ] || find_cuda ||
    die 4 "no CUDA toolkit: nvcc is neither in CUDA_HOME/bin, nor in PATH, nor under /usr/local/cuda*/bin; and no folder of pack.sh"
if [ -n "$pack" ]; then
    built=${built:-$pack} programs=$pack/programs programs_py=$pack/programs
    # Some ways to copy a folder lose that its files are programs.
    [ -x "$programs/gpu_info" ] || chmod -R u+x "$pack/bin" "$programs" 2>/dev/null
    LD_LIBRARY_PATH=${loader_path:-/nonexistent}
    [ -x "$programs/gpu_info" ] || die 4 "$programs has no gpu_info: it is no folder of tests/gpu/pack.sh"
else
    command -v "${CC:-cc}" >/dev/null || die 4 "this machine lacks: ${CC:-cc}"
    build_here
fi
export LD_LIBRARY_PATH
tracesmith=$built/bin/tracesmith
if [ -n "$have" ] && ! limited 20 "$tracesmith" version >"$work/version.txt" 2>&1; then
    have=
    say "$tracesmith does not run here: $(head -n 1 "$work/version.txt")"
fi
[ -n "$have" ] || untrue "TraceSmith can neither be built nor run here ($(head -n 1 "$work/version.txt" 2>/dev/null)): only the GPU's own figures follow"

# ---- which GPU

# Without persistence mode the driver stops a GPU that no process has open, and starts it again for the next program, which then waits
# for seconds. An open device keeps it running and asks nothing of it. It is closed however this ends, and is not waited for: a GPU
# that does not start would keep everything waiting.
holders=
trap '[ -z "$holders" ] || kill $holders 2>/dev/null' EXIT
for node in ${TRACESMITH_GPU_NODES:-/dev/nvidia[0-9]*}; do
    [ -r "$node" ] || continue
    # shellcheck disable=SC2217 # it is only to have it open
    tail --pid=$$ -s 2 -f /dev/null >/dev/null 2>&1 <"$node" &
    holders="$holders $!"
done
describe_machine
say "**The GPU was asked, and had not answered when this was written.**" >"$work/about"
write_results
# Programs that several stages run. Where NVIDIA's runtime is newer than the driver, others that do without it.
first_program=vector_add launcher=launches killer=killed
code=0
limited 60 "$programs/gpu_info" >"$work/gpu.txt" 2>&1 || code=$?
# A toolkit that is newer than the driver brings a libcuda of its own, for GPUs of data centers.
if [ "$code" -ne 0 ] && [ -n "$cuda" ] && [ -e "$cuda/compat/libcuda.so.1" ] &&
    limited 60 env LD_LIBRARY_PATH="$cuda/compat:$LD_LIBRARY_PATH" "$programs/gpu_info" >"$work/compat.txt" 2>&1; then
    code=0
    { cat "$work/compat.txt" && say "with the toolkit's own libcuda, $cuda/compat: the driver is older than the toolkit"; } >"$work/gpu.txt"
    LD_LIBRARY_PATH=$cuda/compat:$LD_LIBRARY_PATH
fi
if [ "$code" -ne 0 ] && [ "$code" -ne 124 ]; then
    why=$(tail -n 1 "$work/gpu.txt")
    asks=$programs/driver_launches
    limited 60 "$asks" info >"$work/driver.txt" 2>&1 || find_driver "$asks" info || asks=
    if [ -n "$asks" ] && limited 60 "$programs/gpu_info" >>"$work/driver.txt" 2>&1; then
        code=0
    elif [ -n "$asks" ]; then
        code=0 first_program=driver_launches launcher=driver_launches killer=driver_launches
        say "programs with NVIDIA's runtime do not run with this driver ($why): driver_launches takes the place of vector_add, launches and killed" >>"$work/driver.txt"
    fi
    cat "$work/driver.txt" >>"$work/gpu.txt"
fi
about() {
    sed 's/$/  /' "$work/gpu.txt"
    timeout 20 nvidia-smi --query-gpu=driver_version,vbios_version,persistence_mode,mig.mode.current,power.limit --format=csv 2>/dev/null | sed 's/$/  /'
    say "$(uname -srm), $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release 2>/dev/null), $(nproc) processors, C library $(getconf GNU_LIBC_VERSION 2>/dev/null)$([ -z "$cuda" ] ||
        "$cuda/bin/nvcc" --version | sed -n 's/.*release/, nvcc/p')  "
    head -n 1 "$work/version.txt" 2>/dev/null
    [ -z "$pack" ] || { say "" && sed 's/$/  /' "$pack/about" 2>/dev/null; }
}
about >"$work/about" 2>/dev/null
cat "$work/about"
is_simulated
if [ "$code" -eq 124 ]; then
    [ "$(left)" -gt 0 ] || die 3 "the time was over before the GPU was asked"
    die 1 "the GPU does not answer: gpu_info did not end within 60 s"
fi
if [ "$code" -ne 0 ]; then
    for log in "$programs"/logs/*.log; do
        name=${log##*/} name=${name%.log}
        [ -e "$programs/$name" ] || [ -e "$programs/$name.so" ] || say "$name does not compile: $(head -n 1 "$log")"
    done
    [ -n "$pack" ] || say "everything was built"
    say "what is to be proved needs an NVIDIA GPU and its driver"
    echo "**programs cannot use a GPU here: $(tail -n 1 "$work/gpu.txt")**" >>"$work/conclusion"
    search_libraries
    [ "$code" -eq 77 ] || [ "$code" -eq 127 ] || say "gpu_info ended with $code"
    write_results
    exit 77
fi

# ---- the stages

describe() {
    case $1 in
    probes) say "which libraries are where, whether CUPTI works, its clock" ;;
    facts) say "programs compared with their traces; times with CUDA events" ;;
    costs) say "what a launch costs" ;;
    torch) say "a PyTorch training step, alone, with Kineto, with ours, with both" ;;
    million) say "1,000,000 launches" ;;
    samples) say "PC samples, counters of the device" ;;
    metrics) say "GPU metrics over time" ;;
    ends) say "programs that are killed" ;;
    replay) say "what CUDA replay depends on" ;;
    kineto) say "launches in PyTorch's process" ;;
    others) say "Nsight Systems" ;;
    esac
}

# The table of the stages, including the running one: if it is the last in the table, it did not end.
list_stages() {
    : >"$work/stages"
    for listed in $stages; do
        printf '| %s | %s | %s |\n' "$listed" "$(describe "$listed")" "$(cat "$work/stage-$listed" 2>/dev/null || say 'not run | ')" >>"$work/stages"
    done
}

for stage in $stages; do
    stage_begin=$(now)
    if [ $((end - stage_begin)) -le 5 ]; then
        untimed=$((untimed + 1))
        say "not run: the time was over | " >"$work/stage-$stage"
        continue
    fi
    stage_end=$((stage_begin + 120 * patience))
    [ "$stage" != probes ] || stage_end=$((stage_begin + 60 * patience))
    say "begun, and not ended | " >"$work/stage-$stage"
    list_stages
    write_results
    say "== stage $stage: $(describe "$stage")"
    before_untimed=$untimed
    case $stage in torch) training ;; *) "$stage" ;; esac
    if [ "$untimed" -eq "$before_untimed" ]; then how="done"; else how="its time was over"; fi
    say "$how | $(($(now) - stage_begin))" >"$work/stage-$stage"
    list_stages
    write_results
done

say
cat "$work/facts" "$work/figures" "$work/answers" 2>/dev/null
say
[ "$failures" -eq 0 ] || die 1 "$failures facts are not true"
[ "$untimed" -eq 0 ] || die 3 "the time was over before all was done"
list_stages
write_results
