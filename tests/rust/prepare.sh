# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# To be sourced: cargo for the crates in bindings/rust, without a registry, with the library of the build that is tested. What it makes
# is in the build folder. Exits with 77 and the reason where there is no cargo.
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
command -v cargo >/dev/null 2>&1 || {
    echo "skipped: no cargo (Debian: rustc cargo)"
    exit 77
}
export TRACESMITH_LIB_DIR="$TRACESMITH_BUILD_DIR/lib"
export LD_LIBRARY_PATH="$TRACESMITH_LIB_DIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export CARGO_TARGET_DIR="$TRACESMITH_BUILD_DIR/rust"
# Nothing is written into the checkout or the user's folders.
export CARGO_HOME="$TRACESMITH_BUILD_DIR/rust/home" CARGO_TERM_COLOR=never
mkdir -p "$CARGO_HOME"
cd "$TRACESMITH_SOURCE_DIR/bindings/rust" || exit 1
