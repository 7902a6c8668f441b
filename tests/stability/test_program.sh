#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program of version 0.1 (frozen.c, with that version's declarations and sizes of structs) runs with this library and reads a file of
# that version; its functions are declared as they were, and its members are where tests/build/abi.txt has them.
set -eu
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
if [ "$(uname -m)" != x86_64 ]; then
    echo "skipped: the offsets of abi.txt are those of x86-64"
    exit 77
fi
here=$TRACESMITH_SOURCE_DIR/tests/stability
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*"
    exit 1
}
cc=${CC:-cc}
"$cc" -std=c11 -Wall -Wextra -Werror -o "$work/frozen" "$here/frozen.c" -L"$TRACESMITH_BUILD_DIR/lib" -ltracesmith \
    -Wl,-rpath,"$TRACESMITH_BUILD_DIR/lib" || fail "it is not built"
"$cc" -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$TRACESMITH_SOURCE_DIR/include" -include tracesmith/tracesmith.h "$here/frozen.c" ||
    fail "a function is declared otherwise than in version 0.1"
"$work/frozen" layout >"$work/layout"
[ "$(wc -l <"$work/layout")" -ge 30 ] || fail "it prints no layout"
! grep -vxF -f "$TRACESMITH_SOURCE_DIR/tests/build/abi.txt" "$work/layout" || fail "abi.txt does not have these members"
mkdir "$work/out"
"$work/frozen" "$here/inputs/a.sbt" "$work/out" >"$work/said" || fail "it ends with $?: $(cat "$work/said")"
# What the program did itself, and what make_inputs.py put into the file.
diff - "$work/said" <<'END' || fail "it prints something else"
emitted 6, kept 6, dropped 0
step 3
alloc 4
api 36
collective 6
compile 1
counter 6
frame 6
free 1
kernel 30
loss 1
memcpy 6
memset 6
object 1
off_cpu 6
process 1
range 6
sample 6
sync 6
kernels: kernels with 5 rows; lost 7
gate passed
END
