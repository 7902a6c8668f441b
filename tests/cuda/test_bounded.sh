#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Gigabytes of CUPTI's records go through the agent and the collector: none is lost, and ten times as many need no more
# memory. TRACESMITH_SOAK: 10 GB of records.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

launches=$((${TRACESMITH_SOAK:+10} + 0))
launches=$(((launches > 0 ? launches : 1) * 4000000)) # 256 bytes each: a call and a kernel
python3 - "$TRACESMITH" "$programs/cu_work" "$work" "$launches" <<'PY'
import json
import os
import subprocess
import sys

tracesmith, program, work, launches = sys.argv[1:4] + [int(sys.argv[4])]


def run(count):
    """Most memory that a process of the run had, in MB, and what the trace says."""
    path = work + "/trace.sbt"
    process = subprocess.Popen([tracesmith, "profile", "--api", "cuda", "--overflow", "block", "-o", path, "--", program,
                                "launches=1", "feed=%d" % count], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, said
    info = json.loads(subprocess.run([tracesmith, "info", "--json", path], check=True, capture_output=True).stdout)
    assert info["kinds"]["kernel"] == count + 1, (info["kinds"], info["lost"], count)
    assert info["lost"]["total"] == 0, info["lost"]
    return usage.ru_maxrss / 1024


few = run(launches // 10)
many = run(launches)
print(f"{launches * 256 / 1e9:.1f} GB of records: {many:.0f} MB at most, {few:.0f} MB for a tenth of it")
sanitized = os.environ.get("TRACESMITH_SANITIZE")
assert sanitized or many < 300, f"{many} MB"
assert sanitized or many < few + 64, f"{few} MB, and {many} MB for ten times as many"
PY
