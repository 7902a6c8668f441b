#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything that is installed compiles for aarch64, without a warning, where the cross compiler is there.
set -eu
cd "${TRACESMITH_SOURCE_DIR:-$(dirname "$0")/../..}"
cross=aarch64-linux-gnu-gcc
command -v $cross >/dev/null 2>&1 || {
    echo "skipped: no $cross (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross)"
    exit 77
}
failures=0
for source in src/*/*.c src/*/*/*.c agents/*/*.c cli/*.c cli/*/*.c; do
    [ -f "$source" ] || continue
    if grep -q '"export/otf2/otf2.h"' "$source" && [ ! -f /usr/include/otf2/otf2.h ]; then
        continue # not part of a build without libotf2
    fi
    case $source in
    src/platform/macos/* | src/platform/other/* | src/platform/wasm/* | src/platform/windows/* | cli/*/reader/*) continue ;; # for other systems
    *.bpf.c) continue ;; # for the kernel: clang's business
    agents/bpf/bpf.c) [ -f "${TRACESMITH_BUILD_DIR:-build}/bpf/trace.skel.h" ] || continue ;;
    esac
    # Only code with instructions of its own needs the assembler; checking the rest takes a third of the time.
    output=-fsyntax-only
    ! grep -q '__asm__\|/machine\.h\|/probe\.h' "$source" || output='-c -o /dev/null'
    # -idirafter: headers that are the same everywhere (zstd, OpenCL) come from the host.
    # shellcheck disable=SC2086 # words of the option
    if ! $cross -std=gnu11 -D_GNU_SOURCE -DNDEBUG -O0 -fPIC -DMEETING_BUILD='""' -Wall -Wextra -Wconversion -Werror -Iinclude -Isrc -I. \
        -I"$(dirname "$source")" -Iagents -Iagents/opencl -isystem "${TRACESMITH_BUILD_DIR:-build}/bpf" -idirafter /usr/include $output "$source"; then
        echo "$source does not compile for aarch64"
        failures=$((failures + 1))
    fi
done
[ "$failures" -eq 0 ]
