#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In gVisor, whose /proc is not Linux's, a program is recorded as elsewhere: it does not count as ended while it runs. Needs
# runsc (Debian's package runsc) and the right to use ptrace for it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
command -v runsc >/dev/null || skip "no runsc"
[ -z "${TRACESMITH_SANITIZE:-}" ] || skip "a sanitizer needs more of /proc than gVisor has"
sandbox='runsc --network=none --platform=ptrace --ignore-cgroups do --'
# shellcheck disable=SC2086 # words
[ "$(timeout 60 $sandbox echo works 2>/dev/null)" = works ] || skip "runsc does not run here"

# What is written inside stays inside: the trace comes out as text.
cat >"$work/inside" <<'SH_INSIDE'
"$1" profile -o /tmp/gvisor.sbt --api cuda -- "$2" launches=1500 threads=2 2>/tmp/said || { cat /tmp/said; exit 1; }
"$1" query --csv /tmp/gvisor.sbt "SELECT count(*) || ' kernels, ' || (SELECT count(*) FROM api WHERE name = 'cuLaunchKernel') || ' launches, ' ||
    (SELECT coalesce(sum(lost), 0) FROM loss) || ' lost' FROM kernel" | tail -n 1 | tr -d '"\r'
SH_INSIDE
for round in 1 2 3; do
    # shellcheck disable=SC2086
    $sandbox sh "$work/inside" "$TRACESMITH" "$programs/cu_work" >"$work/out" 2>&1 || fail "round $round: $(cat "$work/out")"
    grep -q '^launches 3000 ' "$work/out" || fail "round $round: the program: $(cat "$work/out")"
    grep -q '^3000 kernels, 3000 launches, 0 lost$' "$work/out" || fail "round $round: $(cat "$work/out")"
done
