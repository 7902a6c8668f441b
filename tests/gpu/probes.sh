#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first minute of run.sh, and CUDA replay's questions; run.sh sources it.
# shellcheck disable=SC2154 # run.sh's variables

# ---- which libraries are where

search_libraries() {
    limited 20 find "${TRACESMITH_GPU_SEARCH:-/}" \( -path /proc -o -path /sys -o -path /dev -o -path "$work" -o -path "$out" \) -prune -o \
        \( -name 'libcupti.so*' -o -name 'libcuda.so.1' -o -name 'libnvperf_host.so*' -o -name 'libnvidia-ml.so.1' -o -name 'libcudart.so.1*' \
        -o -name 'libcublas.so.1*' -o -name 'libcublasLt.so.1*' -o -name 'libnvrtc.so.1*' -o -name 'libnccl.so.2' -o -name 'libcudadebugger.so.1' \) \
        -print 2>/dev/null | sort >"$work/found.txt"
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

# ---- which libcupti works

# The folder of a library, made usable: the pack's is compressed in part.
unpack_cupti() {
    [ -d "$pack/cupti" ] || return 1
    mkdir -p "$work/cupti"
    for file in "$pack"/cupti/* "$pack/lib/libgcc_s.so.1"; do
        case $file in
        *.gz) gzip -dc "$file" >"$work/cupti/$(basename "$file" .gz)" ;;
        *) cp "$file" "$work/cupti/" 2>/dev/null ;;
        esac
    done
}

# try_cupti LIBRARY: whether it has records of this program's kernels with this driver. What it says is kept.
try_cupti() {
    CUPTI_LIBRARY=$1 CUPTI_SAY=1 CUDA_INJECTION64_PATH=$programs/libcupti_only.so LD_LIBRARY_PATH=${1%/*}:$LD_LIBRARY_PATH \
        limited 20 "$programs/vector_add" >"$work/try.txt" 2>"$work/try.err" || return 1
    awk '$1 == "cupti" && $3 == "records" && $4 >= 100 { found = 1 } END { exit !found }' "$work/try.err"
}

# The pack's first, then the machine's: a libcupti that is not for this driver refuses, or has no records. One that refuses nothing and
# has no records at the program's end is taken when there is no better one: others may have them earlier.
choose_cupti() {
    cupti='' silent=''
    if [ ! -e "$programs/libcupti_only.so" ] || [ ! -x "$programs/vector_add" ]; then
        verdict "CUPTI" "not tried: $(absent cupti_only)"
        return 0
    fi
    unpack_cupti || true
    for candidate in "$work"/cupti/libcupti.so.* "$cupti_lib"/libcupti.so* $(grep '/libcupti\.so' "$work/found.txt"); do
        if [ ! -e "$candidate" ] || [ -n "$cupti" ]; then continue; fi
        if try_cupti "$candidate"; then
            cupti=$candidate
            verdict "CUPTI $(awk '$1 == "cupti" { print $2 }' "$work/try.err")" "works: $candidate: $(grep '^cupti ' "$work/try.err")"
        else
            [ -n "$silent" ] || ! grep -q '^cupti [0-9]* records 0 ' "$work/try.err" || grep -q '^cupti_only: ' "$work/try.err" || silent=$candidate
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
        CUPTI_CLOCK=1 CUPTI_KINDS=none CUDA_INJECTION64_PATH=$programs/libcupti_only.so limited 20 "$programs/clock" $how \
            >"$work/clock-$how.txt" 2>"$work/clock-$how.err"
        [ $? -ne 77 ] || verdict "clock" "$(grep -m 1 skipped "$work/clock-$how.txt")"
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

# vector_add alone, with CUPTI alone, and with TraceSmith: whether and how fast each ends.
first_runs() {
    [ -x "$programs/vector_add" ] || return 0
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
        limited 20 "$@" "$programs/vector_add" >"$work/first-$how.txt" 2>"$work/first-$how.err" || code=$?
        verdict "vector_add, $how" "ended with $code after $(($(now) - begin)) s$([ "$how" != ours ] || [ ! -s "$work/first.sbt" ] ||
            say ", $(ask "$work/first.sbt" "SELECT count(*) FROM kernel") kernels in the trace")"
    done
    [ -z "$have" ] || [ ! -s "$work/first.sbt" ] ||
        [ "$(ask "$work/first.sbt" "SELECT count(*) FROM attributes WHERE name = 'simulated'" 2>/dev/null)" != 1 ] || : >"$work/simulated"
}

probes() {
    search_libraries
    choose_cupti
    LD_LIBRARY_PATH=$LD_LIBRARY_PATH$extra_path
    clocks
    is_simulated
    first_runs
}

# ---- CUDA replay's questions

keep_answers() { # FILE
    while read -r word name how detail; do
        [ "$word" != probe ] || answer "$name" "$how" "$detail"
    done <"$1"
}

modules() {
    [ -n "$cupti" ] || { answer "module-images" "not-there" "no CUPTI works" && return 0; }
    for name in replay_probe vector_add; do
        [ -x "$programs/$name" ] || continue
        argument=
        [ "$name" != replay_probe ] || argument=parameters
        for round in 1 2; do
            # shellcheck disable=SC2086 # no word when it is empty
            CUPTI_KINDS=none CUPTI_MODULES="$work/module-$name" CUDA_INJECTION64_PATH=$programs/libcupti_only.so \
                limited 20 "$programs/$name" $argument >/dev/null 2>"$work/modules-$name-$round.txt"
        done
        elf=$(grep -c '^module .* elf ' "$work/modules-$name-1.txt")
        all=$(grep -c '^module ' "$work/modules-$name-1.txt")
        same=differ
        ! cmp -s "$work/modules-$name-1.txt" "$work/modules-$name-2.txt" || same="are the same"
        verdict=no
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
