#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# --max-overhead with CUDA: what recording costs is measured, in the trace and in `info`; and of a program with more calls
# than the share allows, calls are left out, every one counted, and nothing of what the device did.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

MOCK_CUPTI=mix
export MOCK_CUPTI
options="--overflow block"
record whole "$programs/cu_work" launches=1000 callbacks=131072 feed=600000
options="--overflow block --max-overhead 100"
record measured "$programs/cu_work" launches=1000 callbacks=131072 feed=600000
options="--overflow block --max-overhead 0.0001"
record thinned "$programs/cu_work" launches=1000 callbacks=131072 feed=600000
options="--overflow block --max-overhead 0.0001 --stacks"
record stacks "$programs/cu_work" launches=1000 callbacks=131072 feed=600000
for name in measured thinned; do
    "$TRACESMITH" info "$work/$name.sbt" >"$work/$name.text"
    grep -q '^cost  *process [0-9]* (cuda): [0-9]*\.[0-9]* % of a thread' "$work/$name.text" ||
        fail "$name: info does not say the cost: $(cat "$work/$name.text")"
done
grep -q 'everything is recorded at the end, 0 thinned' "$work/measured.text" || fail "measured: $(grep ^cost "$work/measured.text")"
grep -Eq 'left out|who launched' "$work/thinned.text" || fail "thinned: $(grep ^cost "$work/thinned.text")"
python3 - "$work" <<'PY'
import json
import sys

work = sys.argv[1]


def expect(right, what):
    if not right:
        sys.exit(f"FAILED: {what}")


def read(name):
    with open(f"{work}/{name}.info") as info:
        return json.load(info)


whole, measured, thinned, stacks = map(read, ("whole", "measured", "thinned", "stacks"))
expect(whole["lost"]["total"] == 0 and measured["lost"]["total"] == 0, f"{whole['lost']} {measured['lost']}")
expect({**measured["kinds"], "overhead": 0} == {**whole["kinds"], "overhead": 0}, f"{measured['kinds']} {whole['kinds']}")
expect(measured["kinds"]["overhead"] > whole["kinds"].get("overhead", 0), "nothing was measured")
for name, run in (("thinned", thinned), ("stacks", stacks)):
    lost = run["lost"]["by_reason"]
    for kind in ("kernel", "memcpy", "memset", "sync", "alloc", "free"):
        expect(run["kinds"].get(kind) == whole["kinds"].get(kind), f"{name}: {kind}: {run['kinds']} {whole['kinds']}")
    expect(lost.get("thinned", 0) > 0, f"{name}: {lost}")
    expect(run["kinds"].get("api", 0) + lost["thinned"] == whole["kinds"]["api"], f"{name}: {run['kinds']}, {lost}")
    expect(set(lost) <= ({"thinned"} if name == "thinned" else {"thinned", "no_stack", "partial_stack"}), f"{name}: {lost}")
print(f"of {whole['kinds']['api']} calls {thinned['lost']['by_reason']['thinned']} were left out, and counted")
PY
