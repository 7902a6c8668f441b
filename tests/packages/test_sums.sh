#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SHA256SUMS of a release has the packages that are there, those of an earlier run only if they still are, with true sums; and each package is
# made into an empty folder, so that none of an earlier version is taken for it.
set -eu
cd "${TRACESMITH_SOURCE_DIR:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
out=$work/out
# put FILE...: a package of this name, with other bytes than the one before.
put() {
    for file; do
        mkdir -p "$out/$(dirname "$file")"
        echo "$file" >>"$out/$file"
    done
}
# expect NAME...: these are listed, and no other; next to each other they have these sums.
expect() {
    packaging/sums.sh "$out"
    rm -rf "$work/published"
    mkdir "$work/published"
    find "$out" -type f ! -path "$out/SHA256SUMS" -exec cp {} "$work/published" \;
    cp "$out/SHA256SUMS" "$work/published"
    printf '%s\n' "$@" | sort >"$work/expected"
    sed 's/^[0-9a-f]*  //' "$out/SHA256SUMS" | sort | cmp - "$work/expected" || fail "listed are: $(cat "$out/SHA256SUMS")"
    (cd "$work/published" && sha256sum -c --quiet --strict SHA256SUMS) || fail "the sums are wrong"
}
mkdir "$out"
packaging/sums.sh "$out"
[ ! -s "$out/SHA256SUMS" ] || fail "sums of nothing: $(cat "$out/SHA256SUMS")"
put tarball/tracesmith-1-linux-x86_64.tar.gz tarball/tracesmith-1-linux-x86_64.spdx.json tarball/SHA256SUMS deb/tracesmith_1.dsc
expect tracesmith-1-linux-x86_64.tar.gz tracesmith-1-linux-x86_64.spdx.json
# Another one alone, and another version of the first.
put wheel/tracesmith-1-cp310.whl deb-packages/tracesmith_1-1_amd64.deb windows/tracesmith-1-windows-x86_64.zip
expect tracesmith-1-linux-x86_64.tar.gz tracesmith-1-linux-x86_64.spdx.json tracesmith_1-1_amd64.deb tracesmith-1-windows-x86_64.zip tracesmith-1-cp310.whl
rm -r "$out/tarball" "$out/wheel"
put tarball/tracesmith-2-linux-x86_64.tar.gz deb-packages/tracesmith_1-1_amd64.deb tracesmith-2.tar.gz recipes/PKGBUILD rpm/tracesmith-2.rpm arch/tracesmith-2.pkg.tar.gz
expect tracesmith-2-linux-x86_64.tar.gz tracesmith_1-1_amd64.deb tracesmith-1-windows-x86_64.zip tracesmith-2.tar.gz PKGBUILD tracesmith-2.rpm tracesmith-2.pkg.tar.gz
put rpm/tracesmith-2.tar.gz.rpm arch/tracesmith-2.rpm.pkg.1 recipes/tracesmith-2.rpm
! packaging/sums.sh "$out" 2>"$work/err" || fail "two packages of one name were accepted"
grep -q 'two packages are called tracesmith-2.rpm' "$work/err" || fail "it says: $(cat "$work/err")"

# A run that cannot make a package leaves none of an earlier one, and the sums of the others.
rm -r "$out/recipes" "$out/arch"
mkdir "$work/tools"
for tool in sh dirname date mkdir mktemp rm cat sed sort uniq sha256sum; do
    ln -s "$(command -v "$tool")" "$work/tools/$tool"
done
echo old >"$out/SHA256SUMS"
PATH=$work/tools TRACESMITH_RELEASE_DIR=$out tests/packages/run.sh rpm >"$work/said" || fail "run.sh: $(cat "$work/said")"
grep -q '^rpm: skipped' "$work/said" || fail "run.sh says: $(cat "$work/said")"
expect tracesmith-2-linux-x86_64.tar.gz tracesmith_1-1_amd64.deb tracesmith-1-windows-x86_64.zip tracesmith-2.tar.gz
