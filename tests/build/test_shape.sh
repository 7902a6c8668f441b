#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No file over 800 lines and no function over 60 lines, unless a 'shape:' comment says why. Every .c file of src/,
# agents/ and cli/ begins with a comment on its purpose. Planted files check that both rules find violations.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "${TRACESMITH_SOURCE_DIR:-$here/../..}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# function LINES [COMMENT]: a C file with one function whose body has LINES lines.
function_of() {
    awk -v n="$1" -v comment="${2-}" 'BEGIN {
        if (comment != "") print "// " comment
        print "static int planted(int a,\n                   int b) {"
        for (i = 1; i < n; i++) print "    a += b;"
        print "    return a;\n}"
    }'
}
# judge EXPECTED FILE [RULE]: RULE is the name of an awk program, shape without it.
judge() {
    if awk -f "$here/${3-shape}.awk" "$2" >"$work/out"; then verdict=good; else verdict=bad; fi
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

license='// SPDX-License-Identifier: Apache-2.0'
printf '%s\n// Reads a widget. The parser calls it.\nint v;\n' "$license" >"$work/opened.c"
printf '%s\n/* Reads a widget. */\nint v;\n' "$license" >"$work/opened-block.c"
printf '%s\n#include <stdio.h>\n// A later comment.\nint v;\n' "$license" >"$work/unopened.c"
printf '%s\n// shape: one row per opcode\nint v;\n' "$license" >"$work/only-excused.c"
printf '%s\n' "$license" >"$work/empty.c"
judge good "$work/opened.c" opening
judge good "$work/opened-block.c" opening
judge bad "$work/unopened.c" opening
judge bad "$work/only-excused.c" opening
judge bad "$work/empty.c" opening

for dir in include src agents cli examples tests fuzz bench bindings; do
    [ ! -d "$dir" ] || find "$dir" -type f -name '*.[ch]'
done >"$work/files"
tr '\n' '\0' <"$work/files" | xargs -0 awk -f "$here/shape.awk"
find src agents cli -type f -name '*.c' -print0 | xargs -0 awk -f "$here/opening.awk"
