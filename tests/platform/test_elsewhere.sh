#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What reads traces, built for other systems: 32 bits (ARM, by qemu), big-endian (s390x, by qemu) and Windows (by wine, where it is
# installed). picture.c must print the same there as here, of a recorded, an imported and damaged traces.
set -eu
: "${TRACESMITH:?}"
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/traces.sh"
cd "$source"

[ -f "$TRACESMITH_BUILD_DIR/reader/sources" ] || {
    echo "skipped: the list of sources is made where the command is built"
    exit 77
}
sources="$(cat "$TRACESMITH_BUILD_DIR/reader/sources") tests/platform/picture.c"

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# build COMPILER OUT PLATFORM-SOURCE... -- FLAG...: objects that are not linked may need what is not there.
build() {
    compiler=$1 out=$2
    shift 2
    platform=
    while [ "$1" != -- ]; do
        platform="$platform $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # lists of words
    "$compiler" -std=gnu11 -D_GNU_SOURCE -DNDEBUG -O1 -Wall -Wextra -Wconversion -Werror -ffunction-sections -fdata-sections -Iinclude -Isrc -I. \
        $sources $platform -Wl,--gc-sections -o "$out" "$@" || fail "$compiler"
}

"$TRACESMITH" profile -o "$folder/run.sbt" -- "$TRACESMITH_BUILD_DIR/examples/image_pipeline" >"$folder/out" 2>&1 || fail "$(cat "$folder/out")"
python3 tests/studio/make_long.py "$folder/long.json"
"$TRACESMITH" import "$folder/long.json" -o "$folder/long.sbt" >"$folder/out"
python3 tests/studio/make_late.py "$folder/late.json"
"$TRACESMITH" import "$folder/late.json" -o "$folder/late.sbt" >"$folder/out"
head -c 30000 "$folder/long.sbt" >"$folder/cut.sbt"
set -- "$folder/run.sbt" "$folder/long.sbt" "$folder/late.sbt" "$folder/cut.sbt"
for file in fuzz/corpus/sbt_read/*.sbt; do
    set -- "$@" "$file"
done
if [ -n "${TRACESMITH_CORPUS:-}" ]; then
    "$TRACESMITH" import "$TRACESMITH_CORPUS/kineto_resnet50_num_workers_0_worker0.1623143089861.pt.trace.json.gz" -o "$folder/kineto.sbt" >"$folder/out"
    set -- "$@" "$folder/kineto.sbt"
fi
posix="src/base/file.c src/base/system.c src/platform/posix/file.c"
# shellcheck disable=SC2086 # a list
build cc "$folder/here" $posix src/platform/wasm/unzstd.c -- -lm

compared=
# compare NAME PROGRAM [RUNNER] -- TRACE...
compare() {
    name=$1 program=$2 runner=$3
    shift 4
    for trace; do
        "$folder/here" "$trace" >"$folder/expected" || true
        # shellcheck disable=SC2086 # the runner and its options
        $runner "$program" "$trace" 2>"$folder/err" | tr -d '\r' >"$folder/got" || true
        cmp "$folder/expected" "$folder/got" || fail "$name: $trace: $(head -c 500 "$folder/err")"
    done
    compared="$compared $name"
}

if command -v arm-linux-gnueabihf-gcc >/dev/null 2>&1 && command -v qemu-arm >/dev/null 2>&1; then
    # shellcheck disable=SC2086 # a list
    build arm-linux-gnueabihf-gcc "$folder/arm" $posix src/platform/wasm/unzstd.c -- -D_FILE_OFFSET_BITS=64 -static -lm
    compare "32 bits" "$folder/arm" qemu-arm -- "$@"
fi
if command -v s390x-linux-gnu-gcc >/dev/null 2>&1 && command -v qemu-s390x >/dev/null 2>&1; then
    # shellcheck disable=SC2086 # a list
    build s390x-linux-gnu-gcc "$folder/big" $posix src/platform/wasm/unzstd.c -- -static -lm
    compare "big-endian" "$folder/big" qemu-s390x -- "$@"
fi
if command -v x86_64-w64-mingw32-gcc >/dev/null 2>&1; then
    # Its linker wants functions of the writer, which is not there, for code that it then leaves out; and its warnings about formats know
    # only those of Microsoft's printf.
    build x86_64-w64-mingw32-gcc "$folder/windows.exe" src/platform/windows/file.c src/platform/windows/missing.c \
        src/platform/windows/system.c src/platform/other/stable_sort.c src/platform/wasm/unzstd.c -- -include src/platform/windows/missing.h -D__USE_MINGW_ANSI_STDIO=1 \
        -Wno-format -Wno-format-extra-args -Wno-float-conversion -static -lm \
        -Wl,--defsym=pack_zstd_text=abort,--defsym=pack_stream=abort,--defsym=packer_finish=abort,--defsym=sbt_writer_carry=abort
    wine=
    for runner in wine wine64 /usr/lib/wine/wine64; do
        [ -n "$wine" ] || ! command -v "$runner" >/dev/null 2>&1 || wine=$runner
    done
    if [ -n "$wine" ]; then
        WINEPREFIX=$folder/wine WINEDEBUG=-all
        export WINEPREFIX WINEDEBUG
        compare Windows "$folder/windows.exe" "$wine" -- "$@"
        # Wine's server writes into its folder after the last program has ended: it must be gone before the folder is removed.
        for server in wineserver /usr/lib/wine/wineserver64; do
            ! command -v "$server" >/dev/null 2>&1 || { "$server" -k 2>/dev/null || true; "$server" -w 2>/dev/null || true; break; }
        done
    else
        echo "built for Windows; not run: no wine"
    fi
fi
[ -n "$compared" ] || {
    echo "skipped: no other system (Debian: gcc-arm-linux-gnueabihf libc6-dev-armhf-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user; gcc-mingw-w64-x86-64 wine64)"
    exit 77
}
echo "the same as here:$compared"
