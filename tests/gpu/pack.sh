#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/gpu/pack.sh [DIR]: a build of TraceSmith with every library that it needs, but the C library's own, in one folder
# (build-gpu of the checkout when not given): for a machine that has a GPU and a CUDA toolkit, and nothing to build with.
# It runs where the C library is as new as the one here, or newer. tests/gpu/run.sh finds build-gpu by itself.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
to=${1:-$root/build-gpu}
mkdir -p "$to/bin" "$to/lib"
to=$(cd "$to" && pwd)
build=$to/work

# DT_RPATH and not DT_RUNPATH: it holds for what the libraries need, too, and for nothing that is profiled.
cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DTRACESMITH_BUILD_TESTS=OFF -DTRACESMITH_BUILD_BENCH=OFF \
    -DTRACESMITH_BUILD_EXAMPLES=OFF -DTRACESMITH_ENABLE_OTF2=OFF -DTRACESMITH_ENABLE_BPF=OFF \
    -DTRACESMITH_ENABLE_OCLGRIND=OFF "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags" \
    "-DCMAKE_BUILD_RPATH=\$ORIGIN/../lib" -DCMAKE_BUILD_RPATH_USE_ORIGIN=ON "-DCMAKE_SHARED_LINKER_FLAGS=-Wl,--disable-new-dtags"
cmake --build "$build" -j "$(nproc)"
cp -RP "$build/bin/tracesmith" "$to/bin/"
cp -RP "$build"/lib/lib*.so* "$build"/lib/tracesmith "$to/lib/"
ldd "$build/bin/tracesmith" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | while read -r name path; do
    case $name in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | ld-linux* | libtracesmith.*) ;;
    *) cp -L "$path" "$to/lib/$name" ;;
    esac
done
find "$to/bin" "$to/lib" -type f -exec strip --strip-unneeded {} + 2>/dev/null || true
rm -rf "$build"
"$to/bin/tracesmith" version
echo "in $to: $(du -sh "$to" | cut -f 1)"
