#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The archive for Windows: two builds in different folders give the same bytes, its list of contents is true, and tracesmith.exe, unpacked
# and run by wine, answers about a trace what the build's command answers here. tests/platform/windows.sh compares many traces.
. "$(dirname "$0")/lib.sh"
needs python3
made_twice windows
name=tracesmith-$("$root/packaging/version.sh")-windows-x86_64
python3 -m zipfile -e "$out/windows/$name.zip" "$work/unpacked"
folder=$work/unpacked/$name
cmp "$root/LICENSE" "$folder/LICENSE" || fail "LICENSE"
! grep -rn '@VERSION@' "$folder/README.md" || fail "README.md"
# Every license has an element in the list, and what is linked in leaves marks that are looked for.
python3 -B - "$out/windows/$name.spdx.json" "$folder" <<'CONTENTS' || fail "the list of contents"
import json, os, sys
document = json.load(open(sys.argv[1]))
assert json.load(open(os.path.join(sys.argv[2], "sbom.spdx.json"))) == document
names = {package["SPDXID"] for package in document["packages"]}
related = {relation["relatedSpdxElement"]: relation["relationshipType"] for relation in document["relationships"]}
assert names == set(related), names ^ set(related)
licenses = {"SPDXRef-" + name for name in os.listdir(os.path.join(sys.argv[2], "licenses"))}
assert names == licenses | {"SPDXRef-tracesmith"}, names ^ licenses
marks = {b"SQLite format 3": "sqlite3", b"unexpected parser state - please send a bug report": "expat",
         b"Unspecified error code": "libzstd", b"incorrect header check": "zlib", b"Mingw-w64 runtime failure": "mingw-w64"}
text = open(os.path.join(sys.argv[2], "tracesmith.exe"), "rb").read()
for mark, package in marks.items():
    assert mark in text, mark
    assert related["SPDXRef-" + package] == "STATIC_LINK", package
CONTENTS

# ---- tried

wine=
for runner in wine wine64 /usr/lib/wine/wine64; do
    [ -n "$wine" ] || ! command -v "$runner" >/dev/null 2>&1 || wine=$runner
done
[ -n "$wine" ] || skip "made and compared; not tried: no wine (Debian: wine64)"
export WINEPREFIX="$work/wine" WINEDEBUG=-all
# Its server writes into its folder after the last program has ended: it must be gone before the folder is.
# shellcheck disable=SC2317 # called by the trap
finish() {
    for server in wineserver /usr/lib/wine/wineserver64; do
        ! command -v "$server" >/dev/null 2>&1 || { "$server" -k 2>/dev/null || true; "$server" -w 2>/dev/null || true; break; }
    done
    rm -rf --one-file-system "$work"
}
trap finish EXIT
here() {
    "$root/build/bin/tracesmith" "$@"
}
there() {
    "$wine" "$folder/tracesmith.exe" "$@" 2>"$work/said"
}
cd "$work"
cp "$root/tests/stability/inputs/rank0.json" rank.json
there import -o there.sbt rank.json || fail "import: $(cat said)"
here import -o here.sbt rank.json >/dev/null
cmp here.sbt there.sbt || fail "import writes another file"
there export -f csv -o there.csv there.sbt || fail "export: $(cat said)"
here export -f csv -o here.csv here.sbt >/dev/null
cmp here.csv there.csv || fail "export writes another file"
there query there.sbt "SELECT count(*) FROM events" >counted || fail "query: $(cat said)"
[ "$(tr -d '\r\n' <counted)" = "$(here query --csv here.sbt 'SELECT count(*) FROM events' | tail -n 1 | tr -d '\r')" ] || fail "query answers $(cat counted)"
there formats >listed || fail "formats: $(cat said)"
! grep -q otf2 listed || fail "it lists a format that it does not write"
code=0
there export -f otf2 -o there.otf2 there.sbt || code=$?
[ "$code" = 1 ] || fail "export to OTF2 ends with $code"
grep -q 'this build has no OTF2' said || fail "export to OTF2 says: $(cat said)"
[ ! -e there.otf2 ] || fail "export to OTF2 left a file"
echo "windows: unpacked, tried by $("$wine" --version)"
