#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The package of Arch: built by makepkg from the PKGBUILD with this machine's compiler and libraries, installed by pacman into an empty
# root, tried and removed.
. "$(dirname "$0")/lib.sh"
needs makepkg pacman bsdtar cmake setpriv
[ "$(id -u)" = 0 ] || skip "needs root, to try the package"
. "$root/tests/packages/recipe.sh"
mkdir "$work/make"
cp "$work/recipes/PKGBUILD" "$source" "$work/make/"
chmod 755 "$work"
chown -R 65534:65534 "$work/make"
(cd "$work/make" && setpriv --reuid=65534 --regid=65534 --clear-groups env -u CCACHE_DIR -u CMAKE_C_COMPILER_LAUNCHER -u CMAKE_CXX_COMPILER_LAUNCHER \
    HOME="$work/make" PKGEXT=.pkg.tar.gz makepkg --nodeps --nocheck >log 2>&1) || {
    tail -n 30 "$work/make/log"
    fail makepkg
}
rm -rf "$out/arch"
mkdir "$out/arch"
cp "$work"/make/tracesmith-"$version"-*.pkg.tar.gz "$out/arch/"
bare_root "$work/root" "$root"/build/lib/libtracesmith.so.0
mkdir -p "$work/root/var/lib/pacman" "$work/root/var/cache/pacman/pkg" "$work/root/var/log" "$work/root/etc"
printf '[options]\nArchitecture = auto\nSigLevel = Never\nLocalFileSigLevel = Never\n' >"$work/pacman.conf"
pacman_here() {
    pacman --root "$work/root" --dbpath "$work/root/var/lib/pacman" --config "$work/pacman.conf" --noconfirm --noscriptlet -dd "$@" >"$work/log" 2>&1 || {
        cat "$work/log"
        fail "pacman $1"
    }
}
listed "$work/root" >"$work/before"
began=$(date +%s)
pacman_here -U "$out"/arch/*.pkg.tar.gz
in_time $(($(date +%s) - began))
/sbin/ldconfig -r "$work/root" 2>/dev/null || true
tried "$work/root"
rm -f "$work/root/etc/ld.so.cache"
pacman_here -R tracesmith
listed "$work/root" >"$work/after"
# pacman removes folders that no package needs, too.
comm -13 "$work/before" "$work/after" >"$work/left"
[ ! -s "$work/left" ] || fail "removal left something: $(head -n 20 "$work/left")"
echo "arch: installed, tried, removed"
