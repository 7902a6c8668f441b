#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source file states its license in its first three lines.
set -eu
cd "${TRACESMITH_SOURCE_DIR:-$(dirname "$0")/../..}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
list=$work/files
find . \( -path ./.git -o -path './build*' -o -path ./tests/golden -o -path ./fuzz/corpus -o -path ./.cache \) -prune -o \
    -type f \( -name '*.[ch]' -o -name '*.hpp' -o -name '*.rs' -o -name '*.cpp' -o -name '*.sh' -o -name '*.py' -o -name '*.awk' -o -name '*.cmake' \
    -o -name '*.map' -o -name '*.cl' -o -name '*.js' -o -name CMakeLists.txt -o -name dev -o -path ./.ci/run \
    -o -path ./fuzz/run -o -path ./bench/run -o -name .clang-format -o -name .clang-tidy -o -name .editorconfig \) \
    -print >"$list"
[ "$(wc -l <"$list")" -gt 10 ] || {
    echo "too few files found: is $PWD the tree?"
    exit 1
}
tr '\n' '\0' <"$list" | xargs -0 awk '
    FNR <= 3 && /SPDX-License-Identifier: Apache-2\.0/ { stated[FILENAME] }
    FNR > 3 { nextfile }
    END { for (i = 1; i < ARGC; i++) if (!(ARGV[i] in stated)) print ARGV[i] }' >"$work/missing"
sed 's/$/: no SPDX-License-Identifier: Apache-2.0/' "$work/missing"
[ ! -s "$work/missing" ]
