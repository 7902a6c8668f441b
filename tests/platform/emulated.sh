#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# emulated.sh BUILD [CTEST-ARG...]: builds everything, tests included, for arm64 with Debian's cross compiler, and runs the tests in a root
# of Debian 12 for arm64 whose programs qemu emulates: shell, Python, compilers and OpenCL driver are arm64's too. emulated.txt lists the
# tests that the emulator cannot run, and why; they are left out. `./dev elsewhere tests` runs it: an hour or more, root and a network.
#
# The kernel starts arm64's programs by binfmt_misc. From Linux 6.7 on a user namespace has one of its own, so nothing of the machine changes;
# on older ones qemu-user-static must be registered (Debian: apt-get install qemu-user-static binfmt-support).
# The emulator keeps the order of memory of the processor it runs on: on x86-64 it shows no fault of weaker orders.
set -eu
suite=bookworm
triplet=aarch64-linux-gnu
packages="libc6-dev,linux-libc-dev,libzstd-dev,zlib1g-dev,libsqlite3-dev,libexpat1-dev,libdw-dev,libelf-dev,liblzma-dev,libbz2-dev,\
libiberty-dev,libcmocka-dev,opencl-headers,ocl-icd-opencl-dev,libvulkan-dev,libmicrohttpd-dev,libopen-trace-format2-dev,libisal-dev,\
gcc,g++,make,binutils,cmake,pkg-config,python3,procps,diffutils,gawk,file,xz-utils,zstd,clinfo,pocl-opencl-icd,protobuf-compiler,otf2-tools"

# In the namespaces of their own: mounts, and ctest in the root.
if [ "${1-}" = --inside ]; then
    root=$2 source=$3 work=$4
    shift 4
    if mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc 2>/dev/null; then
        # Of an ELF file of 64 bits, little-endian: a program or library (type 2 or 3) of AArch64 (0xb7). F: the emulator is opened now,
        # because the root has none. P: the program gets its own name as it was called.
        printf '%s' ':tracesmith-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:'"$(command -v qemu-aarch64-static)"':PF' \
            >/proc/sys/fs/binfmt_misc/register
    fi
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts" 2>/dev/null || true
    mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
    for folder in "$source" "$work"; do
        mkdir -p "$root$folder"
        mount --bind "$folder" "$root$folder"
    done
    chroot "$root" /bin/true || {
        echo "emulated.sh: programs of arm64 do not start here: Linux 6.7 or newer, or a registered qemu-user-static is needed" >&2
        exit 4
    }
    exec prlimit --core=0 env -i PYTHONDONTWRITEBYTECODE=1 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        chroot "$root" ctest --test-dir "$work" "$@"
fi

here=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "$1" && pwd)
shift
work=$build/elsewhere/arm64-tests
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/elsewhere
root=$cache/arm64-tests
jobs=$(getconf _NPROCESSORS_ONLN)
for tool in debootstrap $triplet-gcc qemu-aarch64-static cmake ninja python3 unshare; do
    command -v "$tool" >/dev/null || { echo "emulated.sh: no $tool" >&2 && exit 4; }
done
[ "$(id -u)" = 0 ] || { echo "emulated.sh: needs root, for debootstrap and mounts" >&2 && exit 4; }

# Packages are unpacked and not configured: what their scripts would have made, and tests use, is made here.
get_root() {
    [ ! -f "$root/complete" ] || return 0
    rm -rf "$root"
    mkdir -p "$root/usr"
    for folder in bin sbin lib; do
        mkdir -p "$root/usr/$folder"
        ln -s "usr/$folder" "$root/$folder"
    done
    echo "getting Debian for arm64 into $root" >&2
    debootstrap --download-only --variant=minbase --arch=arm64 --include="$packages" $suite "$root/packages" >"$work/root.log" 2>&1 ||
        { tail -n 5 "$work/root.log" >&2 && return 1; }
    for package in "$root"/packages/var/cache/apt/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -C "$root" --keep-directory-symlink -xf -
    done
    rm -rf "$root/packages"
    for file in passwd group; do
        cp "$root/usr/share/base-passwd/$file.master" "$root/etc/$file"
    done
    [ -e "$root/usr/bin/sh" ] || ln -s dash "$root/usr/bin/sh"
    for link in cc:gcc c++:g++ awk:gawk which:which.debianutils; do
        [ -e "$root/usr/bin/${link%%:*}" ] || ln -s "${link#*:}" "$root/usr/bin/${link%%:*}"
    done
    echo "127.0.0.1 localhost" >"$root/etc/hosts"
    mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/tmp"
    : >"$root/complete"
}

build_tests() {
    cat >"$work/toolchain.cmake" <<TOOLCHAIN
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER $triplet-gcc)
set(CMAKE_SYSROOT $root)
set(CMAKE_FIND_ROOT_PATH $root)
set(CMAKE_LIBRARY_ARCHITECTURE $triplet)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
TOOLCHAIN
    (
        PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$root/usr/lib/$triplet/pkgconfig:$root/usr/share/pkgconfig
        export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR
        cmake -G Ninja -S "$here" -B "$work" -DCMAKE_TOOLCHAIN_FILE="$work/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release \
            -DTRACESMITH_BUILD_BENCH=OFF -DTRACESMITH_ENABLE_WASM=OFF && cmake --build "$work" -j "$jobs"
    ) >"$work/build.log" 2>&1 || { grep -E 'error|Error|FAILED' "$work/build.log" | head -n 20 >&2 && return 1; }
}

mkdir -p "$work" "$cache"
get_root
build_tests
left_out=$(sed -n 's/^\([a-z][^ |]*\) *|.*/\1/p' "$here/tests/platform/emulated.txt" | tr '\n' '|' | sed 's/|$//; s/\./[.]/g')
rm -f "$work/tests.xml"
code=0
unshare --user --map-root-user --mount --propagation private --pid --fork --kill-child "$0" --inside "$root" "$here" "$work" \
    -j "$((jobs + 1))" --no-tests=error --output-on-failure --output-junit "$work/tests.xml" ${left_out:+-E "^($left_out)$"} "$@" || code=$?
[ -f "$work/tests.xml" ] || exit "$code"
python3 "$here/tests/skips.py" "$work/tests.xml" || true
python3 - "$work/tests.xml" "$here/tests/platform/emulated.txt" <<'COUNT'
import collections, sys, xml.etree.ElementTree as tree
cases = list(tree.parse(sys.argv[1]).getroot().iter("testcase"))
found = collections.Counter("skipped" if case.find("skipped") is not None else {"run": "passed", "fail": "failed"}.get(case.get("status"), case.get("status")) for case in cases)
listed = sum(1 for line in open(sys.argv[2]) if line.strip() and not line.startswith("#"))
print("arm64 in qemu: %d tests passed, %d skipped, %d failed; %d left out (tests/platform/emulated.txt)" % (found["passed"], found["skipped"], found["failed"], listed))
for case in cases:
    if case.get("status") == "fail":
        print("failed:", case.get("name"))
COUNT
exit "$code"
