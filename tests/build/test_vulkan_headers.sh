#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# With headers of Vulkan that are older than CMakeLists.txt asks for, sources, tests and fuzzers compile, and use nothing of Vulkan: the headers
# here have a version, and nothing else.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
cd "$TRACESMITH_SOURCE_DIR"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*"
    exit 1
}
least=$(sed -n 's/.*CMAKE_MATCH_1 GREATER_EQUAL \([0-9]*\).*/\1/p' CMakeLists.txt)
[ -n "$least" ] || fail "CMakeLists.txt does not say which headers of Vulkan are new enough"
grep -q "VK_HEADER_VERSION >= $least\$" src/recording/vulkan/headers.h || fail "headers.h and CMakeLists.txt ask for different headers"
mkdir "$work/vulkan"
echo "#define VK_HEADER_VERSION $((least - 1))" >"$work/vulkan/vulkan_core.h"
# shellcheck disable=SC2046 # words: no path has a space
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -fsyntax-only -I"$work" -Iinclude -Isrc -Iagents -Itests -Ifuzz -I. \
    $(grep -lE 'RECORDING_HAS_VULKAN|vulkan/vulkan_core\.h|recording/vulkan/|replay/vulkan/' src/*/*.c src/*/*/*.c tests/*/test_*.c fuzz/*.c) || fail "the lines above"
