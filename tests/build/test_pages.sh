#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The documents are connected (tests/build/pages.py): an index with every page, links and paths that exist.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
root=${TRACESMITH_SOURCE_DIR:-$here/../..}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$here/pages.py" "$root"

# What is planted is found: a page that the index lacks, links without a file and without a heading, a path that does not exist.
mkdir "$work/docs"
printf '# Index\n\n[a](a.md)\n' >"$work/docs/README.md"
# shellcheck disable=SC2016 # backticks of Markdown
printf '# One `two`\n\n[self](#one-two) [back](README.md#index) [away](https://example.org/x) `docs/a.md` `a[b](c)`\n' >"$work/docs/a.md"
python3 "$here/pages.py" "$work"
# planted TEXT MESSAGE: a page with TEXT is refused with MESSAGE.
planted() {
    printf '%s\n' "$1" >>"$work/docs/a.md"
    if python3 "$here/pages.py" "$work" >"$work/said" || ! grep -qF "$2" "$work/said"; then
        echo "not found: $1"
        cat "$work/said"
        exit 1
    fi
    sed -i '$d' "$work/docs/a.md"
}
planted '[x](b.md)' 'leads nowhere: b.md'
planted '[x](README.md#two)' 'leads to no heading: README.md#two'
# shellcheck disable=SC2016 # backticks of Markdown
planted 'see `docs/b.md`' 'no file docs/b.md'
printf '# New\n' >"$work/docs/new.md"
if python3 "$here/pages.py" "$work" >"$work/said" || ! grep -qx 'docs/README.md does not list docs/new.md' "$work/said"; then
    echo "a page that the index lacks is not found"
    exit 1
fi
