#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packaging/recipes.sh SOURCE URL OUT: writes into the folder OUT the recipes of other package managers than Debian's, for the source file
# SOURCE (packaging/source.sh) that can be downloaded from URL: the version, its checksum and what the build needs (the table of ./dev) are
# filled into packaging/recipes.
#
#   tracesmith.spec  RPM        rpmbuild -ba
#   PKGBUILD         Arch       makepkg
#   tracesmith.rb    Homebrew   on Linux
#   meta.yaml        conda
set -eu
[ $# -eq 3 ] || { echo "usage: packaging/recipes.sh SOURCE URL OUT" >&2; exit 2; }
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$3"
listed=$(mktemp)
trap 'rm -f "$listed"' EXIT
version=$("$root/packaging/version.sh")
sum=$(sha256sum "$1" | cut -d ' ' -f 1)
# needed MANAGER BEFORE AFTER SEPARATOR: the packages of the build, each between two texts. The tests' framework is left out, and what
# Homebrew's formula needs to run as well.
needed() {
    sed -n 's/^  depends_on "\(.*\)"$/\1/p' "$root/packaging/recipes/tracesmith.rb" >"$listed"
    [ "$1" = brew ] || : >"$listed"
    "$root/dev" packages --print "$1" build | grep -vE '^(lib)?cmocka' | grep -vxFf "$listed" | sort -u | sed "s/.*/$2&$3/" | paste -s -d "$4" -
}
for file in "$root"/packaging/recipes/*; do
    sed -e "s|@VERSION@|$version|g" -e "s|@SHA256@|$sum|g" -e "s|@URL@|$2|g" -e "s|@FILE@|${2##*/}|g" \
        -e "s|@DNF@|$(needed dnf 'BuildRequires:  ' '' '~')|" -e "s|@PACMAN@|$(needed pacman "'" "'" ' ')|" \
        -e "s|@BREW@|$(needed brew '  depends_on "' '" => :build' '~')|" "$file" | tr '~' '\n' >"$3/${file##*/}"
done
