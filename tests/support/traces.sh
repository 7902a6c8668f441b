# SPDX-License-Identifier: Apache-2.0
# How tests that make traces with Python begin: `source` is the checkout, `folder` is theirs and goes at the end.
# shellcheck shell=sh disable=SC2034 # the script that sources it uses both
source=${TRACESMITH_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
if ! command -v python3 >/dev/null 2>&1; then
    echo "skipped: no python3"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
