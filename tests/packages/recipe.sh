# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # root and work are of lib.sh
# To be read with '.' after lib.sh: the source file and the recipes of the committed tree.
version=$("$root/packaging/version.sh")
source=$work/tracesmith-$version.tar.gz
"$root/packaging/source.sh" "$source"
"$root/packaging/recipes.sh" "$source" "file://$source" "$work/recipes"

# tried FOLDER: the command that was installed there.
tried() {
    [ "$(inside "$1" /usr/bin/tracesmith version)" = "tracesmith $version" ] || fail "the version"
    inside "$1" /usr/bin/tracesmith profile -o /tmp/a.sbt -- /usr/bin/true >"$work/said" 2>&1 || fail "profile: $(cat "$work/said")"
    inside "$1" /usr/bin/tracesmith info /tmp/a.sbt | grep -q '^state *complete' || fail "the trace"
    rm -rf "$1/tmp/a.sbt" "$1/root/.local" "$1/root/.cache"
}
