#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records as no SDK of today gives them: in any order, longer, shorter, of unknown kinds, with impossible times, dropped by the SDK,
# in buffers that are always full. Everything is in the trace or counted, and nothing unknown is 0: simulated.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

for word in shuffle longer shorter small late=5000000000000; do
    MOCK_ROCM=$word record "${word%%=*}" -- "$program" launches=2000 threads=2 copies=20
done
MOCK_ROCM=shuffle,small,longer record all -- "$program" launches=2000 threads=2 copies=20
MOCK_ROCM=drop=7 record drop -- "$program" launches=500
MOCK_ROCM=unknown=9 record unknown -- "$program" launches=20
MOCK_ROCM=badtimes=6 record badtimes -- "$program" launches=100
MOCK_ROCM=noagent record noagent -- "$program" launches=2 copies=1
MOCK_ROCM=quiet=5 record quiet -- "$program" launches=100
MOCK_ROCM=drop=4,quiet=3,badtimes=2,unknown=1 record mixed -- "$program" launches=100
options='--agent-option rocm.migrations'
MOCK_ROCM=nokfd record nokfd -- "$program" launches=20
python3 - "$work" <<'PY'
import sys
from rocm_run import Run

runs = {name: Run(sys.argv[1], name) for name in
        ("shuffle", "longer", "shorter", "small", "late", "all", "drop", "unknown", "badtimes", "noagent", "quiet", "mixed", "nokfd")}
for name in ("shuffle", "longer", "small", "late", "all", "nokfd"):
    run = runs[name]
    run.check_counts()
    run.check_causes()
    run.check_order()
    run.check_sizes()
    run.expect(not run.lost, f"lost {run.lost}")

shorter = runs["shorter"]
shorter.check_counts()
shorter.check_causes()
shorter.expect(not shorter.lost, f"lost {shorter.lost}")
for kernel in shorter.of("kernel"):
    shorter.expect(not any(key.startswith(("global", "local")) for key in kernel), f"sizes that the record lacks: {kernel}")
    shorter.expect("group_segment_size" in kernel["args"], "a member that the record has")
for copy in shorter.of("memcpy"):
    shorter.expect("bytes" not in copy and "destination" not in copy and "direction" in copy, f"{copy}")
shorter.expect(all("bytes" not in alloc for alloc in shorter.of("alloc")), "bytes that the record lacks")

drop = runs["drop"]
drop.expect(len(drop.of("kernel")) == 493 and drop.lost == {"vendor_dropped": 7}, f"{len(drop.of('kernel'))} {drop.lost}")
unknown = runs["unknown"]
unknown.check_counts()
unknown.expect(unknown.lost == {"untraced": 9}, f"{unknown.lost}")
bad = runs["badtimes"]
untimed = [k for k in bad.of("kernel") if "duration" not in k]
bad.expect(len(bad.of("kernel")) == 100 and len(untimed) == 6 and bad.lost == {"no_timing": 6}, f"{len(untimed)} {bad.lost}")
bad.expect({k["certainty"] for k in untimed} == {"untimed"}, "certainty")
quiet = runs["quiet"]
quiet.expect(len(quiet.of("kernel")) == 95 and quiet.lost == {"no_completion": 5}, f"{len(quiet.of('kernel'))} {quiet.lost}")
mixed = runs["mixed"]
mixed.expect(len(mixed.of("kernel")) == 93, f"{len(mixed.of('kernel'))} kernels")
mixed.expect(mixed.lost == {"vendor_dropped": 4, "no_completion": 3, "no_timing": 2, "untraced": 1}, f"{mixed.lost}")
noagent = runs["noagent"]
noagent.check_counts()
noagent.expect([f["name"] for f in noagent.of("free")] == ["memory"] and noagent.of("alloc")[0]["name"] == "device memory", "memory")
nokfd = runs["nokfd"].attributes["rocm.not_recorded"]
runs["nokfd"].expect(nokfd == "KFD_EVENT_DROPPED_EVENTS, KFD_PAGE_MIGRATE", nokfd)
runs["late"].expect(int(runs["late"].attributes["rocm.clock_error_ns"]) < 10**7, "the clock's error")
PY
