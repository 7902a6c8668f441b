#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packaging/deb.sh OUT: builds Debian's source package and the binary packages of the committed tree, into the folder OUT.
# Needs dpkg-dev, debhelper and the build dependencies (apt-get build-dep OUT/tracesmith-VERSION).
set -eu
out=${1:?usage: packaging/deb.sh OUT}
root=$(cd "$(dirname "$0")/.." && pwd)
version=$("$root/packaging/version.sh")
mkdir -p "$out"
out=$(cd "$out" && pwd)
"$root/packaging/source.sh" "$out/tracesmith_$version.orig.tar.gz"
rm -rf "$out/tracesmith-$version"
tar -xzf "$out/tracesmith_$version.orig.tar.gz" -C "$out"
cp -r "$root/packaging/debian" "$out/tracesmith-$version/debian"
cd "$out/tracesmith-$version"
dpkg-buildpackage -us -uc
