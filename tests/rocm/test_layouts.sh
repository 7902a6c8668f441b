#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The agent's table of records (agents/rocm/layouts.h) is that of tests/rocm/layouts.tsv, which was computed apart from it, and
# has all that the agent reads. test_headers.sh compares both with AMD's headers.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${TRACESMITH_SOURCE_DIR:?}"
agent=$TRACESMITH_SOURCE_DIR/agents/rocm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
fields() { awk -F '\t' '!/^#/ { print $1, $2, $3 }' "$here/layouts.tsv"; }

{
    echo '#include "sdk.h"'
    fields | while read -r ours _ offset; do
        echo "_Static_assert(SDK_AT_${ours%%.*}_${ours#*.} == $offset, \"$ours\");"
    done
} >"$work/ours.c"
[ "$(grep -c _Static_assert "$work/ours.c")" -ge 100 ] || fail "the table is not read"
${CC:-cc} -fsyntax-only -I"$agent" "$work/ours.c" || fail "the agent's table and the second one differ"

# The second table has every member of the agent's that is not shared by several layouts under another name.
printf '%s\n' '#define NAME(layout, type, member, offset) layout.member' '#define NAMES(layout, LIST) LIST(NAME, layout)' >"$work/names.c"
sed -n '/^#define SDK_HEAD/,/^#define SDK_ACCESSOR/p' "$agent/layouts.h" | sed '$d' >>"$work/names.c"
echo 'SDK_LAYOUTS(NAMES)' >>"$work/names.c"
${CC:-cc} -E -P "$work/names.c" | grep -o '[a-z_]*\.[a-z_]*' | sort -u >"$work/members"
[ "$(wc -l <"$work/members")" -ge 110 ] || fail "the agent's table is not read"
fields | cut -d ' ' -f 1 | sort -u >"$work/second"
comm -23 "$work/members" "$work/second" | grep -vE '\.(size|kind|operation|external|ancestor)$' >"$work/missing" || true
# What is known of a dispatch is the same 72 bytes at its launch: their begin and one member are compared.
grep -v '^launch\.' "$work/missing" && fail "the members above are not in layouts.tsv"
comm -13 "$work/members" "$work/second" | grep . && fail "the members above are not in the agent's table"
exit 0
