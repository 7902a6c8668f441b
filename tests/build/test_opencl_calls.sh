#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every function that the OpenCL agent calls through its table is in agents/opencl_calls/calls.h: the preloaded agent fills its table
# from that list, and a function that is not there would be called through NULL. A planted one is found.
set -eu
cd "${TRACESMITH_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -n 's/^ *X(\(cl[A-Za-z0-9]*\)).*/\1/p' agents/opencl_calls/calls.h | sort -u >"$work/listed"
[ "$(wc -l <"$work/listed")" -ge 80 ] || {
    echo "agents/opencl_calls/calls.h is not read as it is written"
    exit 1
}
# missing FILE...: what they call that is not listed.
called() { grep -ohE '(opencl_next\.|^[A-Z_]+\()cl[A-Za-z0-9]+' "$@" | sed 's/.*[.(]//' | sort -u; }
missing() { called "$@" | comm -23 - "$work/listed"; }

printf 'status = opencl_next.clPlanted(1) + opencl_next.clFinish(q);\nENQUEUE(clPlantedToo, x)\n' >"$work/planted.c"
[ "$(missing "$work/planted.c" | xargs)" = "clPlanted clPlantedToo" ] || {
    echo "self-test: a planted call was not found"
    exit 1
}
find agents/opencl -name '*.[ch]' >"$work/files"
# shellcheck disable=SC2046 # file names of ours
used=$(called $(cat "$work/files") | wc -l)
[ "$used" -ge 70 ] || {
    echo "only $used functions are called through opencl_next: the search is wrong"
    exit 1
}
# shellcheck disable=SC2046 # file names of ours
found=$(missing $(cat "$work/files"))
[ -z "$found" ] || {
    echo "called through opencl_next and not in agents/opencl_calls/calls.h: $found"
    exit 1
}
