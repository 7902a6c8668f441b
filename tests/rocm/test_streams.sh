#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Streams that HIP has without making them, and an SDK that ends programs that use these: the program is unharmed, and no kernel is
# missing: simulated.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

record special -- "$program" launches=20 streams=2 special=1
MOCK_ROCM=version=10000 record old -- "$program" launches=20 streams=2 special=1
[ "$status" -eq 0 ] || fail "the program ended with $status: $(cat "$work/old.err")"
options='--agent-option rocm.streams'
MOCK_ROCM=version=10000 record asked -- "$program" launches=20 streams=2
# The mock does what the SDK does: with streams, the program is ended.
MOCK_ROCM=version=10000 record ended -- "$program" launches=20 streams=2 special=1
[ "$status" -ne 0 ] || fail "SDK 1.0 with streams did not end the program"
python3 - "$work" <<'PY'
import sys
from collections import Counter
from rocm_run import Run

special, old, asked = (Run(sys.argv[1], name) for name in ("special", "old", "asked"))
for run in (special, old, asked):
    run.check_counts()
    run.check_causes()
    run.check_order()
    run.expect(not run.lost, f"lost {run.lost}")


def tracks(run):
    return Counter(run.tracks[k["track"]]["name"] for k in run.of("kernel"))


special.expect(tracks(special) == {"stream 1": 10, "stream 2": 10, "default stream 0": 1, "stream 3": 1}, f"{tracks(special)}")
asked.expect(tracks(asked) == {"stream 1": 10, "stream 2": 10}, f"{tracks(asked)}")
old.expect(tracks(old) == {"queue 43": 10, "queue 44": 10, "queue 42": 1, "queue 45": 1}, f"{tracks(old)}")
old.expect(old.attributes["rocm.not_recorded"] == "streams", old.attributes["rocm.not_recorded"])
old.expect(old.attributes["rocm.sdk"] == "rocprofiler-sdk 1.0.0", old.attributes["rocm.sdk"])
asked.expect("rocm.not_recorded" not in asked.attributes, "streams that were asked for")
PY
