#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/gpu/pack.sh [--here] [--cuda DIR] [--no-nvperf] [DIR]: one folder (build-gpu of the checkout when not given) with all that
# tests/gpu/run.sh needs on a machine that has a GPU, its driver and a C library of 2.31 or newer, and nothing else: TraceSmith, the test programs for
# compute capability 8.0, 9.0 and 10.0 and as PTX, CUPTI with the library that its samples need, and run.sh itself. CUPTI of CUDA 12,
# for drivers that are older than the toolkit, is added where './dev cupti --install' brought it.
#
#   --here        build with this machine's compiler and libraries: the folder then needs a C library as new as this one.
#                 Without it everything is built in a Debian 11 root (needs root, debootstrap and the right to mount)
#   --cuda DIR    the CUDA toolkit to compile with; $CUDA_HOME or /usr/local/cuda when not given
#   --no-nvperf   leave out libnvperf_host.so and libnvperf_target.so (41 MiB, 8 compressed): no samples then
#   --check DIR   only check a folder that was made: its size, the C library it needs, where it looks for libraries
#
# TRACESMITH_PACK_CACHE=FILE keeps the Debian 11 root there as a tar file for the next time.
# Exit codes: 0 done and checked, 1 something failed, 2 usage, 4 the machine lacks something (said which).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
suite=bullseye glibc=2.31 most_mib=42
to='' inside='' native='' check='' without=''
cuda=${CUDA_HOME:-/usr/local/cuda}
# The Debian 11 root has no git: there the commit is handed in.
commit=${TRACESMITH_PACK_COMMIT:-$(git -c safe.directory='*' -C "$root" rev-parse --short HEAD 2>/dev/null || echo 'no commit')}

die() {
    code=$1
    shift
    printf 'pack.sh: %s\n' "$*" >&2
    exit "$code"
}
while [ $# -gt 0 ]; do
    case $1 in
    --here) native=1 ;;
    --inside) inside=1 ;;
    --no-nvperf) without=--no-nvperf ;;
    --cuda | --check)
        [ -d "${2:-}" ] || die 2 "$1 needs a folder"
        if [ "$1" = --cuda ]; then cuda=$2; else check=$(cd "$2" && pwd); fi
        shift
        ;;
    -*) die 2 "unknown option '$1'" ;;
    *) to=$1 ;;
    esac
    shift
done

# ---- checking a folder

. "$root/packaging/elf.sh"
# Lines "FILE: what is wrong".
faults() {
    elf_faults "$1" "$glibc"
    size=$(du -sm "$1" | cut -f 1)
    [ "$size" -le "$most_mib" ] || echo "$1: $size MiB, more than $most_mib"
    find "$1" | sed "s|^$1||" | grep '[^A-Za-z0-9._/-]' | sed 's/$/: this name has odd characters/' || true
}

judge() {
    for tool in objdump readelf; do command -v $tool >/dev/null || die 4 "this machine lacks $tool (binutils)"; done
    found=$(faults "$1")
    [ -z "$found" ] || {
        printf '%s\n' "$found" >&2
        die 1 "$1 is not what it should be"
    }
    echo "$1: $(du -sm "$1" | cut -f 1) MiB, needs a C library of $glibc or newer"
}
if [ -n "$check" ]; then
    judge "$check"
    exit 0
fi

# ---- making it

to=${to:-$root/build-gpu}
mkdir -p "$to"
to=$(cd "$to" && pwd)

build_tracesmith() {
    build=$to/work
    # DT_RPATH and not DT_RUNPATH: it holds for what the libraries need, too, and for nothing that is profiled.
    # CMake pads a path of its own with empty entries, which name the folder that one is in: so it writes none.
    cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DTRACESMITH_BUILD_TESTS=OFF -DTRACESMITH_BUILD_BENCH=OFF \
        -DTRACESMITH_BUILD_EXAMPLES=OFF -DTRACESMITH_ENABLE_OTF2=OFF -DTRACESMITH_ENABLE_BPF=OFF \
        -DTRACESMITH_ENABLE_OCLGRIND=OFF -DCMAKE_SKIP_RPATH=ON \
        "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags,-rpath,'\$ORIGIN/../lib'" \
        "-DCMAKE_SHARED_LINKER_FLAGS=-Wl,--disable-new-dtags,-rpath,'\$ORIGIN'" \
        "-DCMAKE_MODULE_LINKER_FLAGS=-Wl,--disable-new-dtags,-rpath,'\$ORIGIN/..'"
    cmake --build "$build" -j "$(nproc)"
}

collect_tracesmith() {
    rm -rf "${to:?}/bin" "${to:?}/lib"
    mkdir -p "$to/bin" "$to/lib"
    cp -P "$build/bin/tracesmith" "$to/bin/"
    cp -P "$build"/lib/libtracesmith.so* "$to/lib/"
    cp -RP "$build/lib/tracesmith" "$to/lib/"
    # libgcc_s is CUPTI's.
    {
        ldd "$build/bin/tracesmith" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }'
        echo libgcc_s.so.1 "$("${CC:-cc}" -print-file-name=libgcc_s.so.1)"
    } | while read -r name path; do
        case $name in
        libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | ld-linux* | libtracesmith.*) ;;
        *) cp -L "$path" "$to/lib/$name" ;;
        esac
    done
    find "$to/bin" "$to/lib" -type f -exec strip --strip-unneeded {} + 2>/dev/null || true
}

compress() { gzip -9 -n -c "$1" >"$2.gz"; } # FILE AS

# CUPTI of the toolkit, or of Python's wheel nvidia-cuda-cupti, compressed: run.sh unpacks it. Some ways to a machine with a GPU take no
# more than 64 MiB with the checkout.
collect_cupti() {
    rm -rf "$to/cupti"
    mkdir -p "$to/cupti"
    for place in "$cuda/lib64" "$cuda/lib" "$cuda/extras/CUPTI/lib64" "$cuda/../cuda_cupti/lib"; do
        for file in "$place"/libcupti.so.[0-9]*; do
            [ ! -e "$file" ] || [ -n "$(find "$to/cupti" -name 'libcupti*')" ] || compress "$file" "$to/cupti/libcupti.so.$(echo "${file##*libcupti.so.}" | cut -d . -f 1)"
        done
        for name in libnvperf_host.so libnvperf_target.so; do
            [ -n "$without" ] || [ ! -e "$place/$name" ] || compress "$place/$name" "$to/cupti/$name"
        done
    done
    [ -n "$(ls "$to/cupti")" ] || echo "no CUPTI in $cuda: run.sh will look for one on the machine"
}

# The toolkit's CUPTI refuses a driver of an older CUDA. It has a folder of its own: libnvperf_host goes with one version.
collect_older_cupti() {
    rm -rf "$to/cupti-older"
    for file in "${XDG_CACHE_HOME:-$HOME/.cache}"/tracesmith/cupti/12.*/lib/libcupti.so.12; do
        if [ ! -e "$file" ] || [ -e "$to/cupti/libcupti.so.12.gz" ]; then continue; fi
        mkdir -p "$to/cupti-older"
        compress "$file" "$to/cupti-older/${file##*/}"
    done
    [ -e "$to/cupti/libcupti.so.12.gz" ] || [ -e "$to/cupti-older/libcupti.so.12.gz" ] ||
        echo "no CUPTI of CUDA 12 (./dev cupti --install): with a driver of CUDA 12, run.sh will look for one on the machine"
}

make_folder() {
    build_tracesmith
    collect_tracesmith
    rm -rf "$to/programs"
    if [ -x "$cuda/bin/nvcc" ]; then
        "$here/build_programs.sh" "$to/programs" "$cuda" -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 \
            -gencode "arch=compute_100,code=[sm_100,compute_100]"
        rm -f "$to/programs"/*.o
        strip --strip-debug "$to/programs"/* 2>/dev/null || true
        collect_cupti
    else
        echo "no nvcc in $cuda/bin: the folder has no programs, run.sh must build them"
    fi
    mkdir -p "$to/programs"
    cp "$here"/programs/*.py "$to/programs/"
    cp "$here"/run.sh "$here"/guard.sh "$here"/steps.sh "$here"/stages.sh "$here"/probes.sh "$here"/build_programs.sh "$to/"
    rm -rf "$to/work"
    {
        echo "TraceSmith $("$to/bin/tracesmith" version 2>/dev/null | head -n 1 | sed 's/^tracesmith *//'), $commit"
        echo "made on $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release) with $("${CC:-cc}" -dumpversion) and $("$cuda/bin/nvcc" --version 2>/dev/null | sed -n 's/.*\(release.*\)/CUDA \1/p')"
    } >"$to/about"
}

if [ -n "$inside" ]; then
    make_folder
    exit 0
fi
cuda=$(cd "$cuda" 2>/dev/null && pwd -P) || cuda=/nonexistent
if [ -n "$native" ]; then
    glibc=$(getconf GNU_LIBC_VERSION | cut -d ' ' -f 2)
    make_folder
    collect_older_cupti
    judge "$to"
    exit 0
fi

# ---- the Debian 11 root

[ "$(id -u)" = 0 ] || die 4 "building for old C libraries needs root; --here builds with this machine's"
command -v debootstrap >/dev/null || die 4 "this machine lacks debootstrap; --here builds with this machine's libraries"
if [ "${TRACESMITH_PACK_INSIDE-}" != 1 ]; then
    # In a mount namespace of its own, every mount is gone when it ends, however it ends.
    unshare --mount true 2>/dev/null || die 4 "this machine does not let root mount; --here builds with this machine's libraries"
    target=$(mktemp -d "${TMPDIR:-/var/tmp}/tracesmith-pack.XXXXXX")
    trap 'rm -rf --one-file-system "$target"' EXIT
    code=0
    TRACESMITH_PACK_INSIDE=1 TRACESMITH_PACK_TARGET=$target unshare --mount --propagation private "$0" --cuda "$cuda" ${without:+"$without"} "$to" || code=$?
    [ "$code" -eq 0 ] || exit "$code"
    collect_older_cupti
    judge "$to"
    exit 0
fi
target=${TRACESMITH_PACK_TARGET:?}
needed=gcc,g++,libc6-dev,cmake,ninja-build,pkg-config,libzstd-dev,zlib1g-dev,libsqlite3-dev,libexpat1-dev,libdw-dev,liblzma-dev,libiberty-dev,opencl-headers,binutils
if [ -f "${TRACESMITH_PACK_CACHE-}" ]; then
    tar -xf "$TRACESMITH_PACK_CACHE" -C "$target"
else
    echo "making a root of Debian 11"
    debootstrap --variant=minbase --include=$needed $suite "$target" "${TRACESMITH_PACK_MIRROR:-http://deb.debian.org/debian}" >"$target.log" 2>&1 || {
        tail -n 20 "$target.log" >&2
        die 1 "debootstrap failed"
    }
    rm -f "$target.log"
    [ -z "${TRACESMITH_PACK_CACHE-}" ] || tar -cf "$TRACESMITH_PACK_CACHE" -C "$target" .
fi
chmod 755 "$target"
mkdir -p "$target/source" "$target/to" "$target/cuda"
mount -t proc proc "$target/proc"
for node in null zero urandom; do
    [ -c "$target/dev/$node" ] || { : >"$target/dev/$node" && mount --bind "/dev/$node" "$target/dev/$node"; }
done
mount --bind "$root" "$target/source"
mount --bind "$to" "$target/to"
[ ! -d "$cuda" ] || mount --bind "$cuda" "$target/cuda"
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root CMAKE_GENERATOR=Ninja TRACESMITH_PACK_COMMIT="$commit" chroot "$target" /source/tests/gpu/pack.sh --inside --cuda /cuda \
    ${without:+"$without"} /to

# Tried where there is nothing but this C library.
bare=$target/bare
mkdir -p "$bare/proc" "$bare/dev" "$bare/pack" "$bare/tmp" "$bare/lib64" "$bare/lib/x86_64-linux-gnu"
for name in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libutil.so.1; do
    cp -L "$target/lib/x86_64-linux-gnu/$name" "$bare/lib/x86_64-linux-gnu/"
done
cp -L "$target/usr/lib/x86_64-linux-gnu/ld-$glibc.so" "$bare/lib64/ld-linux-x86-64.so.2"
: >"$bare/dev/null"
mount -t proc proc "$bare/proc"
mount --bind "$to" "$bare/pack"
# tried CODE COMMAND...: it must end with CODE there.
tried() {
    wanted=$1 code=0
    shift
    env -i "$(command -v chroot)" "$bare" "$@" >"$target.log" 2>&1 || code=$?
    [ "$code" -eq "$wanted" ] || {
        cat "$target.log" >&2
        die 1 "with nothing but a C library of $glibc, $1 ends with $code"
    }
}
tried 0 /pack/bin/tracesmith version
for program in "$to"/programs/*; do
    program=${program##*/}
    # Without a GPU each reports that. Three need libraries that only frameworks bring.
    case $program in
    *.so | *.py | logs | cublas | runtime_compiled | collectives) continue ;;
    replay_probe) set -- parameters ;;
    driver_launches) set -- info ;;
    *) set -- ;;
    esac
    tried 77 "/pack/programs/$program" "$@"
done
[ ! -x "$to/programs/vector_add" ] || tried 77 /pack/bin/tracesmith profile -o /tmp/tried.sbt -- /pack/programs/vector_add
rm -f "$target.log"
