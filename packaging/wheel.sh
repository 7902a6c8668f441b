#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packaging/wheel.sh TARBALL OUT: writes into the folder OUT
#
#   tracesmith-VERSION-cp310-abi3-manylinux_2_28_x86_64.whl  the Python package, with all that the tarball has but for C programs
#   SHA256SUMS                                               of it
#
# TARBALL is that of packaging/tarball.sh, of the same tree. Only the extension module is compiled here, by the tarball's compiler
# (old_glibc.sh), for the stable ABI of Python 3.10. The same tree, tarball and compiler give the same bytes, with the tarball's times.
# Exit codes: 0 done and checked, 1 something failed, 2 usage, 4 the machine lacks something (said which).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/packaging/elf.sh"
. "$root/packaging/old_glibc.sh"
die() {
    code=$1
    shift
    echo "wheel.sh: $*" >&2
    exit "$code"
}
[ $# -eq 2 ] || die 2 "usage: packaging/wheel.sh TARBALL OUT"
[ -f "$1" ] || die 2 "no tarball '$1'"
mkdir -p "$2"
out=$(cd "$2" && pwd)
zig=$("$root/packaging/zig.sh") || exit 4
release=${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/release
python=$release/bin/python
"$python" -c 'import scikit_build_core, wheel' 2>/dev/null || die 4 "no scikit-build-core and wheel: './dev release --install' installs them"
headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -f "$headers/Python.h" ] || die 4 "no $headers/Python.h (Debian: python3-dev)"
for tool in cmake ninja objdump readelf; do
    command -v $tool >/dev/null || die 4 "no $tool"
done
version=$("$root/packaging/version.sh")
epoch=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 1)}
# Files in a wheel have no time before 1980.
[ "$epoch" -ge 315532800 ] || epoch=315532800
export SOURCE_DATE_EPOCH="$epoch" TZ=UTC LC_ALL=C CMAKE_GENERATOR=Ninja ZIG_GLOBAL_CACHE_DIR="$release/zig-cache"
unset CMAKE_C_COMPILER_LAUNCHER CFLAGS LDFLAGS 2>/dev/null || true
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
logged() {
    "$@" >"$work/log" 2>&1 || {
        cut -c1-300 "$work/log" | tail -n 40 >&2
        die 1 "$1 failed"
    }
}

tar -xzf "$1" -C "$work"
installed=$work/tracesmith-$version-linux-x86_64
[ -x "$installed/bin/tracesmith" ] || die 1 "$1 is not the tarball of version $version"
mv "$installed/README.md" "$installed/LICENSE" "$work/"

# Headers of Python, and of no C library: zig has its own. Debian's pyconfig.h includes that of the processor.
mkdir -p "$work/include/x86_64-linux-gnu"
[ ! -d "/usr/include/x86_64-linux-gnu/${headers##*/}" ] || ln -s "/usr/include/x86_64-linux-gnu/${headers##*/}" "$work/include/x86_64-linux-gnu/"
old_glibc_compiler "$work/cc" "$zig"
# A copy, because pip builds in the folder of the sources.
mkdir "$work/source"
cp -r "$root/bindings" "$root/cmake" "$root/pyproject.toml" "$root/README.md" "$root/LICENSE" "$work/source/"
logged "$python" -m pip wheel --no-index --no-build-isolation --no-deps --wheel-dir "$work/raw" \
    --config-settings=build-dir="$work/build" --config-settings=cmake.source-dir=bindings/python \
    --config-settings=cmake.define.CMAKE_C_COMPILER="$work/cc" \
    --config-settings=cmake.define.CMAKE_C_FLAGS="-isystem $work/include -ffile-prefix-map=$work=/build" \
    --config-settings=cmake.define.CMAKE_BUILD_WITH_INSTALL_RPATH=ON \
    --config-settings=cmake.define.TRACESMITH_INSTALLED="$installed" "$work/source"
# Its name says where it runs; elf_faults says whether that is true.
logged "$python" -m wheel tags --remove --platform-tag "manylinux_$(echo "$glibc" | tr . _)_x86_64" "$work"/raw/*.whl
set -- "$work"/raw/*.whl
"$python" -m zipfile -e "$1" "$work/unpacked"
found=$(elf_faults "$work/unpacked" "$glibc")
[ -z "$found" ] || die 1 "$found"
mv "$1" "$out/"
(cd "$out" && sha256sum "${1##*/}" >SHA256SUMS)
echo "$out/${1##*/}: $(stat -c %s "$out/${1##*/}") bytes, needs a C library of $glibc or newer"
