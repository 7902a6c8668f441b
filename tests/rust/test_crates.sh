#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Rust crates: their tests, the same under valgrind, the example, documents without the library; formatted, and without a warning of
# clippy where the machine has these tools.
set -eu
# shellcheck source=tests/rust/prepare.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/rust/prepare.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR="$work"
# A later compiler may warn of more; that fails the tests in CI alone.
[ -z "${CI-}" ] || export RUSTFLAGS="-D warnings"
cargo test --offline --locked --quiet
cargo run --offline --locked --quiet --example steps -- "$work/steps.sbt" >"$work/said"
grep '^step: 100 times' "$work/said"
grep '^part: 300 times' "$work/said"

if command -v valgrind >/dev/null 2>&1; then
    for test in sessions traces; do
        binary=$(find "$CARGO_TARGET_DIR/debug/deps" -name "$test-*" -type f -perm -u+x -printf '%T@ %p\n' |
            sort -n | tail -n 1 | cut -d' ' -f2)
        valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite "$binary" --test-threads 1 >"$work/said" 2>&1 || {
            cat "$work/said"
            exit 1
        }
        echo "valgrind: $test"
    done
else
    echo "not here: valgrind"
fi

# Documents need no library: none is where pkg-config and the linker look.
env -u TRACESMITH_LIB_DIR -u LD_LIBRARY_PATH PKG_CONFIG_PATH=/nonexistent PKG_CONFIG_LIBDIR=/nonexistent DOCS_RS=1 \
    RUSTDOCFLAGS="-D warnings" CARGO_TARGET_DIR="$CARGO_TARGET_DIR/doc" cargo doc --offline --locked --no-deps --quiet -p tracesmith

! cargo fmt --version >/dev/null 2>&1 || cargo fmt --check
! cargo clippy --version >/dev/null 2>&1 || cargo clippy --offline --locked --quiet --all-targets
