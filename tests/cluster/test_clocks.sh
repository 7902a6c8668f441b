#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Three hosts, as network namespaces with clocks of known shift: probes, the comparison of the ranks, and the merge.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
command -v ip >/dev/null || { echo "skipped: no network namespaces: no ip (iproute2)"; exit 77; }
[ -x "$TRACESMITH_BUILD_DIR/tests/programs/cl_launch_loop" ] || { echo "skipped: no OpenCL to build with"; exit 77; }
why=$(unshare --user --map-root-user --net --mount sh -c 'mount -t tmpfs none /run && ip netns add a && ip netns add b &&
    ip link add x netns a type veth peer name y netns b && ip netns exec a unshare --time --fork --monotonic 100 true' 2>&1) ||
    { echo "skipped: no network namespaces: $(echo "$why" | tr '\n' ' ')"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$TRACESMITH_SOURCE_DIR/tests/cli \
    exec unshare --user --map-root-user --net --mount python3 "$TRACESMITH_SOURCE_DIR/tests/cluster/check_clocks.py"
