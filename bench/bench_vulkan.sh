#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What recording adds to Vulkan programs on Mesa's driver for CPUs, alone and recorded in turns, five times each, medians:
#   - tests/vulkan/graphics.c, a pass of 500x500 in each of 1,500 frames, two in flight. The program itself writes no timestamps,
#     or two around its pass, or these and a copy of their results by the device, or one before and one within its pass, which is what the
#     layer adds on this driver; or it is recorded, with times and without (vulkan.program-only). This separates the cost of the driver's
#     timestamps from that of the layer.
#   - vkcube, drawn into memory. What is measured is near the noise, so it runs in many short rounds (CUBE_ROUNDS, 31; CUBE_FRAMES, 400), in
#     another order in each, and differences are taken within a round (paired.py). Only this: CUBE_ONLY=1.
# Of each: wall time, and processor time of the program with all its threads, of which the driver has one for each processor. The
# collector takes processor time from them.
# shellcheck disable=SC2016 # the inner shell and awk expand what is in single quotes
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_SOURCE_DIR:?}"
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || :; rm -rf "$work"' EXIT
export TIMEFORMAT='%R %U %S'
ROUNDS=${ROUNDS:-5}

# timed FILE PROGRAM...: appends the times of the program alone
timed() {
    { time "${@:2}" >/dev/null 2>&1; } 2>>"$1"
}
# recorded FILE OPTIONS PROGRAM...: without the time of tracesmith, which starts before and writes after it
recorded() {
    # shellcheck disable=SC2086 # words
    "$TRACESMITH" profile -o "$work/run.sbt" --api vulkan $2 -- bash -c 'TIMEFORMAT="%R %U %S"; { time "${@:2}" >/dev/null 2>&1; } 2>>"$1"' \
        bash "$1" "${@:3}" >/dev/null 2>&1
}
median() { awk "{ print $2 }" "$1" | sort -n | sed -n "$(((ROUNDS + 1) / 2))p"; }
# compare FRAMES BASE NAME...
compare() {
    for name in "${@:3}"; do
        for what in 'wall:$1' 'processor:$2+$3'; do
            awk -v n="$name" -v what="${what%%:*}" -v b="$2" -v frames="$1" -v a="$(median "$work/$2" "${what#*:}")" \
                -v r="$(median "$work/$name" "${what#*:}")" 'BEGIN { printf "%-14s %-10s %s %.3f s, %.3f s: %+.1f %%, %+.1f us per frame\n",
                n, what, b, a, r, (r - a) / a * 100, (r - a) / frames * 1e6 }'
        done
    done
}

if [ -z "${CUBE_ONLY-}" ] && command -v glslangValidator >/dev/null && "${CC:-cc}" -O1 -o "$work/graphics" "$TRACESMITH_SOURCE_DIR/tests/vulkan/graphics.c" -ldl -lpthread; then
    for shader in graphics.vert graphics.frag; do
        glslangValidator -V "$TRACESMITH_SOURCE_DIR/tests/vulkan/$shader" -o "$work/$shader.spv" >/dev/null
    done
    frames=1500
    pass() { printf '%s\n' "$work/graphics" "$work" "$work/log" cost "$frames" "$1"; }
    for _ in $(seq "$ROUNDS"); do
        for kind in none stamps copy inside; do
            mapfile -t command < <(pass "$kind")
            timed "$work/$kind" "${command[@]}"
        done
        mapfile -t command < <(pass none)
        recorded "$work/recorded" "" "${command[@]}"
        recorded "$work/program-only" "--agent-option vulkan.program-only" "${command[@]}"
    done
    echo "-- a pass a frame, against the program without timestamps"
    compare $frames none stamps copy inside recorded program-only
    echo "-- against the program that writes the same timestamps itself"
    compare $frames inside recorded
fi

if ! command -v vkcube >/dev/null || ! command -v Xvfb >/dev/null; then
    echo "bench_vulkan: vkcube is not measured: it needs vkcube and Xvfb (Debian: vulkan-tools, xvfb)"
    exit 0
fi
mkfifo "$work/display"
Xvfb -displayfd 3 -screen 0 640x480x24 -nolisten tcp -noreset 3>"$work/display" >/dev/null 2>&1 &
server=$!
read -r number <"$work/display"
export DISPLAY=":$number"
frames=${CUBE_FRAMES:-400}
paired=$TRACESMITH_SOURCE_DIR/bench/paired.py
mkdir "$work/cube"
# cube NAME FRAMES FILE
cube() {
    local program=(python3 "$paired" --time "$work/cube/$3" vkcube --c "$2" --width 500 --height 500)
    case $1 in
    alone) "${program[@]}" ;;
    recorded) "$TRACESMITH" profile -o "$work/run.sbt" --api vulkan -- "${program[@]}" ;;
    program-only)
        "$TRACESMITH" profile -o "$work/only.sbt" --api vulkan --agent-option vulkan.program-only -- "${program[@]}"
        ;;
    esac >/dev/null 2>&1
}
kinds=(alone recorded program-only)
for round in $(seq "${CUBE_ROUNDS:-31}"); do
    for i in 0 1 2; do
        kind=${kinds[(i * (round % 2 + 1) + round / 2) % 3]}
        cube "$kind" 1 "$kind.start"
        cube "$kind" "$frames" "$kind"
    done
done
echo "-- vkcube, $frames frames a round"
python3 "$paired" --compare "$frames" "$work/cube"
"$TRACESMITH" query "$work/run.sbt" "SELECT kind_name AS kind, count(*) AS events FROM events GROUP BY kind ORDER BY events DESC" 2>/dev/null ||
    "$TRACESMITH" view --stats "$work/run.sbt" | head -30
