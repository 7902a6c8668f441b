#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The source is built in a bare Debian 11 with what it has: gcc 10, CMake 3.18, headers of OpenCL without layers, headers of Vulkan and a
# TypeScript that are too old. The parts that need newer ones are left out and named, and the command works.
. "$(dirname "$0")/lib.sh"
code=0
TRACESMITH_FRESH_SUITE=bullseye TRACESMITH_FRESH_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/release \
    "$root/tests/fresh-root.sh" tests/packages/inside.sh source || code=$?
[ "$code" -ne 77 ] || skip "no bare Debian 11 can be made here"
exit "$code"
