#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The file name of the library (SONAME): this version's, and what it becomes at 1.0. A program that was linked with 0.x keeps its library
# when one of 1.0 is installed next to it, and does not start with the other one alone.
set -eu
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
here=$TRACESMITH_SOURCE_DIR
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*"
    exit 1
}
name_of() {
    cmake -DVERSION="$1" -P "$here/cmake/soname.cmake" 2>&1
}
for pair in 0.1.0:0 0.9.12:0 1.0.0:1 1.14.2:1 2.0.0:2; do
    [ "$(name_of "${pair%:*}")" = "libtracesmith.so.${pair#*:}" ] || fail "of ${pair%:*}: $(name_of "${pair%:*}")"
done
! name_of one >/dev/null || fail "'one' is taken for a version"
version=$(sed -n 's/^project(TraceSmith VERSION \([0-9.]*\).*/\1/p' "$here/CMakeLists.txt")
soname=$(name_of "$version")
library=$TRACESMITH_BUILD_DIR/lib/$soname
readelf -d "$library" | grep -q "SONAME.*\[$soname\]" || fail "$library has another name within"
grep -qx "Package: libtracesmith${soname##*.}" "$here/packaging/debian/control" || fail "Debian's package is not called after $soname"
# A build with a sanitizer needs its runtime in the program; the names are the same.
[ -z "${TRACESMITH_SANITIZE:-}" ] || exit 0

cc=${CC:-cc}
mkdir "$work/lib"
cp "$library" "$work/lib/$soname"
ln -s "$soname" "$work/lib/libtracesmith.so"
"$cc" -std=c11 -o "$work/old" "$here/tests/stability/frozen.c" -L"$work/lib" -ltracesmith -Wl,-rpath,"$work/lib" || fail "no program"
readelf -d "$work/old" | grep -q "NEEDED.*\[$soname\]" || fail "the program needs another library"
"$work/old" layout >"$work/before" || fail "the program does not run"
# The next major version, with nothing in it: a program that took it would not start.
next=libtracesmith.so.$((${soname##*.} + 1))
[ "$(name_of "$((${soname##*.} + 1)).0.0")" = "$next" ] || fail "the next version is not called $next"
echo 'int tracesmith_next_major;' | "$cc" -shared -fPIC -o "$work/lib/$next" -Wl,-soname,"$next" -x c -
ln -sf "$next" "$work/lib/libtracesmith.so"
"$work/old" layout >"$work/after" || fail "the program does not run next to $next"
cmp "$work/before" "$work/after" || fail "the program runs with $next"
rm "$work/lib/$soname"
! LC_ALL=C "$work/old" layout >"$work/out" 2>&1 || fail "the program runs without $soname"
grep -q "$soname" "$work/out" || fail "what is missing is not named: $(cat "$work/out")"
