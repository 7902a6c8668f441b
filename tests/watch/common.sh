# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What tests of the kernel's part share; sourced. None of them needs a device.
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
    echo "skipped: $*"
    exit 77
}

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

[ -x "$TRACESMITH" ] || skip "the tracesmith command is not built"
command -v python3 >/dev/null || skip "no python3 to judge with"
