#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packaging/sums.sh OUT: writes OUT/SHA256SUMS, the checksums of all packages that are in OUT now, by the names that a release publishes them
# under, which have no folder. OUT is where `./dev release` makes packages, each kind in a folder of its own; release.yml adds the source.
# Exit codes: 0 done, 1 two packages have the same name, 2 usage.
set -eu
[ $# -eq 1 ] || { echo "usage: packaging/sums.sh OUT" >&2 && exit 2; }
cd "$1"
sums=$(for file in tracesmith-*.tar.gz tarball/tracesmith-* wheel/*.whl windows/tracesmith-* deb-packages/*.deb rpm/*.rpm arch/*.pkg.* recipes/*; do
    [ ! -f "$file" ] || (cd "$(dirname "$file")" && sha256sum "${file##*/}")
done)
twice=$(echo "$sums" | sed 's/^[0-9a-f]*  //' | sort | uniq -d)
[ -z "$twice" ] || { echo "sums.sh: two packages are called $twice" >&2 && exit 1; }
echo "$sums" | sed '/^$/d' >SHA256SUMS
