#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Launches from Go: Go calls C on another stack than its own. Behind that switch the stack continues, frame by frame
# as Go's runtime reports it: in a program with symbols, a stripped one, and one whose addresses are moved. Where C
# has called Go the stack is cut, which it and the ledger state.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "Go's switch of stacks is known on x86-64"
[ -z "${TRACESMITH_SANITIZE:-}" ] || skip "a sanitizer does not know Go's stacks"
command -v go >/dev/null || skip "no go (on Debian: apt install golang-go)"
export GOCACHE="$work/go" GOFLAGS=-mod=mod GO111MODULE=off GOPROXY=off

for build in "symbols" "stripped -ldflags=-s" "moved -buildmode=pie" "unnamed -buildmode=pie -ldflags=-s"; do
    name=${build%% *}
    flags=${build#"$name"}
    # shellcheck disable=SC2086 # a list of flags
    go build $flags -o "$work/$name" "$here/stacks/cgo.go" 2>"$work/go.err" || skip "go: $(tail -n 1 "$work/go.err")"
    "$TRACESMITH" profile --stacks -o "$work/$name.sbt" -- "$work/$name" >"$work/$name.out" 2>"$work/$name.err" ||
        fail "$name ended with $?: $(cat "$work/$name.err")"
    "$TRACESMITH" query --json "$work/$name.sbt" "
        WITH RECURSIVE path(at, level, id) AS (
            SELECT start, 0, stack FROM api WHERE name = 'clEnqueueNDRangeKernel'
            UNION ALL SELECT at, level + 1, parent FROM path JOIN stacks USING (id) WHERE parent)
        SELECT at, level, address, function, guessed, truncated
        FROM path JOIN stacks USING (id) JOIN frames ON frames.id = stacks.frame ORDER BY at, level;
        SELECT reason, sum(lost) FROM loss GROUP BY reason" >"$work/$name.json"
    python3 "$here/check_stacks_go.py" "$work" "$name" || exit 1
done
