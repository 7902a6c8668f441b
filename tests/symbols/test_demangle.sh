#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Names of C++ (20 too) and of Rust, both manglings, against other demanglers: of programs made here and of what is installed.
# Names of D, of Fortran, and of Rust with characters that are not ASCII's, against what their compilers call the functions.
set -eu
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}" "${CC:?}"
for tool in nm c++ c++filt python3; do
    command -v "$tool" >/dev/null || {
        echo "skipped: there is no $tool"
        exit 77
    }
done
modules=$TRACESMITH_SOURCE_DIR/tests/unwind/modules
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sanitize=${TRACESMITH_SANITIZE:+-fsanitize=$TRACESMITH_SANITIZE}
# shellcheck disable=SC2086 # no word where there is no sanitizer
"$CC" -O2 -D_GNU_SOURCE $sanitize -I"$TRACESMITH_SOURCE_DIR/include" -I"$TRACESMITH_SOURCE_DIR/src" \
    -o "$work/demangled" "$modules/demangled.c" "$TRACESMITH_BUILD_DIR/lib/libtracesmith_core.a" -liberty
cd "$work"
set --
for compiler in c++ clang++; do
    if command -v "$compiler" >/dev/null && "$compiler" -std=c++20 -O0 -o "cxx20.$compiler" "$modules/cxx20.cc" 2>/dev/null; then
        set -- "$@" "cxx20.$compiler"
    else
        echo "no $compiler with C++20: its names are not looked at"
    fi
done
if command -v rustc >/dev/null; then
    # Which of the manglings is the usual one changed; the other has to be asked for.
    for mangling in legacy v0; do
        RUSTC_BOOTSTRAP=1 rustc -O -Zunstable-options -C "symbol-mangling-version=$mangling" \
            -o "rust.$mangling" "$modules/inlined.rs" 2>/dev/null && set -- "$@" "rust.$mangling"
    done
else
    echo "no rustc: Rust is not looked at"
fi
names() {
    language=$1
    shift
    if command -v "$1" >/dev/null && "$@" -o "names.$language" 2>"$language.err"; then
        python3 "$TRACESMITH_SOURCE_DIR/tests/unwind/check_demangle_names.py" "$language" ./demangled "./names.$language"
    else
        echo "no $1 that can compile this: $language is not looked at"
    fi
}
export RUSTC_BOOTSTRAP=1
names rust rustc -O -Zunstable-options -C symbol-mangling-version=legacy "$modules/names.rs"
names d gdc "$modules/names.d"
names fortran gfortran "$modules/names.f90"
for library in /usr/lib/*/libstdc++.so.6 /usr/lib/llvm-14/lib/libLLVM-14.so; do
    [ -f "$library" ] && set -- "$@" "$library"
done
[ $# -gt 0 ] || {
    echo "skipped: nothing here has such names"
    exit 77
}
exec python3 "$TRACESMITH_SOURCE_DIR/tests/symbols/check_demangle.py" ./demangled "$@"
