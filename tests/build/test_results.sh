#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every struct that a function fills for its caller can grow (tests/build/results.py), and one that could not is found.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
root=${TRACESMITH_SOURCE_DIR:-$here/../..}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$here/results.py" "$root/include"
cp -r "$root/include" "$work/include"
sed -i '/^typedef struct tsmith_sbt_recovery {/,/^}/{/ size_t size;/d;}' "$work/include/tracesmith/sbt.h"
if python3 "$here/results.py" "$work/include" >"$work/said"; then
    echo "a struct without its size is not found"
    exit 1
fi
grep -q '^tsmith_sbt_recovery has no size' "$work/said"
