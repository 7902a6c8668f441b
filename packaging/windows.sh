#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packaging/windows.sh OUT: writes into the folder OUT
#
#   tracesmith-VERSION-windows-x86_64.zip        tracesmith.exe (packaging/portable.sh), which reads, converts, exports and analyzes traces
#   tracesmith-VERSION-windows-x86_64.spdx.json  what is in it (also in it)
#   SHA256SUMS                                   of both
#
# The same tree, libraries and compiler give the same bytes. SOURCE_DATE_EPOCH is the time of the files: that of the last commit, unless it
# is set. `./dev release windows` tries it by wine. Needs Debian's mingw-w64, and apt and a network the first time.
# Exit codes: 0 done and checked, 1 something failed, 2 usage, 4 the machine lacks something (said which).
set -eu
most=3000000
root=$(cd "$(dirname "$0")/.." && pwd)
die() {
    code=$1
    shift
    echo "windows.sh: $*" >&2
    exit "$code"
}
[ $# -eq 1 ] || die 2 "usage: packaging/windows.sh OUT"
mkdir -p "$1"
out=$(cd "$1" && pwd)
for tool in python3 x86_64-w64-mingw32-objdump; do
    command -v $tool >/dev/null || die 4 "no $tool"
done
version=$("$root/packaging/version.sh")
name=tracesmith-$version-windows-x86_64
epoch=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 1)}
export SOURCE_DATE_EPOCH="$epoch" TZ=UTC LC_ALL=C
unset CMAKE_C_COMPILER_LAUNCHER CFLAGS LDFLAGS 2>/dev/null || true
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$root/packaging/portable.sh" windows "$work/made" || exit
# Any other library would have to be in the archive.
x86_64-w64-mingw32-objdump -p "$work/made/tracesmith.exe" >"$work/headers" || die 1 "the headers of tracesmith.exe cannot be read"
libraries=$(sed -n 's/.*DLL Name: *//p' "$work/headers")
[ -n "$libraries" ] || die 1 "no library that tracesmith.exe needs is in its headers"
for library in $libraries; do
    case $library in
    KERNEL32.dll | msvcrt.dll | ADVAPI32.dll) ;;
    *) die 1 "tracesmith.exe needs $library" ;;
    esac
done
mkdir "$work/$name"
cp "$work/made/tracesmith.exe" "$root/LICENSE" "$work/$name/"
cp -r "$work/made/licenses" "$work/$name/"
sed "s/@VERSION@/$version/" "$root/packaging/windows.md" >"$work/$name/README.md"
awk '{ print $1, $1, $2 }' "$work/made/packages" >"$work/packages"
sed 's/ .*/=static/' "$work/made/packages" | xargs python3 -B "$root/packaging/sbom.py" "$name" "$version" "$work/packages" >"$work/$name.spdx.json" ||
    die 1 "the list of contents cannot be made"
cp "$work/$name.spdx.json" "$work/$name/sbom.spdx.json"
python3 -B - "$work" "$name" "$epoch" <<'ZIP'
import os, sys, time, zipfile
work, name, epoch = sys.argv[1:]
# The format begins with 1980, and has steps of two seconds.
moment = time.gmtime(max(int(epoch), 315532800))[:6]
paths = sorted(os.path.relpath(os.path.join(folder, file), work) for folder, _, files in os.walk(os.path.join(work, name)) for file in files)
with zipfile.ZipFile(os.path.join(work, name + ".zip"), "w") as archive:
    for path in paths:
        entry = zipfile.ZipInfo(path, moment)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.create_system = 3  # Unix, whose access rights follow
        entry.external_attr = (0o100755 if path.endswith(".exe") else 0o100644) << 16
        with open(os.path.join(work, path), "rb") as file:
            archive.writestr(entry, file.read(), compresslevel=9)
ZIP
size=$(stat -c %s "$work/$name.zip")
[ "$size" -le "$most" ] || die 1 "$name.zip has $size bytes, more than $most"
mv "$work/$name.zip" "$work/$name.spdx.json" "$out/"
(cd "$out" && sha256sum "$name.zip" "$name.spdx.json" >SHA256SUMS)
echo "$out/$name.zip: $size bytes"
