#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packaging/release_notes.sh VERSION [CHANGELOG]: prints the section of a version, without its heading. Ends with 1 if there is none.
# Links to pages of the tree are turned into their paths, because they would lead nowhere on another page.
set -eu
[ $# -ge 1 ] || { echo "usage: packaging/release_notes.sh VERSION [CHANGELOG]" >&2; exit 2; }
changelog=${2:-$(dirname "$0")/../CHANGELOG.md}
notes=$(mktemp)
trap 'rm -f "$notes"' EXIT
# shellcheck disable=SC2016 # backticks of Markdown
awk -v version="$1" '
    /^## / { within = $2 == version; next }
    within && (begun || NF) { begun = 1; text = text $0 "\n" }
    END {
        sub(/\n+$/, "\n", text)
        printf "%s", text
    }' "$changelog" | sed 's/\[\([^]]*\)\](\([^):]*\))/`\2`/g' >"$notes"
[ -s "$notes" ] || {
    echo "release_notes.sh: $changelog has no section of $1" >&2
    exit 1
}
cat "$notes"
