#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# For every behavior of CUPTI with its buffers, everything recorded is in the trace once, and everything else is
# counted.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

# Nothing is lost, for every order of buffers and every version that wrote them.
for how in late unordered threads partial nothing twice late,unordered,nothing threads,unordered,partial \
    version=13 version=14 version=16 version=17 version=18 version=19 version=20 version=21 version=24 version=26 version=28 version=130500 \
    version=130000 version=130100 version=130301 version=130301,unordered,partial version=130400,unshared version=130400,alone version=130400,timeless; do
    MOCK_CUPTI=$how
    export MOCK_CUPTI
    record "whole-$how" -- "$programs/cu_work" launches=8000 threads=2 streams=3 bad=1
    [ "$status" -eq 0 ] || fail "$how: exit status $status"
done

lacking() {
    MOCK_CUPTI=$1
    export MOCK_CUPTI
    record "$1" -- "$programs/cu_work" launches=1000
    [ "$status" -eq 0 ] || fail "$1: exit status $status"
}
MOCK_CUPTI=takeover record long-takeover -- "$programs/cu_contexts" long
record long -- "$programs/cu_contexts" long
for how in drop=10 zero=7 wrong=9 silent torn strange takeover; do
    lacking "$how"
done

# CUPTI reports what it does not end for; a version without that has no such callbacks.
for how in error=100 warning=100 version=130301,error=100 version=18,error=100; do
    lacking "$how"
done

# Long enough for several looks: each loss is of its own stretch of time.
MOCK_CUPTI=wrong=9
record windows -- "$programs/cu_work" launches=200000

# A CUPTI that keeps hundreds of buffers gets no more in the end; one that would crash then gets them.
MOCK_CUPTI=version=130001
record hoard_new -- "$programs/cu_work" launches=10 hoard=900
MOCK_CUPTI=version=20
record hoard_old -- "$programs/cu_work" launches=10 hoard=900

! grep -l 'is not zeroed' "$work"/*.err || fail "CUPTI was given a buffer that is not zeroed"

python3 - "$work" <<'PY'
import glob
import sys
from trace import Run

folder = sys.argv[1]
whole = sorted(glob.glob(folder + "/whole-*.json"))
for path in whole:
    run = Run(folder, path[len(folder) + 1:-5])
    version = int(run.name.split("version=")[1].split(",")[0]) if "version=" in run.name else 130001
    if version == 13:  # MEMORY2 came with 11.1
        run.truth["allocs"] = run.truth["frees"] = 0
    later = run.attributes.get("cuda.cupti.fixed_later", "")
    if version == 130000:  # it has no records of waits for a context
        run.truth["waits"] = len(run.of("sync"))
        run.expect("cuCtxSynchronize have sync events" in later, later)
    run.expect(("13.0 update 1" in later) == (20 <= version <= 130000) and bool(later) == (version < 130401), f"{version}: {later}")
    run.check_everything()
    run.expect(not run.lost, f"lost {run.lost}")
    run.expect(str(version) in run.attributes["cuda.cupti"], run.attributes["cuda.cupti"])
assert len(whole) == 27, whole

run = Run(folder, "drop=10")
events = sum(len(run.of(kind)) for kind in ("kernel", "api", "memcpy", "memset", "alloc", "free", "sync"))
written = 2 * run.truth["launches"] + 3 + 2 + run.truth["waits"]  # kernels and their calls, copies, memory, waits
kernels = len(run.of("kernel"))
run.expect(run.missing("vendor_dropped") > 0, f"lost {run.lost}")
run.expect(run.missing("no_completion") == run.truth["launches"] - kernels, f"{kernels} kernels, lost {run.lost}")
# Every tenth record is dropped, and all that is not here was counted: the other calls are few.
total = events + run.missing("vendor_dropped")
run.expect(written < total < written + 40, f"{events} events and {run.lost}, {written} were to come")

run = Run(folder, "zero=7")
untimed = [k for k in run.of("kernel") if "duration" not in k]
run.expect(len(run.of("kernel")) == 1000 and len(untimed) == 1000 // 7, f"{len(untimed)} without times")
run.expect(run.lost == {"no_timing": 1000 // 7}, f"lost {run.lost}")
run.expect(all(k["certainty"] == "untimed" for k in untimed), "that a time is not CUPTI's is not said")
run.check_order()

run = Run(folder, "wrong=9")
untimed = [k for k in run.of("kernel") if "duration" not in k]
run.expect(len(run.of("kernel")) == 1000 and len(untimed) == 1000 // 9, f"{len(untimed)} without times")
run.expect(run.lost == {"no_timing": 1000 // 9}, f"lost {run.lost}")
run.check_order()

run = Run(folder, "windows")
windows = sorted((e["start"], e["start"] + e["duration"], e["lost"]) for e in run.of("loss"))
run.expect(sum(lost for _, _, lost in windows) == 200000 // 9, f"{windows}")
run.expect(all(one[1] <= next[0] for one, next in zip(windows, windows[1:])), f"losses are of one time: {windows}")
print(f"losses in {len(windows)} stretches of time")

run = Run(folder, "silent")
run.expect(not run.of("kernel") and run.lost == {"no_completion": 1000}, f"lost {run.lost}")
run.expect("no record of 1000 of 1000 launches" in run.said and "TRACESMITH_CUPTI" in run.said, f"said {run.said!r}")

# Another user of CUPTI's activity interface gets the buffers from the middle on.
run = Run(folder, "takeover")
kernels = len(run.of("kernel"))
run.expect(kernels < 500 and run.lost == {"no_completion": 1000 - kernels}, f"{kernels} kernels, lost {run.lost}")
run.expect(f"no record of {1000 - kernels} of 1000 launches" in run.said and "other tool" in run.said, run.said)

# If the agent's buffers have no room for the launches since then, that is certain, and reported when it is found.
run = Run(folder, "long-takeover")
kernels = len(run.of("kernel"))
run.expect(kernels < 500 and run.lost == {"no_completion": 10500 - kernels, "untraced": 1}, f"{kernels} kernels, lost {run.lost}")
run.expect("CUPTI gives its records to another tool in the program: an unknown user" in run.said, run.said)
run = Run(folder, "long")
run.expect(len(run.of("kernel")) == 10500 and not run.lost and "another tool" not in run.said, f"lost {run.lost}")

for name in "error=100", "version=130301,error=100", "warning=100", "version=18,error=100":
    run = Run(folder, name)
    run.check_everything()
    run.expect(not run.lost, f"lost {run.lost}")
    error = "CUPTI reported 10 errors, the first: CUPTI_ERROR_OF_THE_MOCK (8), an error that passes"
    run.expect((error in run.said) == (name in ("error=100", "version=130301,error=100")), run.said)
    warned = run.attributes.get("cuda.cupti.warnings")
    run.expect(warned == ("CUPTI reported 10 warnings, the first: CUPTI_ERROR_OF_THE_MOCK (27)" if name == "warning=100" else None), f"{warned}")

run = Run(folder, "torn")
run.expect(set(run.lost) == {"corrupt"}, f"lost {run.lost}")
run.expect(len(run.of("kernel")) == 1000, "kernels before the rest that cannot be read")

run = Run(folder, "strange")
run.expect(set(run.lost) == {"untraced"} and run.lost["untraced"] >= 1000, f"lost {run.lost}")
run.expect(len(run.of("kernel")) == 1000, "kernels among records of unknown kinds")

for name, given in ("hoard_new", 704), ("hoard_old", 900):
    run = Run(folder, name)
    hoarded = run.truths[1]["hoarded"]
    # One may be in CUPTI's own hands.
    run.expect(given - 1 <= hoarded <= given, f"{hoarded} buffers of 900")
    run.expect(len(run.of("kernel")) == 10 + 10 * hoarded, f"{len(run.of('kernel'))} kernels")
    refused = int(run.attributes.get("cuda.buffers_refused", 0))
    run.expect(refused == 900 - hoarded, f"{refused} refused of {900 - hoarded}")
    run.expect(("no buffer was provided" in run.said) == (name == "hoard_new"), run.said)
PY
