#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The stages of run.sh after the first minute, each useful alone and at most two minutes; run.sh sources it.
# shellcheck disable=SC2154,SC2034 # run.sh's variables, and those of steps.sh

# ---- what is counted

# Raw buffers first: test data for the mocks, and they need nothing of ours.
raw_buffers() {
    [ -n "$cupti" ] || return 0
    for name in vector_add graph streams $([ "$launcher" = launches ] || say "$launcher"); do
        [ ! -x "$programs/$name" ] ||
            limited "$(limit_of "$name" 30)" env CUDA_INJECTION64_PATH="$programs/libcupti_only.so" CUPTI_BUFFERS="$work/cupti-$name.bin" "$programs/$name" \
                >/dev/null 2>"$work/cupti-$name.err"
    done
}

# have_tracesmith WHAT: otherwise it is said that this was left out.
have_tracesmith() {
    [ -z "$have" ] || return 0
    verdict "$1" "left out: TraceSmith does not run here"
    return 1
}

facts() {
    raw_buffers
    have_tracesmith "programs and their traces" || return 0
    for name in vector_add matrix streams graph peer runtime_compiled cublas children nvtx collectives; do
        as='' prove "$name"
    done
    options=--stacks as=matrix-stacks prove matrix
    as='' options=
    agreement
}

# Before CUDA 13.4 update 1 NVIDIA documents a deadlock of this option: it comes after what must not wait for it.
latency() {
    limit=20 options='--cuda latency' as=matrix-latency prove matrix
    limit='' as='' options=
    [ ! -s "$work/matrix-latency.sbt" ] || row "kernels of matrix with queued and submitted, of all; least ns from queued to start" \
        "$(ask "$work/matrix-latency.sbt" "SELECT count(queued) || ', ' || count(submitted) || ' of ' || count(*) || '; ' || coalesce(min(start - queued), 'unknown') FROM kernel")" ""
}

# Differences of neighbors, a short kernel and a long one, by events and by the trace: median and largest disagreement.
agreement() {
    as='' prove events
    : >"$work/spin.txt"
    [ ! -s "$work/events.sbt" ] || limited 30 "$tracesmith" query --csv "$work/events.sbt" \
        "SELECT duration FROM kernel WHERE name LIKE 'spin%' ORDER BY start" 2>/dev/null | tail -n +3 >"$work/spin.txt"
    awk '$1 == "event" { print $3 }' "$work/events.txt" 2>/dev/null | paste - "$work/spin.txt" |
        awk 'NR % 2 == 0 { d = ($1 - event) - ($2 - kernel); print d < 0 ? -d : d } { event = $1; kernel = $2 }' | sort -n |
        awk '{ v[NR] = $1 } END { if (NR) printf "%.0f %.0f\n", v[int((NR + 1) / 2)], v[NR] }' >"$work/agreement.txt"
    read -r median worst <"$work/agreement.txt" || median=- worst=-
    row "agreement with CUDA events, kernels of 1 and 2 ms (median, largest; the events' own step is 500 ns)" \
        "$median ns, $worst ns" "within 1 us" "$(met 'a <= 1000' "$median")"
}

# ---- what it costs

run_launches() { # HOW COMMAND...
    how=$1
    shift
    # One that hangs is not asked again: its limit is most of what there is.
    [ ! -e "$work/launches-$how.failed" ] || return 0
    code=0
    limited 30 "$@" "$programs/$launcher" 10000 >"$work/launches-$how.txt" 2>"$work/launches-$how.err" || code=$?
    if [ "$code" -ne 0 ]; then
        : >"$work/launches-$how.failed"
        untrue "launches, $how: $(ended $code "$work/launches-$how.txt" "$work/launches-$how.err")"
        return 0
    fi
    # What was not recorded has cost nothing: that is no figure.
    if [ "$1" = "$tracesmith" ]; then
        before=$failures
        fact "launches, $how: kernels" "$(ask "$work/costs.sbt" "SELECT count(*) FROM kernel")" "$(awk '$1 == "kernel" { print $3 }' "$work/launches-$how.txt")"
        [ "$failures" -eq "$before" ] || { : >"$work/launches-$how.failed" && rm -f "$work/$how.ns" "$work/$how.wall" && return 0; }
    fi
    least "$work/$how.ns" "$(figure "$work/launches-$how.txt" launch_ns)"
    least "$work/$how.wall" "$(awk -v v="$(figure "$work/launches-$how.txt" kernels_per_second)" 'BEGIN { if (v > 0) print 1e9 / v }')"
}

rate() { awk '$1 > 0 { printf "%.0f", 1e9 / $1 }' "$work/$1.wall" 2>/dev/null || say -; }

costs() {
    if [ ! -x "$programs/$launcher" ]; then
        verdict "what a launch costs" "$(absent "$launcher")"
        return 0
    fi
    only=$programs/libcupti_only.so
    for round in $(rounds 5); do
        step "what a launch costs, round $round" || break
        run_launches bare env
        if [ -n "$cupti" ]; then
            run_launches none env CUDA_INJECTION64_PATH="$only" CUPTI_KINDS=none
            run_launches cupti env CUDA_INJECTION64_PATH="$only"
            run_launches kinds env CUDA_INJECTION64_PATH="$only" CUPTI_KINDS=ours
            run_launches same env CUDA_INJECTION64_PATH="$only" CUPTI_KINDS=ours CUPTI_CALLBACKS=1
        fi
        [ -n "$have" ] || continue
        run_launches ours "$tracesmith" profile -o "$work/costs.sbt" --
        run_launches stacks "$tracesmith" profile --stacks -o "$work/costs.sbt" --
        run_launches samples "$tracesmith" profile --pc-samples -o "$work/costs.sbt" --
    done
    rm -f "$work/costs.sbt"
    row "a launch, ns of host time: bare; with CUPTI alone; with ours; with stacks too (least of 5)" \
        "$(value bare.ns); $(value cupti.ns); $(value ours.ns); $(value stacks.ns)" ""
    row "a launch, ns, with CUPTI alone: no kinds; six kinds; our kinds; our kinds and callbacks" \
        "$(value none.ns); $(value cupti.ns); $(value kinds.ns); $(value same.ns)" ""
    row "a launch, ns, with PC samples; kernels/s bare and with them" "$(value samples.ns); $(rate bare); $(rate samples)" ""
    row "added by us beyond CUPTI's own, ns per launch" "$(difference "$(value ours.ns)" "$(value same.ns)")" \
        "at most 200" "$(met 'a - b <= 200' "$(value ours.ns)" "$(value same.ns)")"
    row "10,000 kernels with stacks: kernels/s; bare; CUPTI alone with the same kinds and callbacks; of the rate without us" \
        "$(rate stacks); $(rate bare); $(rate same); $(awk -v a="$(value stacks.wall)" -v b="$(value bare.wall)" \
            'BEGIN { if (a > 0 && b > 0) printf "%.0f %%", 100 * b / a; else print "-" }')" \
        "280,371, or 90 %" "$(met '1e9 / a >= 280371 || b / a >= 0.9' "$(value stacks.wall)" "$(value bare.wall)")"
}

million() {
    have_tracesmith "1 M launches" || return 0
    limit=100 as=launches prove "$launcher" 1000000
    [ -s "$work/launches.sbt" ] || return 0
    count=$(ask "$work/launches.sbt" "SELECT count(*) FROM kernel WHERE name LIKE 'nothing%'")
    lost=$(ask "$work/launches.sbt" "SELECT coalesce(sum(lost), 0) FROM loss")
    row "1 M launches: kernels in the trace, lost" "$count of 1000001, $lost" "all, 0" "$(met 'a == 1000001 && b == 0' "$count" "$lost")"
    row "1 M launches: CUPTI's overhead records, ms; size of the trace, bytes" "$(ask "$work/launches.sbt" \
        "SELECT printf('%.1f', sum(duration) / 1e6) FROM overhead"); $(wc -c <"$work/launches.sbt")" ""
}

# ---- PyTorch

# python SECONDS COMMAND...: PyTorch has libraries of its own, CUPTI among them.
python() {
    python_most=$1
    shift
    limited "$python_most" env -u TRACESMITH_CUPTI LD_LIBRARY_PATH="$loader_path" "$@"
}

# recorded TRACE [COMMAND...]: whether the trace has any kernel; without COMMAND nothing was to be recorded, and it is true. What was
# not recorded has cost nothing: that is no figure.
recorded() {
    [ $# -gt 1 ] || return 0
    kernels=$(ask "$1" "SELECT count(*) FROM kernel")
    [ "${kernels:-0}" -gt 0 ]
}

training() {
    asked="ours adds at most half of what Kineto adds"
    if ! command -v python3 >/dev/null; then
        row "a PyTorch training step" "no python3 here" "$asked" "not measured"
        return 0
    fi
    step "PyTorch" || return 0
    if ! python 60 python3 "$programs_py/train.py" plain 5 >"$work/train.txt" 2>"$work/train.err"; then
        verdict "PyTorch" "$(cat "$work/train.txt" "$work/train.err" | tail -n 1)"
        row "a PyTorch training step" "-" "$asked" "not measured"
        return 0
    fi
    verdict "PyTorch" "$(sed -n 's/^version //p' "$work/train.txt")"
    for round in $(rounds 3); do
        for how in plain kineto ours inside; do
            step "PyTorch, round $round, $how" || break 2
            with=$how
            set --
            case $how in
            ours) with=plain ;;
            inside) with=kineto ;;
            esac
            case $how in
            ours | inside)
                [ -n "$have" ] || continue
                set -- "$tracesmith" profile -o "$work/train-$how.sbt" --
                ;;
            esac
            code=0
            python 60 "$@" python3 "$programs_py/train.py" "$with" 100 >"$work/train-$how.txt" 2>"$work/train-$how.err" || code=$?
            keep_step "$how" "$@"
        done
    done
    row "a PyTorch training step, us: bare; with Kineto; with ours; with Kineto inside ours (least of 3)" \
        "$(for how in plain kineto ours inside; do awk '{ printf "%.0f; ", $1 / 1000 }' "$work/train-$how.least" 2>/dev/null || printf -- '-; '; done)" \
        "$asked" \
        "$(met '2 * (c - a) <= b - a' "$(value train-plain.least)" "$(value train-kineto.least)" "$(value train-ours.least)")"
    kernels_of_training
}

# keep_step HOW [COMMAND...]: what a step took, unless it failed or nothing was recorded; then it is said once.
keep_step() {
    how=$1
    shift
    why=
    if [ "$code" -ne 0 ]; then
        why=$(ended "$code" "$work/train-$how.txt" "$work/train-$how.err")
    elif ! recorded "$work/train-$how.sbt" "$@"; then
        why="no kernel was recorded"
    fi
    [ -n "$why" ] || least "$work/train-$how.least" "$(figure "$work/train-$how.txt" step_ns)"
    [ -z "$why" ] || [ -e "$work/train-$how.said" ] || {
        : >"$work/train-$how.said"
        verdict "PyTorch, $how" "$why"
    }
}

kernels_of_training() {
    for how in ours inside; do
        [ ! -s "$work/train-$how.sbt" ] || row "PyTorch, $how: kernels in our trace, lost" "$(ask "$work/train-$how.sbt" "SELECT count(*) FROM kernel"), $(ask "$work/train-$how.sbt" \
            "SELECT coalesce(sum(lost), 0) FROM loss")" "110 steps of the same number, 0"
    done
    alone=$(figure "$work/train-kineto.txt" kineto_kernels 2>/dev/null)
    both=$(figure "$work/train-inside.txt" kineto_kernels 2>/dev/null)
    row "Kineto's own kernels: without us; with us" "${alone:--}; ${both:--}" "the same number" "$(met 'a == b && a > 0' "$alone" "$both")"
}

# The same loop of launches in Python: alone, under Kineto, under ours, under nsys.
kineto() {
    if ! command -v python3 >/dev/null; then
        verdict "launches in PyTorch" "not there: python3"
        return 0
    fi
    if [ ! -e "$programs/lib$launcher.so" ]; then
        verdict "launches in PyTorch" "not there: lib$launcher.so"
        return 0
    fi
    for round in $(rounds 3); do
        for how in plain kineto kineto-all ours stacks; do
            [ ! -e "$work/python-$how.failed" ] || continue
            step "launches in PyTorch, round $round, $how" || break 2
            with=$how
            set --
            case $how in
            ours) with=plain && set -- "$tracesmith" profile -o "$work/python.sbt" -- ;;
            stacks) with=plain && set -- "$tracesmith" profile --stacks -o "$work/python.sbt" -- ;;
            esac
            [ $# -eq 0 ] || [ -n "$have" ] || continue
            code=0
            python 40 "$@" python3 "$programs_py/launches.py" "$with" "$programs/lib$launcher.so" 20000 >"$work/python-$how.txt" 2>"$work/python-$how.err" || code=$?
            if [ "$code" -eq 0 ] && recorded "$work/python.sbt" "$@"; then
                least "$work/python-$how.ns" "$(figure "$work/python-$how.txt" launch_ns)"
            else
                : >"$work/python-$how.failed"
                why="no kernel was recorded"
                [ "$code" -eq 0 ] || why=$(ended $code "$work/python-$how.txt" "$work/python-$how.err")
                [ "$code" -ne 77 ] || why=$(grep -m 1 '^skipped: ' "$work/python-$how.txt")
                verdict "launches in PyTorch, $how" "$why"
                [ "$how" != plain ] || return 0
            fi
        done
    done
    row "a launch in PyTorch's process, ns: bare; Kineto (CUDA); Kineto (CPU and CUDA); ours; ours with stacks (least of 3)" \
        "$(for how in plain kineto kineto-all ours stacks; do printf '%s; ' "$(value python-$how.ns)"; done)" \
        "ours adds at most what Kineto (CUDA) adds" \
        "$(met 'c - a <= b - a' "$(value python-plain.ns)" "$(value python-kineto.ns)" "$(value python-ours.ns)")"
}

# ---- where the device is, and its counters

samples() {
    have_tracesmith "PC samples and counters" || return 0
    # What the hardware dropped of samples, and those of other programs, are figures.
    but="WHERE reason NOT IN ('vendor_dropped', 'untraced')" options=--pc-samples as=matrix-samples prove matrix
    as='' options='' but=
    pm_sampling
    counters
    of_samples
    latency
}

of_samples() {
    [ -s "$work/matrix-samples.sbt" ] || return 0
    grep 'PC samples' "$work/matrix-samples.err"
    count=$(ask "$work/matrix-samples.sbt" "SELECT coalesce(sum(count), 0) FROM sample")
    # Who may not read the GPU's counters has measured nothing.
    if grep -q ERR_NVGPUCTRPERM "$work/matrix-samples.err"; then
        count=-
        verdict "the GPU's counters" "not allowed: $(grep -m 1 ERR_NVGPUCTRPERM "$work/matrix-samples.err")"
    fi
    recorded "$work/matrix-samples.sbt" kernels || count=-
    lines=$(ask "$work/matrix-samples.sbt" "SELECT coalesce(sum(count), 0) FROM sample WHERE line IS NOT NULL")
    row "PC samples of matrix: samples, functions, reasons, with a source line; lost" "$count, $(ask "$work/matrix-samples.sbt" \
        "SELECT count(DISTINCT name) || ', ' || count(DISTINCT category) FROM sample"), $lines; $(ask "$work/matrix-samples.sbt" \
        "SELECT coalesce(sum(lost), 0) FROM loss")" "some, with lines" "$(met 'a > 0 && b > 0' "$count" "$lines")"
    limited 30 "$tracesmith" analyze --only stalls "$work/matrix-samples.sbt" >"$work/stalls.txt" 2>&1
}

# Metrics over time, during 200,000 launches.
metrics() {
    have_tracesmith "GPU metrics" || return 0
    but="WHERE reason NOT IN ('vendor_dropped', 'corrupt')" options=--gpu-metrics as=launches-metrics prove "$launcher" 200000
    as='' options='' but=
    [ -s "$work/launches-metrics.sbt" ] || return 0
    of="FROM counter WHERE track IN (SELECT id FROM tracks WHERE name = 'GPU metrics')"
    count=$(ask "$work/launches-metrics.sbt" "SELECT count(*) $of")
    # What is not allowed, or not there, is not measured.
    refused=$(grep -m 1 'no metrics of the GPU' "$work/launches-metrics.err") && count=- && verdict "GPU metrics" "$refused"
    row "GPU metrics during launches, every 100 us: values, metrics, ns from first to last; lost" "$count, $(ask "$work/launches-metrics.sbt" \
        "SELECT count(DISTINCT name) || ', ' || coalesce(max(start) - min(start), 0) $of"); $(ask "$work/launches-metrics.sbt" \
        "SELECT coalesce(sum(lost), 0) FROM loss")" "some" "$(met 'a > 0' "$count")"
    row "GPU metrics: highest of each" "$(limited 30 "$tracesmith" query --csv "$work/launches-metrics.sbt" \
        "SELECT name || ' ' || max(value) $of GROUP BY name" 2>/dev/null | tail -n +2 | tr -d '"\r' | tr '\n' ';')" ""
    row "a launch, ns of host time: bare; with GPU metrics" "$(value bare.ns); $(figure "$work/launches-metrics.txt" launch_ns)" ""
}

# Metrics over time, by CUPTI alone.
pm_sampling() {
    if [ ! -x "$programs/pm_sampling" ]; then
        verdict "PM sampling" "$(absent pm_sampling)"
        return 0
    fi
    step "PM sampling" || return 0
    code=0
    limited 30 "$programs/pm_sampling" >"$work/pm-sampling.txt" 2>"$work/pm-sampling.err" || code=$?
    if [ "$code" -ne 0 ]; then
        verdict "PM sampling" "$(grep '^skipped: ' "$work/pm-sampling.txt" || say "ended with $code: $(cat "$work/pm-sampling.err" "$work/pm-sampling.txt" | tail -n 1)")"
    fi
    samples=$(awk '$1 == "pm" && $2 == "samples" { print $3 }' "$work/pm-sampling.txt")
    row "PM sampling by CUPTI alone, every 100 us: samples, ns from one to the next, first and last time, highest of each metric" \
        "$(sed -n 's/^pm samples //p' "$work/pm-sampling.txt"); $(sed -n 's/^pm chip //p' "$work/pm-sampling.txt")" "some" "$(met 'a > 0' "$samples")"
}

# The devices, and their counters while a program runs.
counters() {
    step counters || return 0
    limited 30 "$tracesmith" devices >"$work/devices.txt" 2>&1
    { printf '\n```\n' && cat "$work/devices.txt" && printf '```\n'; } >"$work/devices"
    grep -q ' cuda gpu' "$work/devices.txt" || fact "devices" "$(head -n 1 "$work/devices.txt")" "a GPU"
    code=0
    limited 40 "$tracesmith" profile --gpu-counters 50 -o "$work/counters.sbt" -- "$programs/$launcher" 300000 >/dev/null \
        2>"$work/counters.err" || code=$?
    [ "$code" -eq 0 ] || untrue "counters: $(ended $code "$work/counters.err")"
    refused=$(grep -m 1 'cannot be sampled' "$work/counters.err") && verdict counters "$refused" && return 0
    for counter in power 'SM clock' 'memory used' 'GPU utilization'; do
        [ "$(ask "$work/counters.sbt" "SELECT count(*) FROM counter WHERE name = '$counter' AND value > 0")" != 0 ] ||
            say "counters: $counter: this GPU does not tell it, or 0"
    done
    row "counters: samples of power, watts at least and at most" "$(ask "$work/counters.sbt" \
        "SELECT count(*) || ', ' || min(value) || ' to ' || max(value) FROM counter WHERE name = 'power'")" ""
    # CUDA and NVML number GPUs differently; each has to be one device all the same. MIG instances are devices besides.
    gpus=$(timeout 20 nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
    [ "$gpus" -gt 0 ] && ! timeout 20 nvidia-smi -L | grep -q MIG || gpus=
    devices=$(ask "$work/counters.sbt" "SELECT count(*) FROM devices")
    row "devices in a trace with CUDA and counters" "$devices" "${gpus:-one per GPU}" "$(met 'a == b' "$devices" "$gpus")"
}

# ---- programs that end without warning

ends() {
    have_tracesmith "killed programs" || return 0
    if [ ! -x "$programs/$killer" ]; then
        verdict "killed programs" "$(absent "$killer")"
        return 0
    fi
    for how in kill exit abort; do
        for count in 100 5000 100000; do
            step "killed, $how $count" || return 0
            rm -f "$work/killed.sbt"
            limited 30 "$tracesmith" profile -o "$work/killed.sbt" -- "$programs/$killer" $count $how >"$work/killed-$how-$count.txt" \
                2>"$work/killed-$how-$count.err"
            found=$(ask "$work/killed.sbt" "SELECT count(*) FROM kernel")
            lost=$(ask "$work/killed.sbt" "SELECT coalesce(sum(lost), 0) FROM loss")
            row "$count launches, then $how: kernels in the trace; that the loss ledger counts" \
                "${found:--}; ${lost:--}" "together all" "$(met "a + b >= $count" "$found" "$lost")"
            [ -z "$found" ] || [ "$found" -le "$count" ] || untrue "killed, $how: $found kernels of $count"
        done
    done
    rm -f "$work/killed.sbt"
}

# Nsight Systems, where it is.
others() {
    if command -v nsys >/dev/null && [ -x "$programs/$launcher" ]; then
        for round in $(rounds 3); do
            step "nsys, round $round" || break
            run_launches nsys nsys profile -t cuda -s none --cpuctxsw=none -f true -o "$work/nsys"
        done
        rm -f "$work"/nsys.*rep "$work"/nsys.qdstrm
        row "a launch, ns of host time: bare; with nsys (-t cuda); with ours" "$(value bare.ns); $(value nsys.ns); $(value ours.ns)" ""
    else
        verdict "nsys" "not there"
    fi
}
