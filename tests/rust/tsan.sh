#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tests of the crate tracesmith with ThreadSanitizer, over a library that is built with it too:  tests/rust/tsan.sh BUILD, where BUILD is
# that of `./dev tsan` (its target tracesmith suffices). By hand: it needs a nightly compiler of rustup. Rust's own library is instrumented
# where the nightly has its sources (rust-src); else what it synchronizes is known to the sanitizer by its calls of the C library only.
set -eu
[ $# = 1 ] || {
    echo "usage: tests/rust/tsan.sh BUILD" >&2
    exit 2
}
here=$(cd "$(dirname "$0")/../.." && pwd)
TRACESMITH_BUILD_DIR=$(cd "$1" && pwd) TRACESMITH_SOURCE_DIR=$here
export TRACESMITH_BUILD_DIR TRACESMITH_SOURCE_DIR
rustc +nightly --version || exit 4
whole=
[ ! -d "$(rustc +nightly --print sysroot)/lib/rustlib/src" ] || whole=-Zbuild-std
# shellcheck source=tests/rust/prepare.sh
. "$here/tests/rust/prepare.sh"
# The library's calls of the sanitizer are those of the program: there is one runtime.
export RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer -Clink-arg=-rdynamic"
export TSAN_OPTIONS="halt_on_error=1 suppressions=$here/tests/rust/tsan.supp"
# shellcheck disable=SC2086 # nothing, or an option
cargo +nightly test --offline --locked $whole --target x86_64-unknown-linux-gnu -p tracesmith --tests -- --test-threads=1
echo "ThreadSanitizer: nothing reported${whole:+, with the standard library}"
