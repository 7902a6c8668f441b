#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# whole.sh BUILD [s390x | arm64]...: builds the command for other processors, with Debian's compilers and libraries, runs it by qemu and
# compares what it reads with the command in BUILD: `info`, `analyze`, `query`, every export and `import`, byte by byte, of the golden traces,
# of a made one with frames of 30,000 events and, where TRACESMITH_CORPUS names them, of those of other tools. `./dev elsewhere` runs it:
# minutes, root and a network.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- s390x arm64
work=$build/elsewhere
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/elsewhere
libraries="libc6-dev,linux-libc-dev,libgcc-12-dev,libzstd-dev,zlib1g-dev,libsqlite3-dev,libexpat1-dev,libdw-dev,libelf-dev,liblzma-dev,libbz2-dev,libiberty-dev"
formats="chrome perfetto csv folded flamegraph pprof speedscope firefox memory-viz chakra arrow arrow-stream parquet"

# get_root ARCH: its libraries and headers, unpacked and not installed: nothing of them runs but what the command loads.
get_root() {
    root=$cache/$1
    [ ! -f "$root/complete" ] || return 0
    rm -rf "$root"
    mkdir -p "$root/system"
    debootstrap --download-only --variant=minbase --arch="$1" --include="$libraries" bookworm "$root/packages" >"$work/$1.log" 2>&1 ||
        { tail -n 5 "$work/$1.log" >&2 && return 1; }
    for package in "$root"/packages/var/cache/apt/archives/*.deb; do
        case ${package##*/} in
        libc6* | libc-dev* | libcrypt* | linux-libc* | libgcc* | libzstd* | zlib1g* | libsqlite3* | libexpat1* | libdw* | libelf* | \
            liblzma* | libbz2* | libiberty*) dpkg-deb -x "$package" "$root/system" ;;
        esac
    done
    rm -rf "$root/packages"
    : >"$root/complete"
}

# build_for ARCH TRIPLET PROCESSOR
build_for() {
    cat >"$work/$1.cmake" <<TOOLCHAIN
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $3)
set(CMAKE_C_COMPILER $2-gcc)
set(CMAKE_SYSROOT $cache/$1/system)
set(CMAKE_FIND_ROOT_PATH $cache/$1/system)
set(CMAKE_LIBRARY_ARCHITECTURE $2)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
TOOLCHAIN
    (
        PKG_CONFIG_SYSROOT_DIR=$cache/$1/system PKG_CONFIG_LIBDIR=$cache/$1/system/usr/lib/$2/pkgconfig
        export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR
        cmake -S "$here" -B "$work/$1" -DCMAKE_TOOLCHAIN_FILE="$work/$1.cmake" -DCMAKE_BUILD_TYPE=Release -DTRACESMITH_BUILD_TESTS=OFF \
            -DTRACESMITH_BUILD_BENCH=OFF -DTRACESMITH_BUILD_EXAMPLES=OFF -DTRACESMITH_ENABLE_WASM=OFF &&
            cmake --build "$work/$1" --target tracesmith_cli -j2
    ) >"$work/$1.log" 2>&1 || { grep -E 'error|Error' "$work/$1.log" | head -n 10 >&2 && return 1; }
}

# answer PROGRAM FOLDER TRACE: its answers become files.
answer() {
    mkdir -p "$2"
    "$1" info --no-cache --json "$3" >"$2/info" 2>&1 || echo "failed: $?" >>"$2/info"
    "$1" analyze --no-cache --json "$3" >"$2/analyze" 2>&1 || echo "failed: $?" >>"$2/analyze"
    "$1" query --no-cache "$3" "SELECT kind, name, count(*), sum(duration), min(start), max(end) FROM events GROUP BY kind, name \
        ORDER BY kind, name" >"$2/query" 2>&1 || echo "failed: $?" >>"$2/query"
    (cd "$2" && "$1" import --no-cache "$3" -o import.sbt >import.said 2>&1) || echo "failed: $?" >>"$2/import.said"
    for format in $formats; do
        (cd "$2" && "$1" export --no-cache -f "$format" -o "export.$format" "$3" >"said.$format" 2>&1) || echo "failed: $?" >>"$2/said.$format"
    done
}

# compare ARCH TRACE: the answers that differ are named and kept.
compare() {
    name=$work/$1.answers/${2##*/}
    answer "$work/$1/run" "$name" "$2"
    for file in "$work/here.answers/${2##*/}"/*; do
        compared=$((compared + 1))
        cmp -s "$file" "$name/${file##*/}" && continue
        differ=$((differ + 1))
        echo "$1 differs: $name/${file##*/}"
    done
}

for tool in debootstrap qemu-s390x cmake ninja python3; do
    command -v "$tool" >/dev/null || { echo "whole.sh: no $tool" >&2 && exit 4; }
done
mkdir -p "$work" "$cache"
compared=0 differ=0 traces=0
for arch; do
    case $arch in
    s390x) triplet=s390x-linux-gnu processor=s390x runner=qemu-s390x ;;
    arm64) triplet=aarch64-linux-gnu processor=aarch64 runner=qemu-aarch64 ;;
    *) echo "whole.sh: s390x or arm64, not $arch" >&2 && exit 2 ;;
    esac
    command -v "$triplet-gcc" >/dev/null || { echo "whole.sh: no $triplet-gcc" >&2 && exit 4; }
    get_root "$arch"
    build_for "$arch" "$triplet" "$processor"
    printf '#!/bin/sh\nexec %s -L %s -E LD_LIBRARY_PATH=%s %s "$@"\n' "$runner" "$cache/$arch/system" "$work/$arch/lib" \
        "$work/$arch/bin/tracesmith" >"$work/$arch/run"
    chmod +x "$work/$arch/run"
    rm -rf "$work/$arch.answers"
done
rm -rf "$work/here.answers"
# Columns of more than 16 KiB: zstd chooses how it compresses them by the processor, if it may.
python3 "$here/tests/studio/make_long.py" "$work/long.json"
for trace in "$here"/tests/sbt/golden/*.sbt "$work/long.json" ${TRACESMITH_CORPUS:+"$TRACESMITH_CORPUS"/*}; do
    case $trace in *.txt | */MANIFEST*) continue ;; esac
    traces=$((traces + 1))
    answer "$build/bin/tracesmith" "$work/here.answers/${trace##*/}" "$trace"
    for arch; do
        compare "$arch" "$trace"
    done
done
echo "$traces traces, $compared answers on $*: $differ differ from those of $(uname -m)"
[ "$differ" = 0 ]
