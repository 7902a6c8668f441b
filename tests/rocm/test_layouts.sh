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

# All that the agent reads is in the second table. A kernel's data has two places: in its record, and at its launch.
grep -oh 'sdk_[a-z_]*([a-z&]*record\|SDK_HAS([a-z]*, [a-z_]*, [a-z_]*)\|SDK_OR_0([a-z]*, [a-z_]*, [a-z_]*)' "$agent"/*.c |
    sed -n 's/^SDK_[HASOR0_]*([a-z]*, \([a-z_]*\), \([a-z_]*\))/\1.\2/p' | grep -v '^layout' | sort -u >"$work/read"
[ "$(wc -l <"$work/read")" -ge 40 ] || fail "what the agent reads is not found"
while read -r field; do
    fields | grep -q "^$field " || fail "$field is read and is not in layouts.tsv"
done <"$work/read"
