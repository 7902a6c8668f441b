#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What recording adds to vkcube on Mesa's driver for CPUs, drawn into memory: 2,500 frames, alone and recorded in turns, five times
# each; the median of the wall time and of the processor time of the program with all its threads. The driver draws with all
# processors, so the collector takes time from it.
# shellcheck disable=SC2016 # the inner shell and awk expand what is in single quotes
set -eu
: "${TRACESMITH:?}"
if ! command -v vkcube >/dev/null || ! command -v Xvfb >/dev/null; then
    echo "bench_vulkan: needs vkcube and Xvfb (Debian: vulkan-tools, xvfb)"
    exit 0
fi
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || :; rm -rf "$work"' EXIT
mkfifo "$work/display"
Xvfb -displayfd 3 -screen 0 640x480x24 -nolisten tcp 3>"$work/display" >/dev/null 2>&1 &
server=$!
read -r number <"$work/display"
export DISPLAY=":$number" TIMEFORMAT='%R %U %S'
frames=2500
cube=(vkcube --c "$frames" --width 500 --height 500)
for _ in 1 2 3 4 5; do
    { time "${cube[@]}" >/dev/null 2>&1; } 2>>"$work/alone"
    # The time of the program alone: without that of tracesmith, which starts before and writes after it.
    "$TRACESMITH" profile -o "$work/run.sbt" -- bash -c 'TIMEFORMAT="%R %U %S"; { time "${@:2}" >/dev/null 2>&1; } 2>>"$1"' \
        bash "$work/recorded" "${cube[@]}" >/dev/null 2>&1
done
median() { awk "{ print $2 }" "$work/$1" | sort -n | sed -n 3p; }
for what in 'wall:$1' 'processor:$2+$3'; do
    alone=$(median alone "${what#*:}") recorded=$(median recorded "${what#*:}")
    awk -v what="${what%%:*}" -v a="$alone" -v r="$recorded" -v n="$frames" \
        'BEGIN { printf "%-10s alone %.3f s, recorded %.3f s: %+.1f %%, %+.1f us per frame\n", what, a, r, (r - a) / a * 100, (r - a) / n * 1e6 }'
done
"$TRACESMITH" query "$work/run.sbt" "SELECT kind_name AS kind, count(*) AS events FROM events GROUP BY kind ORDER BY events DESC" 2>/dev/null ||
    "$TRACESMITH" view --stats "$work/run.sbt" | head -30
