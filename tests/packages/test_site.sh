#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ./dev site: the documentation becomes a web site without a warning of Sphinx, and check_site.py finds nothing wrong with it. What is
# planted is found: a link without a file, one without an anchor, a script of another host, a page that the navigation lacks, a function
# without a description.
set -eu
root=${TRACESMITH_SOURCE_DIR:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
[ -x /usr/bin/python3 ] || { echo "skipped: no /usr/bin/python3"; exit 77; }
code=0
/usr/bin/python3 -B "$root/docs/site/make.py" "$root" "$work/site" >"$work/said" 2>&1 || code=$?
[ "$code" -ne 4 ] || { echo "skipped: $(cat "$work/said") (./dev packages site)"; exit 77; }
[ "$code" -eq 0 ] || fail "docs/site/make.py: $(cat "$work/said")"
check() {
    /usr/bin/python3 -B "$root/tests/packages/check_site.py" "$work/site" "$1"
}
check "$root" || fail "the site has the faults above"

# planted FILE TEXT MESSAGE: with this text at its end the site is refused with MESSAGE.
planted() {
    cp "$work/site/$1" "$work/kept"
    printf '%s\n' "$2" >>"$work/site/$1"
    if check "$root" >"$work/said" || ! grep -qF "$3" "$work/said"; then
        fail "not found: $2: $(cat "$work/said")"
    fi
    mv "$work/kept" "$work/site/$1"
}
planted docs/opencl.html '<a href="cuda2.html">x</a>' 'docs/opencl.html: the link leads nowhere: cuda2.html'
planted docs/opencl.html '<a href="cuda.html#none">x</a>' 'docs/opencl.html: the link leads to no anchor: cuda.html#none'
planted docs/opencl.html '<script src="https://example.org/x.js"></script>' 'docs/opencl.html loads from elsewhere: https://example.org/x.js'
planted _static/site.css '@import url(//example.org/font.css);' '_static/site.css loads from elsewhere'
mkdir -p "$work/source/tests/build" "$work/source/docs"
cp "$root/tests/build/abi.txt" "$work/source/tests/build/"
echo 'function tsmith_not_there' >>"$work/source/tests/build/abi.txt"
cp "$root/docs/README.md" "$work/source/docs/"
echo '# New' >"$work/source/docs/new.md"
! check "$work/source" >"$work/said" || fail "a page and a function that are missing are not found"
grep -qx 'not in the navigation: docs/new.md' "$work/said" || fail "a page that the navigation lacks is not found"
grep -qx 'no page describes tsmith_not_there' "$work/said" || fail "a function without a description is not found"
