#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packaging/zig.sh: prints the path of zig, the C compiler that links for old C libraries: $TRACESMITH_ZIG, or the one of PyPI's package
# ziglang that './dev release --install' brought. Exit code 4: there is none.
set -eu
zig=${TRACESMITH_ZIG:-}
[ -n "$zig" ] || for zig in "${XDG_CACHE_HOME:-$HOME/.cache}"/tracesmith/release/lib/python3*/site-packages/ziglang/zig; do :; done
[ -x "$zig" ] || {
    echo "no zig: './dev release --install' brings it (PyPI's ziglang)" >&2
    exit 4
}
echo "$zig"
