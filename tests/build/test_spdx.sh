#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source file states its license in its first three lines.
set -eu
cd "${TRACESMITH_SOURCE_DIR:-$(dirname "$0")/../..}"
list=$(mktemp)
trap 'rm -f "$list"' EXIT
find . \( -path ./.git -o -path './build*' -o -path ./tests/golden -o -path ./fuzz/corpus -o -path ./.cache \) -prune -o \
    -type f \( -name '*.[ch]' -o -name '*.hpp' -o -name '*.rs' -o -name '*.cpp' -o -name '*.sh' -o -name '*.py' -o -name '*.awk' -o -name '*.cmake' \
    -o -name '*.map' -o -name '*.cl' -o -name '*.js' -o -name CMakeLists.txt -o -name dev -o -path ./.ci/run \
    -o -path ./fuzz/run -o -path ./bench/run -o -name .clang-format -o -name .clang-tidy -o -name .editorconfig \) \
    -print >"$list"
[ "$(wc -l <"$list")" -gt 10 ] || {
    echo "too few files found: is $PWD the tree?"
    exit 1
}
missing=0
while IFS= read -r file; do
    if ! head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2\.0'; then
        echo "$file: no SPDX-License-Identifier: Apache-2.0"
        missing=$((missing + 1))
    fi
done <"$list"
[ "$missing" -eq 0 ]
