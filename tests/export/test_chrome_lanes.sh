#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In Chrome JSON the slices of a thread are nested or disjoint, as check_lanes.py reads it: traces that are hard to
# write, one with more than may wait, a recording of a queue whose commands overlap, and traces of the corpus.
set -eu
# shellcheck source=tests/support/traces.sh
. "$(dirname "$0")/../support/traces.sh"
here=$source/tests/export

# check [some|none]
check() {
    "$TRACESMITH" export "$folder/trace.sbt" -f chrome -o "$folder/trace.json" 2>"$folder/said" || { cat "$folder/said"; exit 1; }
    python3 "$here/check_lanes.py" "$folder/trace.sbt" "$folder/trace.json" "$@"
    rm "$folder/trace.sbt"
}

for made in 'make_awkward.py 1' 'make_awkward.py 2' 'make_awkward.py 3 perfetto' 'make_nested.py 1' 'make_nested.py 2' \
    'make_launches.py 1'; do
    # shellcheck disable=SC2086 # several words
    python3 "$here"/$made | "$TRACESMITH_BUILD_DIR/tests/programs/sbt_make" "$folder/trace.sbt"
    case $made in
    make_awkward*) check some ;;
    make_nested*) check none ;; # they come in any order, and need no lane
    *) check ;;
    esac
done
# So many batches that they are written in rounds: late events have to fit to those already written.
python3 - >"$folder/description" <<'END'
import random
rng = random.Random(5)
more = " ".join(f"{field}=1" for field in ("bytes", "queued", "submitted", "completed", "global_x", "global_y", "global_z",
                                            "local_x", "local_y", "local_z", "count", "taken", "line", "address"))
print("process 7 many\ntrack 2 queue 1 0\ntrack 1 thread 1 0")
for i in range(6000):
    duration = rng.choice([0, 5, 20, 90, 90, 400, rng.randrange(100000)])
    print(f"event {1 + i % 2} 10 {10 * i + rng.randrange(-300, 300)} duration={duration} name=x {more}\nflush")
END
"$TRACESMITH_BUILD_DIR/tests/programs/sbt_make" "$folder/trace.sbt" <"$folder/description"
check some
# More at once than there are lanes: a slice without a lane becomes an instant with its duration.
python3 - >"$folder/description" <<'END'
print("process 7 crowd\ntrack 2 queue 1 0")
for i in range(1100):
    print(f"event 1 1 {i} duration=2000 name=k")
END
"$TRACESMITH_BUILD_DIR/tests/programs/sbt_make" "$folder/trace.sbt" <"$folder/description"
"$TRACESMITH" export "$folder/trace.sbt" -f chrome -o "$folder/trace.json"
rm "$folder/trace.sbt"
python3 - "$folder/trace.json" <<'END'
import json
import sys
events = [event for event in json.load(open(sys.argv[1]))["traceEvents"] if event["name"] == "k"]
slices = [event for event in events if event["ph"] == "X"]
threads = {event["tid"] for event in slices}
assert len(events) == 1100 and {event["ph"] for event in events} == {"X", "i"}, len(events)
assert len(threads) == len(slices) > 1000 and all(event["dur"] == 2 for event in events)
END
# Two work-groups run at once where the device has two compute units.
status=0
"$TRACESMITH_BUILD_DIR/tests/programs/cl_launch_loop" -n 1 >/dev/null 2>&1 || status=$?
if [ "$status" -eq 0 ] && [ -f "$TRACESMITH_BUILD_DIR/lib/tracesmith/libtracesmith-opencl.so" ]; then
    "$TRACESMITH" profile -o "$folder/trace.sbt" -- "$TRACESMITH_BUILD_DIR/tests/programs/cl_overlap" >/dev/null
    check
fi
# What came as Chrome JSON goes back to the threads it came from; other formats need lanes here, too.
for trace in "${TRACESMITH_CORPUS:-$folder/none}"/*.sqlite; do
    if [ -f "$trace" ]; then
        echo "$trace"
        "$TRACESMITH" import "$trace" -o "$folder/trace.sbt" >/dev/null 2>&1
        check
    fi
done
