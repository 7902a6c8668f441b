#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# aarch64, on any machine: the rules of its C library as readelf has them, and, where qemu runs it, the walk against
# backtrace() and the program's own account: code without frame pointers, signed return addresses, signal handlers on
# an alternate stack, modules that come and go, threads; and the walk from registers that the kernel provides.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}" "${CC:?}"
skip() {
    echo "skipped: $*"
    exit 77
}
root=/usr/aarch64-linux-gnu
cross=aarch64-linux-gnu-gcc
command -v "$cross" >/dev/null || skip "there is no $cross (Debian: apt install gcc-aarch64-linux-gnu)"
[ -e "$root/lib/libc.so.6" ] || skip "there is no C library for aarch64 in $root"
for tool in readelf python3; do
    command -v "$tool" >/dev/null || skip "there is no $tool"
done
source=$TRACESMITH_SOURCE_DIR
here=$source/tests/unwind/modules
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
includes="-I$here -I$source/tests -I$source/include -I$source/src"
walker="$source/src/unwind/cfi.c $source/src/unwind/cfi_apply.c $source/src/unwind/unwind.c
    $source/src/unwind/unwind_table.c $source/src/unwind/unwind_debug.c $source/src/unwind/go_table.c $source/src/wire/stack_table.c"

# shellcheck disable=SC2086 # lists of words
"$CC" -O2 -D_GNU_SOURCE -DCFI_OF_AARCH64 $includes -o "$work/rows" "$here/rows.c" "$source/src/unwind/cfi.c"
for file in "$root/lib/libc.so.6" "$root/lib/ld-linux-aarch64.so.1"; do
    python3 "$source/tests/reference/frame_rows.py" "$work/rows" "$file"
done

# shellcheck disable=SC2086
"$cross" -O2 -D_GNU_SOURCE -DTEST_PATHS=400 -pthread -fomit-frame-pointer -mbranch-protection=standard $includes -o "$work/unwind" \
    "$source/tests/unwind/test_unwind.c" "$source/tests/support/random.c" $walker -ldl
python3 "$source/tests/reference/frame_rows.py" "$work/rows" "$work/unwind"

# shellcheck disable=SC2086
"$cross" -O2 -D_GNU_SOURCE -fomit-frame-pointer -mbranch-protection=standard -ffunction-sections -Wl,--gc-sections $includes \
    -o "$work/registers" "$source/tests/unwind/test_unwind_registers.c" "$source/src/watch/unwind_copy.c" \
    "$source/src/watch/process_code.c" "$source/src/watch/perf_trampolines.c" "$source/src/symbols/elf_file.c" "$source/src/symbols/vdso.c" "$source/src/base/file.c" "$source/src/base/other_root.c" "$source/src/unwind/cfi.c" \
    "$source/src/unwind/cfi_apply.c" "$source/src/base/array.c"

# shellcheck disable=SC2086
"$cross" -O2 -D_GNU_SOURCE -fomit-frame-pointer -mbranch-protection=standard $includes -o "$work/trampolines" \
    "$source/tests/unwind/test_unwind_trampolines.c" $walker -ldl

# compile SEED LIBRARY NAME [FLAG...]
compile() {
    seed=$1 library=$2 name=$3
    shift 3
    awk -v count="$(sed -n 's/.*PATH_FUNCTIONS = \([0-9]*\).*/\1/p' "$here/path.h")" -v seed="$seed" \
        -v library="$library" -f "$here/functions.awk" >"$work/$name.c"
    "$cross" -O2 -fomit-frame-pointer -fPIC -shared "$@" -I"$here" -o "$work/$name.so" "$work/$name.c"
}
compile 1 1 library -Wl,-z,lazy
compile 2 0 one "$work/library.so"
compile 3 0 two -mbranch-protection=standard "$work/library.so"
cp "$work/one.so" "$work/three.so"
# shellcheck disable=SC2086
"$cross" -O2 -fomit-frame-pointer -D_GNU_SOURCE -DTEST_ROUNDS=4 -rdynamic -pthread $includes -o "$work/main" "$here/main.c" \
    "$work/library.so" $walker -ldl -Wl,-rpath,"$work"
qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) ||
    skip "the rules are right; there is no qemu-aarch64 to walk with them"
"$qemu" -cpu max -L "$root" "$work/unwind"
"$qemu" -cpu max -L "$root" "$work/registers"
"$qemu" -cpu max -L "$root" "$work/trampolines"
"$qemu" -cpu max -L "$root" "$work/main" "$work/one.so" "$work/two.so" "$work/three.so"
