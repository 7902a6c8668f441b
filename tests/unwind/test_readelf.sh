#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every row of the call frame information of real libraries, hand-written assembly included, as readelf has it.
set -eu
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}" "${CC:?}"
[ "$(uname -m)" = x86_64 ] || {
    echo "skipped: the registers compared are x86-64's"
    exit 77
}
for tool in readelf python3 ldd; do
    command -v "$tool" >/dev/null || {
        echo "skipped: there is no $tool"
        exit 77
    }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sanitize=${TRACESMITH_SANITIZE:+-fsanitize=$TRACESMITH_SANITIZE}
# shellcheck disable=SC2086 # no word where there is no sanitizer
"$CC" -O2 -D_GNU_SOURCE $sanitize -I"$TRACESMITH_SOURCE_DIR/include" -I"$TRACESMITH_SOURCE_DIR/src" \
    -o "$work/rows" "$TRACESMITH_SOURCE_DIR/tests/unwind/modules/rows.c" \
    "$TRACESMITH_BUILD_DIR/lib/libtracesmith_core.a"
# What the library needs: libc, the dynamic linker, and what they were built with.
ldd "$TRACESMITH_BUILD_DIR/lib/libtracesmith.so.0" | sed -n 's|^.* \(/[^ ]*\) (.*$|\1|p; s|^\t\(/[^ ]*\) (.*$|\1|p' |
    grep -E '/(libc|ld-linux|libm|libzstd)[-.]' | sort -u >"$work/files"
[ "$(wc -l <"$work/files")" -ge 2 ]
while read -r file; do
    python3 "$TRACESMITH_SOURCE_DIR/tests/reference/frame_rows.py" "$work/rows" "$file"
done <"$work/files"
