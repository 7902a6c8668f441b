#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the OpenCL recorder (profile --capture) costs while its range has not begun: nanoseconds per call for every entry
# point of tests/programs/cl_calls, bare and with the recorder loaded alone, in turns, the least of all runs; and the wall
# time of whole programs. On PoCL's device without threads, where no other thread disturbs.
#
# ROUNDS (7), CALLS (300 batches each).
set -eu
: "${TRACESMITH_BUILD_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export POCL_DEVICES=basic
python3 - "$TRACESMITH_BUILD_DIR" "$work" "${ROUNDS:-7}" "${CALLS:-300}" <<'PY'
import json, os, shutil, subprocess, sys, tempfile, time

build, work, rounds, batches = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
programs = build + "/tests/programs/"
recorder = build + "/lib/tracesmith/libtracesmith-opencl-record.so"


def run(command, armed):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TRACESMITH", "OPENCL_LAYERS"))}
    session = tempfile.mkdtemp(dir=work)
    if armed:
        environment |= {"OPENCL_LAYERS": recorder, "TRACESMITH_SESSION": session,
                        "TRACESMITH_CAPTURE": "kernels:999999999+1"}
    start = time.monotonic()
    out = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
    took = time.monotonic() - start
    if armed and not os.listdir(session):
        sys.exit("the recorder was not loaded")
    shutil.rmtree(session)
    return out, took


least = [{}, {}]
for _ in range(rounds):
    for armed in 0, 1:
        said = json.loads(run([programs + "cl_calls", "-n", batches], armed)[0])
        least[armed] = {k: min(v, least[armed].get(k, v)) for k, v in said.items()}
print("%-40s %10s %10s %8s" % ("ns per call", "bare", "armed", "cost"))
for name, bare in least[0].items():
    print("%-40s %10.1f %10.1f %+8.1f" % (name, bare, least[1][name], least[1][name] - bare))

print("\n%-40s %10s %10s %8s" % ("wall time of a program, s", "bare", "armed", "cost"))
for command in (["examples/image_pipeline", "-n", "8", "-s", "512x512"], ["tests/programs/cl_launch_loop", "-n", "100000"],
                ["tests/programs/cl_what_if", "queues"]):
    command = [build + "/" + command[0]] + command[1:]
    if not os.access(command[0], os.X_OK):
        continue
    times = [[], []]
    for _ in range(rounds):
        for armed in 0, 1:
            times[armed].append(run(command, armed)[1])
    bare, armed = min(times[0]), min(times[1])
    print("%-40s %10.3f %10.3f %+7.2f%%" % (" ".join([os.path.basename(command[0])] + command[1:]), bare, armed, (armed / bare - 1) * 100))
PY
