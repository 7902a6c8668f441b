#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The wheel of the tarball that was made before: two builds in different folders give the same bytes, it has the files of the tarball
# but for what is for C programs, and it is installed by pip in a bare Debian 12, tried, and leaves nothing.
. "$(dirname "$0")/lib.sh"
needs cmake ninja objdump readelf python3
tarball=$out/tarball/tracesmith-$("$root/packaging/version.sh")-linux-x86_64.tar.gz
[ -f "$tarball" ] || skip "the wheel is made of the tarball: ./dev release tarball wheel"
made_twice wheel "$tarball"

# The same bytes as in the tarball, and the Python files of the tree.
mkdir "$work/unpacked"
tar -xzf "$tarball" -C "$work/unpacked" --strip-components=1
python3 -B - "$out"/wheel/*.whl "$work/unpacked" "$root/bindings/python/tracesmith" <<'CONTENTS' || fail "its contents"
import os, sys, zipfile
wheel, tarball, package = zipfile.ZipFile(sys.argv[1]), sys.argv[2], sys.argv[3]
def files(folder):
    return {os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names if not name.endswith(".pyc")}
for_c = ("include/", "lib/cmake/", "lib/pkgconfig/", "README.md", "LICENSE")
wanted = {name: os.path.join(tarball, name) for name in files(tarball) if not name.startswith(for_c) and not name.startswith("lib/libtracesmith.so")}
wanted["lib/libtracesmith.so.0"] = os.path.join(tarball, "lib/libtracesmith.so.0")
wanted.update((name, os.path.join(package, name)) for name in files(package))
has = {name[len("tracesmith/"):] for name in wheel.namelist() if name.startswith("tracesmith/")}
assert has == set(wanted) | {"_native.abi3.so"}, has ^ (set(wanted) | {"_native.abi3.so"})
for name, path in wanted.items():
    with open(path, "rb") as file:
        assert wheel.read("tracesmith/" + name) == file.read(), name
CONTENTS
code=0
TRACESMITH_FRESH_SUITE=bookworm TRACESMITH_FRESH_WITH=$out/wheel TRACESMITH_FRESH_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/release \
    "$root/tests/fresh-root.sh" tests/packages/inside.sh wheel || code=$?
[ "$code" -ne 77 ] || skip "made and compared; not tried in a bare Debian 12"
exit "$code"
