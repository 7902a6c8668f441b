#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No file over 800 lines, no function over 60, unless a 'shape:' comment says why; and one that is gets found.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "${TRACESMITH_SOURCE_DIR:-$here/../..}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# function LINES [COMMENT]: a C file with one function whose body has so many lines.
function_of() {
    awk -v n="$1" -v comment="${2-}" 'BEGIN {
        if (comment != "") print "// " comment
        print "static int planted(int a,\n                   int b) {"
        for (i = 1; i < n; i++) print "    a += b;"
        print "    return a;\n}"
    }'
}
# judge EXPECTED FILE
judge() {
    if awk -f "$here/shape.awk" "$2" >"$work/out"; then verdict=good; else verdict=bad; fi
    [ "$verdict" = "$1" ] || {
        echo "self-test: ${2##*/} was judged $verdict"
        cat "$work/out"
        exit 1
    }
}
function_of 60 >"$work/sixty.c"
function_of 61 >"$work/sixty-one.c"
function_of 90 'shape: one row per opcode' >"$work/excused.c"
{ function_of 90 && awk 'BEGIN { for (i = 0; i < 710; i++) print "int v" i ";" }'; } >"$work/both.c"
awk 'BEGIN { for (i = 0; i < 800; i++) print "int v" i ";" }' >"$work/long.c"
{ cat "$work/long.c" && echo 'int more;'; } >"$work/too-long.c"
{ echo '// shape: a generated table' && cat "$work/too-long.c"; } >"$work/long-excused.c"
judge good "$work/sixty.c"
judge bad "$work/sixty-one.c"
judge good "$work/excused.c"
judge bad "$work/both.c"
[ "$(wc -l <"$work/out")" -eq 2 ]
judge good "$work/long.c"
judge bad "$work/too-long.c"
judge good "$work/long-excused.c"

for dir in include src agents cli examples tests fuzz bench bindings; do
    [ ! -d "$dir" ] || find "$dir" -type f -name '*.[ch]'
done >"$work/files"
tr '\n' '\0' <"$work/files" | xargs -0 awk -f "$here/shape.awk"
