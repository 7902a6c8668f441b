#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The layer for the crate tracing: its tests, with Debian's packages of what it needs as the only source of crates.
set -eu
# shellcheck source=tests/rust/prepare.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/rust/prepare.sh"
crates=/usr/share/cargo/registry
for crate in tracing-0 tracing-subscriber-0; do
    [ -n "$(find "$crates" -maxdepth 1 -name "$crate*" 2>/dev/null)" ] || {
        echo "skipped: no crate ${crate%-0} (Debian: librust-tracing-dev librust-tracing-subscriber-dev)"
        exit 77
    }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR="$work"
mkdir -p "$work/crates/.cargo"
cp -R rustfmt.toml tracesmith tracesmith-sys tracing-tracesmith "$work/crates"
cat >"$work/crates/.cargo/config.toml" <<CONFIG
[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "$crates"
CONFIG
cd "$work/crates/tracing-tracesmith"
export CARGO_TARGET_DIR="$TRACESMITH_BUILD_DIR/rust/layer"
cargo test --offline --quiet
! cargo fmt --version >/dev/null 2>&1 || cargo fmt --check
! cargo clippy --version >/dev/null 2>&1 || cargo clippy --offline --quiet --all-targets
