#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every recipe names the version of CMakeLists.txt; what a recipe needs to run is in its list of what the build needs; the recipes are
# filled completely and are what their formats ask for (as far as the tools are installed); the list of contents of the tarball (SPDX) is
# made from docs/dependencies.md and refuses a library that has no row there.
set -eu
cd "${TRACESMITH_SOURCE_DIR:?}"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
version=$(packaging/version.sh)
case $version in
[0-9]*.[0-9]*.[0-9]*) ;;
*) fail "no version: '$version'" ;;
esac
# named FILE PATTERN: the version that the pattern (with one group) finds in a file.
named() {
    found=$(sed -n "s/$2/\\1/p" "$1" | head -n 1)
    [ "$found" = "$version" ] || fail "$1 names version '$found', CMakeLists.txt $version"
}
named packaging/debian/changelog '^tracesmith (\([0-9.]*\)-.*'
named pyproject.toml '^version = "\(.*\)"'
named bindings/rust/tracesmith/Cargo.toml '^version = "\(.*\)"'
named bindings/rust/tracesmith-sys/Cargo.toml '^version = "\(.*\)"'
grep -q "^## $version" CHANGELOG.md || fail "CHANGELOG.md has no section of $version"

echo source >"$work/tracesmith-$version.tar.gz"
packaging/recipes.sh "$work/tracesmith-$version.tar.gz" "https://example.org/tracesmith-$version.tar.gz" "$work/recipes"
[ "$(find "$work/recipes" -type f | wc -l)" -eq 4 ] || fail "there are not four recipes"
! grep -nE '@[A-Z0-9]+@' "$work"/recipes/* || fail "the words above were not filled in"
sum=$(sha256sum "$work/tracesmith-$version.tar.gz" | cut -d ' ' -f 1)
named "$work/recipes/tracesmith.spec" '^Version: *\(.*\)'
named "$work/recipes/PKGBUILD" '^pkgver=\(.*\)'
named "$work/recipes/tracesmith.rb" '^  version "\(.*\)"'
named "$work/recipes/meta.yaml" '^  version: "\(.*\)"'
for recipe in PKGBUILD tracesmith.rb meta.yaml; do
    grep -q "$sum" "$work/recipes/$recipe" || fail "$recipe does not have the checksum of the source"
done

# What is needed to run is also needed to build.
./dev packages --print pacman build >"$work/pacman"
sed -n 's/^depends=(\(.*\))/\1/p' "$work/recipes/PKGBUILD" | tr ' ' '\n' | sort >"$work/depends"
[ -s "$work/depends" ] || fail "PKGBUILD depends on nothing"
[ -z "$(comm -23 "$work/depends" "$work/pacman")" ] || fail "PKGBUILD depends on $(comm -23 "$work/depends" "$work/pacman"), which ./dev does not know"
./dev packages --print dnf build | grep -v cmocka >"$work/dnf"
sed -n 's/^BuildRequires: *//p' "$work/recipes/tracesmith.spec" | sort | comm -3 - "$work/dnf" >"$work/differ"
[ ! -s "$work/differ" ] || fail "BuildRequires and ./dev differ: $(cat "$work/differ")"
# Debian's list names these packages too: what only one of the two has is not in every build.
./dev packages --print apt build | grep -vE '^(gcc|libc6-dev|libcmocka-dev)$' >"$work/apt"
packaging/deb-dependencies.sh | sort >"$work/debian"
[ -z "$(comm -23 "$work/apt" "$work/debian")" ] || fail "packaging/debian/control lacks $(comm -23 "$work/apt" "$work/debian")"

checked=
bash -n "$work/recipes/PKGBUILD" && checked="$checked bash"
if command -v ruby >/dev/null; then
    ruby -c "$work/recipes/tracesmith.rb" >/dev/null && checked="$checked ruby"
fi
if command -v rpmspec >/dev/null; then
    HOME=$work rpmspec -P "$work/recipes/tracesmith.spec" >"$work/parsed" && checked="$checked rpmspec"
    grep -q '^%files devel' "$work/parsed" || fail "rpmspec sees no package of headers"
fi

# The list of contents.
printf '%s %s 1.0-1\n' libzstd-dev libzstd libdw-dev elfutils libiberty-dev libiberty >"$work/versions"
SOURCE_DATE_EPOCH=86400 python3 -B packaging/sbom.py name "$version" "$work/versions" libzstd-dev=static libdw-dev=dynamic libiberty-dev=static >"$work/sbom"
python3 -B - "$work/sbom" "$version" <<'EOF' || fail "the list of contents"
import json, re, sys
document = json.load(open(sys.argv[1]))
packages = {package["name"]: package for package in document["packages"]}
assert document["spdxVersion"] == "SPDX-2.3" and document["creationInfo"]["created"] == "1970-01-02T00:00:00Z"
assert packages["tracesmith"]["versionInfo"] == sys.argv[2]
assert packages["zstd"]["licenseDeclared"] == "BSD-3-Clause" and packages["zstd"]["versionInfo"] == "1.0-1"
assert packages["libdw of elfutils"]["licenseDeclared"] == "LGPL-3.0-or-later OR GPL-2.0-or-later"
extracted = {entry["licenseId"] for entry in document["hasExtractedLicensingInfos"]}
assert extracted == {word for package in packages.values() for word in package["licenseDeclared"].split() if word.startswith("LicenseRef-")}
assert {relation["relationshipType"] for relation in document["relationships"]} == {"DESCRIBES", "STATIC_LINK", "DYNAMIC_LINK"}
assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"]) for package in packages.values())
EOF
# Of source packages, as the archive for Windows has them.
printf '%s %s 1:1.0-1\n' zlib zlib gcc-mingw-w64 gcc-mingw-w64 mingw-w64 mingw-w64 >"$work/versions"
python3 -B packaging/sbom.py name "$version" "$work/versions" zlib=static gcc-mingw-w64=static mingw-w64=static >"$work/sources"
python3 -B - "$work/sources" <<'EOF' || fail "the list of contents of source packages"
import json, sys
document = json.load(open(sys.argv[1]))
packages = {package["name"]: package for package in document["packages"]}
assert packages["zlib"]["comment"].startswith("Debian 12's source package zlib: "), packages["zlib"]
assert packages["zlib"]["externalRefs"][0]["referenceLocator"] == "pkg:deb/debian/zlib@1:1.0-1?arch=source"
assert packages["gcc-mingw-w64"]["licenseDeclared"] == "GPL-3.0-or-later WITH GCC-exception-3.1"
assert [entry["licenseId"] for entry in document["hasExtractedLicensingInfos"]] == ["LicenseRef-mingw-w64"]
EOF
! python3 -B packaging/sbom.py name "$version" "$work/versions" libunknown-dev=static >"$work/sbom" 2>"$work/err" || fail "a library without a row was accepted"
grep -q libunknown-dev "$work/err" || fail "not said which library has no row: $(cat "$work/err")"
echo "version $version everywhere; parsed by:$checked"
