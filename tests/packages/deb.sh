#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian's packages: built from the committed tree, without a complaint of lintian, installed into a bare Debian 12, tried and purged.
. "$(dirname "$0")/lib.sh"
needs dpkg-buildpackage dh lintian
missing=$(cd "$root" && packaging/deb-dependencies.sh | while read -r package; do
    dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q 'install ok' || echo "$package"
done)
[ -z "$missing" ] || echo "not installed here: $(echo "$missing" | tr '\n' ' ')"
rm -rf "$out/deb" "$out/deb-packages"
"$root/packaging/deb.sh" "$out/deb" >"$work/log" 2>&1 || {
    tail -n 30 "$work/log"
    fail "packaging/deb.sh"
}
lintian --allow-root --no-tag-display-limit "$out"/deb/*.changes >"$work/lintian" 2>&1 || true
! grep -E '^[EW]:' "$work/lintian" | grep -v initial-upload-closes-no-bugs || fail "lintian says the above"
mkdir "$out/deb-packages"
cp "$out"/deb/*.deb "$out/deb-packages/"
rm -f "$out"/deb-packages/*dbgsym*
code=0
TRACESMITH_FRESH_WITH=$out/deb-packages TRACESMITH_FRESH_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/release \
    "$root/tests/fresh-root.sh" tests/packages/inside.sh deb || code=$?
[ "$code" -ne 77 ] || skip "made and checked; not tried in a bare Debian"
exit "$code"
