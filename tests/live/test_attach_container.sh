#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `tracesmith attach` and programs in containers: mount, PID and user namespaces of their own, another root, none of TraceSmith's files.
set -eu
. "$TRACESMITH_SOURCE_DIR/tests/live/attach.sh"
command -v unshare >/dev/null || skip "no unshare (util-linux)"
unshare -Ur --mount --pid --fork sh -c 'mount -t tmpfs tmpfs /mnt && mount -t proc proc /proc' 2>/dev/null ||
    skip "this user can create no namespaces with mounts of their own"
exec python3 "$TRACESMITH_SOURCE_DIR/tests/live/check_attach_container.py" "$programs" "$work"
