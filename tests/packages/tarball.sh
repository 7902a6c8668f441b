#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tarball: two builds in different folders give the same bytes, everything in it runs with a C library of 2.28, its list of contents
# is true, and it runs in a bare Debian 11 (there is no older one to be had) and leaves nothing.
. "$(dirname "$0")/lib.sh"
. "$root/packaging/elf.sh"
needs cmake ninja objdump readelf python3
made_twice tarball
mkdir "$work/unpacked"
tar -xzf "$out"/tarball/*.tar.gz -C "$work/unpacked"
[ -z "$(elf_faults "$work/unpacked" 2.28)" ] || fail "$(elf_faults "$work/unpacked" 2.28)"
# What its README says about C programs.
if command -v cc >/dev/null && command -v pkg-config >/dev/null; then
    printf '#include <stdio.h>\n#include <tracesmith/tracesmith.h>\nint main(void) { return puts(tsmith_version()) < 0; }\n' >"$work/program.c"
    (cd "$work"/unpacked/* && sed -n "s/^    \(export PKG_CONFIG_PATH\|cc \)/\1/p" README.md | sed "s|program\.c|$work/program.c|; s|-o program|-o $work/program|" >"$work/lines" &&
        [ "$(wc -l <"$work/lines")" -eq 2 ] && sh -eu "$work/lines") || fail "a C program cannot be built as README.md says: $(cat "$work/lines")"
    [ "$("$work/program")" = "$("$root/packaging/version.sh")" ] || fail "a C program does not run as README.md says"
fi
# Agents need libc alone, and export what those of an ordinary build export.
for agent in "$work"/unpacked/*/lib/tracesmith/libtracesmith-*.so; do
    ours=$root/build/lib/tracesmith/${agent##*/}
    [ -f "$ours" ] || continue
    for library in "$agent" "$ours"; do
        nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u
    done | sort | uniq -u >"$work/differ"
    [ ! -s "$work/differ" ] || fail "${agent##*/} exports other names than the build's: $(cat "$work/differ")"
done
# Every library that goes with it, and every license, has an element in the list.
python3 -B - "$out"/tarball/*.spdx.json "$work"/unpacked/* <<'EOF' || fail "the list of contents"
import glob, json, os, sys
document = json.load(open(sys.argv[1]))
assert json.load(open(os.path.join(sys.argv[2], "share/doc/tracesmith/sbom.spdx.json"))) == document
names = {package["SPDXID"] for package in document["packages"]}
related = {relation["relatedSpdxElement"]: relation["relationshipType"] for relation in document["relationships"]}
assert names == set(related), names ^ set(related)
for path in glob.glob(os.path.join(sys.argv[2], "share/doc/tracesmith/licenses/*")):
    assert "SPDXRef-" + os.path.basename(path) in names, path
# Strings that only these libraries have, of what is linked in; a library that is not listed would be seen.
marks = {b"SQLite format 3": "libsqlite3-dev", b"unexpected parser state - please send a bug report": "libexpat1-dev",
         b"Unspecified error code": "libzstd-dev", b"incorrect header check": "zlib1g-dev", b"MHD_": "libmicrohttpd-dev"}
text = b"".join(open(path, "rb").read() for path in glob.glob(os.path.join(sys.argv[2], "l*/**"), recursive=True) if os.path.isfile(path))
for mark, package in marks.items():
    assert mark in text, mark
    assert related["SPDXRef-" + package] == "STATIC_LINK", package
for path in glob.glob(os.path.join(sys.argv[2], "lib/tracesmith/libraries/*")):
    package = {"dw": "libdw-dev", "elf": "libelf-dev", "bz2": "libbz2-1.0", "z": "zlib1g-dev", "lzma": "liblzma-dev"}[path.rpartition("-")[2][:-3]]
    assert "SPDXRef-" + package in names, path
EOF
code=0
TRACESMITH_FRESH_SUITE=bullseye TRACESMITH_FRESH_WITH=$out/tarball TRACESMITH_FRESH_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/release \
    "$root/tests/fresh-root.sh" tests/packages/inside.sh tarball || code=$?
[ "$code" -ne 77 ] || skip "made and compared; not tried in a bare Debian 11"
exit "$code"
