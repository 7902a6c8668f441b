#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/packages/run.sh [NAME...]: ./dev release. Makes each package into build/release, installs it, tries it and removes it.
# Ends with 1 if one of them failed; one that cannot be made here says why. build/release/SHA256SUMS lists
# what is there then: what was made now, and packages that were made before and not now.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- tarball wheel windows deb rpm arch docker recipes source gpu
out=${TRACESMITH_RELEASE_DIR:-$(cd "$here/../.." && pwd)/build/release}
failed=0
for name; do
    began=$(date +%s) code=0
    # What cannot be made now is not that of an earlier run.
    case $name in
    tarball | wheel | windows | rpm | arch) rm -rf "${out:?}/$name" ;;
    deb) rm -rf "${out:?}/deb" "${out:?}/deb-packages" ;;
    esac
    if [ "$name" = recipes ]; then
        TRACESMITH_SOURCE_DIR=$(cd "$here/../.." && pwd) "$here/test_recipes.sh" || code=$?
    elif [ -f "$here/$name.sh" ]; then
        "$here/$name.sh" || code=$?
    else
        echo "no package '$name': tarball, wheel, windows, deb, rpm, arch, docker, recipes, source, gpu" >&2
        exit 2
    fi
    case $code in
    0) said=ok ;;
    77) said=skipped ;;
    *) said=FAILED failed=1 ;;
    esac
    echo "$name: $said, $(($(date +%s) - began)) s"
done
mkdir -p "$out"
"$here/../../packaging/sums.sh" "$out" || failed=1
exit "$failed"
