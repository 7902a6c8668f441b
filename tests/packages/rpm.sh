#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# RPM packages: built from the spec file by this machine's rpmbuild (whose distribution may be another: what it requires is then not
# looked up), installed into an empty root, tried and removed.
. "$(dirname "$0")/lib.sh"
needs rpmbuild rpm cmake
. "$root/tests/packages/recipe.sh"
mkdir -p "$work/top/SOURCES"
cp "$source" "$work/top/SOURCES/"
HOME=$work rpmbuild -bb --nodeps --define "_topdir $work/top" --define "_libdir /usr/lib64" --define "_libexecdir /usr/libexec" \
    --define "_build_id_links none" "$work/recipes/tracesmith.spec" >"$work/log" 2>&1 || {
    tail -n 30 "$work/log"
    fail rpmbuild
}
rm -rf "$out/rpm"
mkdir "$out/rpm"
find "$work/top/RPMS" -name '*.rpm' -exec cp {} "$out/rpm/" \;
[ "$(find "$out/rpm" -name '*.rpm' | wc -l)" -eq 3 ] || fail "there are not three packages: $(ls "$out/rpm")"
if command -v rpmlint >/dev/null; then
    rpmlint "$out"/rpm/*.rpm >"$work/lint" 2>&1 || true
    ! grep -E ': E: ' "$work/lint" | grep -vE 'unknown-key|spelling-error' || echo "rpmlint says the above"
fi
[ "$(id -u)" = 0 ] || skip "made; trying them needs root"
bare_root "$work/root" "$root"/build/lib/libtracesmith.so.0 "$root"/build/bin/libexec/tracesmith/tracesmith-studio
rpm --root "$work/root" --initdb
listed "$work/root" >"$work/before"
began=$(date +%s)
rpm --root "$work/root" --nodeps -i "$out"/rpm/*.rpm
in_time $(($(date +%s) - began))
# pkg-config finds the headers relative to its file, wherever the root is.
if command -v pkg-config >/dev/null; then
    headers=$(PKG_CONFIG_PATH=$work/root/usr/lib64/pkgconfig pkg-config --variable=includedir tracesmith)
    [ -f "$headers/tracesmith/tracesmith.h" ] || fail "pkg-config names $headers, which has no headers"
fi
echo /usr/lib64 >"$work/root/etc/ld.so.conf"
/sbin/ldconfig -r "$work/root" 2>/dev/null || fail ldconfig
tried "$work/root"
rm -f "$work/root/etc/ld.so.conf" "$work/root/etc/ld.so.cache"
rpm --root "$work/root" --nodeps -e tracesmith tracesmith-libs tracesmith-devel
listed "$work/root" >"$work/after"
diff "$work/before" "$work/after" >"$work/left" || fail "removal left something: $(grep '^[<>]' "$work/left" | head -n 20)"
echo "rpm: installed, tried, removed"
