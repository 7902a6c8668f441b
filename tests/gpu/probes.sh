#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first minute of run.sh, and CUDA replay's questions; run.sh sources it.
# shellcheck disable=SC2154 # run.sh's variables

# ---- which libraries are where

search_libraries() {
    [ ! -e "$work/found.txt" ] || return 0
    searched=0
    limited 20 find "${TRACESMITH_GPU_SEARCH:-/}" \( -path /proc -o -path /sys -o -path /dev -o -path "$work" -o -path "$out" \) -prune -o \
        \( -name 'libcupti.so*' -o -name 'libcuda.so.1' -o -name 'libnvperf_host.so*' -o -name 'libnvidia-ml.so.1' -o -name 'libcudart.so.1*' \
        -o -name 'libcublas.so.1*' -o -name 'libcublasLt.so.1*' -o -name 'libnvrtc.so.1*' -o -name 'libnccl.so.2' -o -name 'libcudadebugger.so.1' \) \
        -print >"$work/found.all" 2>/dev/null || searched=$?
    sort "$work/found.all" >"$work/found.txt"
    [ "$searched" -ne 124 ] || verdict "the search for libraries" "did not end in its time: what it had not reached is not in the list of libraries"
    while read -r file; do printf '| %s | %s |\n' "$(basename "$file")" "$file"; done <"$work/found.txt" >"$work/libraries"
    for tool in nvcc nsys ncu cuda-gdb gdb strace perf python3 cc; do
        where=$(command -v $tool) || where=$(find /usr/local/cuda*/bin /opt/nvidia/*/*/ -maxdepth 2 -name "$tool" 2>/dev/null | head -n 1)
        printf '| %s | %s |\n' "$tool" "${where:-not there}" >>"$work/libraries"
    done
    # Libraries that some programs need and no pack brings.
    while read -r file; do
        case ${file##*/} in
        libcublas.so.* | libnvrtc.so.* | libnccl.so.*)
            case "$extra_path:" in *":${file%/*}:"*) ;; *) extra_path=$extra_path:${file%/*} ;; esac
            ;;
        esac
    done <"$work/found.txt"
}

# ---- the machine

fact_of_machine() { printf '| %s | %s |\n' "$1" "$(cell "${2:-unknown}")" >>"$work/machine"; }

# What decides whether a GPU can be profiled, and what a container withholds.
describe_machine() {
    fact_of_machine "kernel" "$(cat /proc/version 2>/dev/null)"
    fact_of_machine "user, capabilities, seccomp" "$(id -u 2>/dev/null), $(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status), $(sed -n 's/^Seccomp:[[:space:]]*//p' /proc/self/status)"
    # shellcheck disable=SC2012 # a list to read
    fact_of_machine "/dev/nvidia*" "$(ls -d /dev/nvidia* 2>/dev/null | tr '\n' ' ' | grep . || say none)"
    fact_of_machine "kernel module" "$(head -n 1 /proc/driver/nvidia/version 2>/dev/null || say 'not loaded, or not shown here')"
    fact_of_machine "counters only for administrators" "$(sed -n 's/^RmProfilingAdminOnly: *//p' /proc/driver/nvidia/params 2>/dev/null)"
    fact_of_machine "perf_event_paranoid, ptrace_scope" "$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || say none), $(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || say none)"
    fact_of_machine "clock source" "$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource 2>/dev/null)"
    for folder in /dev/shm "$work" "$out"; do
        fact_of_machine "room in $folder, KiB" "$(df -P -k "$folder" 2>/dev/null | awk 'NR == 2 { print $4 " of " $2 ", " $1 }')"
    done
    fact_of_machine "variables" "$(env | grep -E '^(CUDA|NVIDIA|LD_)[A-Z0-9_]*=' | cut -c 1-200 | tr '\n' ' ')"
    fact_of_machine "MPS" "$(ls -d "${CUDA_MPS_PIPE_DIRECTORY:-/tmp/nvidia-mps}/control" 2>/dev/null || say 'no daemon')"
    fact_of_machine "nvidia-smi" "$(timeout -k 2 20 nvidia-smi -L 2>&1 | head -n 12 | tr '\n' ';')"
}

# Programs do not find the driver: it may be in a folder that the dynamic linker does not know, as containers have it. Whether
# one was found that answers; LD_LIBRARY_PATH has it then.
find_driver() {
    search_libraries
    # shellcheck disable=SC2013 # words: a loop behind a pipe could not set variables
    for candidate in $(grep '/libcuda\.so\.1$' "$work/found.txt" | grep -v -e /stubs/ -e /compat/); do
        folder=${candidate%/*}
        if limited 20 env LD_LIBRARY_PATH="$folder:$LD_LIBRARY_PATH" "$@" >"$work/driver.txt" 2>&1; then
            LD_LIBRARY_PATH=$folder:$LD_LIBRARY_PATH loader_path=$folder${loader_path:+:$loader_path}
            say "the driver is in $folder, which the dynamic linker did not know" >>"$work/driver.txt"
            return 0
        fi
    done
    return 1
}

# ---- which libcupti works

# The pack's folders of libraries, made usable: they are compressed in part. One each, because a library loads others from its own folder.
unpack_cupti() {
    for folder in cupti cupti-older; do
        [ -d "$pack/$folder" ] || continue
        mkdir -p "$work/$folder"
        for file in "$pack/$folder"/* "$pack/lib/libgcc_s.so.1"; do
            case $file in
            *.gz) gzip -dc "$file" >"$work/$folder/$(basename "$file" .gz)" ;;
            *) cp "$file" "$work/$folder/" 2>/dev/null ;;
            esac
        done
    done
}

# try_cupti LIBRARY: whether it has records of this program's kernels with this driver. Its output is kept.
try_cupti() {
    limited 20 env CUPTI_LIBRARY="$1" CUPTI_SAY=1 CUDA_INJECTION64_PATH="$programs/libcupti_only.so" LD_LIBRARY_PATH="${1%/*}:$LD_LIBRARY_PATH" \
        "$programs/$first_program" >"$work/try.txt" 2>"$work/try.err" || return $?
    awk '$1 == "cupti" && $3 == "records" && $4 >= 100 { found = 1 } END { exit !found }' "$work/try.err"
}

# The pack's first, then the machine's: a libcupti that is not for this driver refuses, or has no records. One that refuses nothing and
# has no records at the program's end is taken when there is no better one: others may have them earlier.
choose_cupti() {
    cupti='' silent=''
    if [ ! -e "$programs/libcupti_only.so" ] || [ ! -x "$programs/$first_program" ]; then
        verdict "CUPTI" "not tried: $(absent cupti_only)"
        return 0
    fi
    unpack_cupti
    # The older of the pack comes last: it works with newer drivers, too, but knows less.
    # shellcheck disable=SC2046 # a word each: names that were found have no blanks
    for candidate in "$work"/cupti/libcupti.so.* "$cupti_lib"/libcupti.so* $(grep '/libcupti\.so' "$work/found.txt" | grep -v /stubs/) \
        "$work"/cupti-older/libcupti.so.*; do
        if [ ! -e "$candidate" ] || [ -n "$cupti" ]; then continue; fi
        step "CUPTI in $candidate" || break
        code=0
        try_cupti "$candidate" || code=$?
        if [ "$code" -eq 0 ]; then
            cupti=$candidate
            verdict "CUPTI $(awk '$1 == "cupti" { print $2 }' "$work/try.err")" "works: $candidate: $(grep '^cupti ' "$work/try.err")"
        else
            [ -n "$silent" ] || ! grep -q '^cupti [0-9]* records 0 ' "$work/try.err" || grep -q '^cupti_only: ' "$work/try.err" || silent=$candidate
            [ "$code" -ne 124 ] || say "it did not end in its time; its stacks are below" >>"$work/try.err"
            verdict "CUPTI in $candidate" "does not work with this driver: $(cat "$work/try.txt" "$work/try.err" | tail -n 1)"
        fi
    done
    if [ -z "$cupti" ] && [ -n "$silent" ]; then
        cupti=$silent
        verdict "CUPTI" "taken although it had no records at the program's end: $silent"
    fi
    if [ -n "$cupti" ]; then
        export CUPTI_LIBRARY="$cupti" TRACESMITH_CUPTI="$cupti"
        LD_LIBRARY_PATH=${cupti%/*}:$LD_LIBRARY_PATH
    else
        verdict "CUPTI" "not there, or none works: nothing is recorded of CUDA"
    fi
}

# ---- clocks

clock_lines() { # HOW FILE...
    how=$1
    shift
    awk -v how="$how" '$1 == "clock" { printf "| %s (%s) | %s | %s | %s |\n", $2, how, $3, $4, $6 }' "$@" >>"$work/clocks"
}

clocks() {
    [ -x "$programs/clock" ] || { verdict clock "$(absent clock)" && return 0; }
    for how in late early; do
        asked='asked first in the injection'
        [ $how = late ] || asked='asked before cuInit too'
        limited 20 env CUPTI_CLOCK=1 CUPTI_KINDS=none CUDA_INJECTION64_PATH="$programs/libcupti_only.so" "$programs/clock" $how \
            >"$work/clock-$how.txt" 2>"$work/clock-$how.err"
        code=$?
        [ "$code" -eq 0 ] || verdict "clock, $how" "$(grep -m 1 skipped "$work/clock-$how.txt" || ended $code "$work/clock-$how.txt" "$work/clock-$how.err")"
        # In the order of time: what is injected comes between the program's own lines.
        { grep 'before-cuInit' "$work/clock-$how.txt" && :; grep -v 'exit' "$work/clock-$how.err"; grep -v 'before-cuInit' "$work/clock-$how.txt"
            grep 'injection-exit' "$work/clock-$how.err"; } >"$work/clock-$how.all" 2>/dev/null
        clock_lines "$asked" "$work/clock-$how.all"
    done
    worst=$(awk '$1 == "clock" && $6 == 0 { d = $3 < 0 ? -$3 : $3; if (d > w) w = d; n++ } END { if (n) printf "%.0f", w; else print "-" }' \
        "$work"/clock-*.all)
    row "CUPTI's clock from CLOCK_REALTIME, largest of all moments, ns" "$worst" "within 1 ms, or the trace compares anew" \
        "$(met 'a <= 1e6' "$worst")"
}

is_simulated() {
    grep -q -i '^simulated\|: simulated' "$work"/clock-*.txt "$work/gpu.txt" 2>/dev/null && : >"$work/simulated"
    [ ! -e "$work/simulated" ] || say "simulated: the driver and CUPTI are mocks"
}

# The first program alone, with CUPTI alone, and with TraceSmith: whether and how fast each ends.
first_runs() {
    [ -x "$programs/$first_program" ] || { verdict "$first_program" "$(absent "$first_program")" && return 0; }
    for how in bare cupti ours; do
        case $how in
        bare) set -- env ;;
        cupti) set -- env CUDA_INJECTION64_PATH="$programs/libcupti_only.so" ;;
        *)
            [ -n "$have" ] || continue
            set -- "$tracesmith" profile -o "$work/first.sbt" --
            ;;
        esac
        begin=$(now) code=0
        limited 20 "$@" "$programs/$first_program" >"$work/first-$how.txt" 2>"$work/first-$how.err" || code=$?
        verdict "$first_program, $how" "ended with $code after $(($(now) - begin)) s$([ "$how" != ours ] || [ ! -s "$work/first.sbt" ] ||
            say ", $(ask "$work/first.sbt" "SELECT count(*) FROM kernel") kernels in the trace")"
    done
    [ -z "$have" ] || [ ! -s "$work/first.sbt" ] ||
        [ "$(ask "$work/first.sbt" "SELECT count(*) > 0 FROM attributes WHERE key = 'simulated' OR key LIKE '%.simulated'")" != 1 ] || : >"$work/simulated"
}

probes() {
    search_libraries
    choose_cupti
    LD_LIBRARY_PATH=$LD_LIBRARY_PATH$extra_path
    first_runs
    clocks
    is_simulated
}

# ---- CUDA replay's questions

keep_answers() { # FILE
    while read -r word name how detail; do
        [ "$word" != probe ] || answer "$name" "$how" "$detail"
    done <"$1"
}

modules() {
    [ -n "$cupti" ] || { answer "module-images" "not-there" "no CUPTI works" && return 0; }
    for name in replay_probe "$first_program"; do
        [ -x "$programs/$name" ] || continue
        argument=
        [ "$name" != replay_probe ] || argument=parameters
        for round in 1 2; do
            # shellcheck disable=SC2086 # no word when it is empty
            limited 20 env CUPTI_KINDS=none CUPTI_MODULES="$work/module-$name" CUDA_INJECTION64_PATH="$programs/libcupti_only.so" \
                "$programs/$name" $argument >/dev/null 2>"$work/modules-$name-$round.txt"
        done
        elf=$(grep -c '^module .* elf ' "$work/modules-$name-1.txt")
        all=$(grep -c '^module ' "$work/modules-$name-1.txt")
        same=differ
        [ "$(cat "$work/modules-$name-1.txt")" != "$(cat "$work/modules-$name-2.txt")" ] || same="are the same"
        verdict=no
        [ "$all" -gt 0 ] || verdict=unknown
        if [ "$all" -gt 0 ] && [ "$elf" -eq "$all" ]; then verdict=yes; fi
        answer "module-images of $name" $verdict \
            "$all modules, $elf of them ELF, $(awk '$1 == "module" { n += $3 } END { print n + 0 }' "$work/modules-$name-1.txt") bytes; in a second run they $same"
    done
}

replay() {
    [ -x "$programs/replay_probe" ] || { answer "CUDA replay" "not-there" "$(absent replay_probe)" && return 0; }
    for what in parameters addresses checkpoint; do
        code=0
        limited "$(limit_of "replay-$what" 40)" "$programs/replay_probe" $what >"$work/replay-$what.txt" 2>"$work/replay-$what.err" || code=$?
        keep_answers "$work/replay-$what.txt"
        grep -q '^probe ' "$work/replay-$what.txt" ||
            answer "$what" unknown "replay_probe ended with $code: $(cat "$work/replay-$what.txt" "$work/replay-$what.err" | tail -n 1)"
    done
    modules
}
