#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The constants, structs and functions of the crate tracesmith-sys are those of the headers; planted differences are found.
set -eu
cd "${TRACESMITH_SOURCE_DIR:?}"
bindings=bindings/rust/tracesmith-sys/src/bindings.rs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# compare FILE
compare() {
    python3 -B tests/rust/check_bindings.py "$1" include >"$work/compared.c" &&
        "${CC:-cc}" -std=gnu11 -DTRACESMITH_NO_INLINE_CHECK -Iinclude -fsyntax-only "$work/compared.c"
}
compare $bindings
for change in 's/_KIND_KERNEL: tsmith_kind = 1/_KIND_KERNEL: tsmith_kind = 2/' 's/pub dropped: u64/pub dropped: i64/' \
    's/counter: u32, value: f64/counter: u64, value: f64/' '/pub parent: u32/d' '/TSMITH_KIND_SAMPLE/d'; do
    sed "$change" $bindings >"$work/changed.rs"
    if cmp -s $bindings "$work/changed.rs" || compare "$work/changed.rs" 2>/dev/null; then
        echo "self-test: not found: $change"
        exit 1
    fi
done
