#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packaging/source.sh FILE: writes the source of the committed tree (outside of git: of the folder) to FILE, a tar.gz file whose folder is
# tracesmith-VERSION. The same commit gives the same bytes.
set -eu
[ $# -eq 1 ] || { echo "usage: packaging/source.sh FILE" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
folder=tracesmith-$("$root/packaging/version.sh")
if [ -e "$root/.git" ]; then
    git -c safe.directory='*' -C "$root" archive --prefix="$folder/" HEAD
else
    tar -C "$root" --exclude='./build*' --sort=name --owner=0 --group=0 --numeric-owner --transform="s,^\.,$folder," -cf - .
fi | gzip -9 -n >"$1"
