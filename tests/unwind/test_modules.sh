#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 10,000 call paths through a generated program: a library, its PLT, plugins that come and go.
set -eu
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}" "${CC:?}"
[ "$(uname -m)" = x86_64 ] || {
    echo "skipped: of other processors the walk alone is tested (unwind.aarch64)"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$TRACESMITH_SOURCE_DIR/tests/unwind/modules
count=$(sed -n 's/.*PATH_FUNCTIONS = \([0-9]*\).*/\1/p' "$here/path.h")
sanitize=${TRACESMITH_SANITIZE:+-fsanitize=$TRACESMITH_SANITIZE}

# compile SEED LIBRARY NAME [FLAG...]
compile() {
    seed=$1 library=$2 name=$3
    shift 3
    awk -v count="$count" -v seed="$seed" -v library="$library" -f "$here/functions.awk" >"$work/$name.c"
    "$CC" -O2 -fomit-frame-pointer -fPIC -shared -Wl,-z,lazy "$@" -I"$here" -o "$work/$name.so" "$work/$name.c"
}
compile 1 1 library
compile 2 0 one "$work/library.so"
compile 3 0 two -fno-asynchronous-unwind-tables -funwind-tables "$work/library.so"
cp "$work/one.so" "$work/three.so"
# shellcheck disable=SC2086 # no word where there is no sanitizer
"$CC" -O2 -fomit-frame-pointer -D_GNU_SOURCE -rdynamic -pthread $sanitize -I"$here" \
    -I"$TRACESMITH_SOURCE_DIR/include" -I"$TRACESMITH_SOURCE_DIR/src" -o "$work/main" "$here/main.c" \
    "$work/library.so" "$TRACESMITH_BUILD_DIR/lib/libtracesmith_core.a" -ldl -Wl,-rpath,"$work"
"$work/main" "$work/one.so" "$work/two.so" "$work/three.so"

# Optimized across functions, and with frame pointers, which are not needed where there are rules.
compile 4 0 four -O3 -flto "$work/library.so"
compile 5 0 five -fno-omit-frame-pointer "$work/library.so"
cp "$work/four.so" "$work/six.so"
"$work/main" "$work/four.so" "$work/five.so" "$work/six.so"
