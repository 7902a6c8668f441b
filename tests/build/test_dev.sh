#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ./dev lists its verbs, refuses what it does not know, and on machines without apt prints the line that installs
# what is missing, and stops.
set -eu
dev=${TRACESMITH_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}/dev
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "$*"
    cat "$work/out"
    exit 1
}

"$dev" >"$work/out" 2>&1 || fail "./dev alone failed"
for verb in build demo test asan tsan fuzz bench soak drivers wheel format documents install; do
    grep -q "^  $verb " "$work/out" || fail "./dev does not list $verb"
    grep -q "^verb_$verb()" "$dev" || fail "./dev lists $verb and does not have it"
done

code=0
"$dev" no-such-verb >"$work/out" 2>&1 || code=$?
[ "$code" -eq 2 ] || fail "an unknown verb ended in $code"
grep -q "no verb 'no-such-verb'" "$work/out" || fail "an unknown verb was not named"

# A machine with nothing but a shell and one package manager, which must not be run.
mkdir "$work/bin"
for tool in sh dirname getconf awk cat id; do
    ln -s "$(command -v "$tool")" "$work/bin/$tool"
done
# expect MANAGER LINE
expect() {
    rm -f "$work/bin/dnf" "$work/bin/pacman" "$work/bin/brew"
    [ "$1" = none ] || {
        printf '#!/bin/sh\necho %s was run\n' "$1" >"$work/bin/$1"
        chmod +x "$work/bin/$1"
    }
    code=0
    PATH=$work/bin "$dev" build >"$work/out" 2>&1 || code=$?
    [ "$code" -eq 4 ] || fail "with $1: exit $code"
    grep -qF "$2" "$work/out" || fail "with $1: not the line '$2'"
    ! grep -q 'was run' "$work/out" || fail "$1 was run"
}
expect dnf 'sudo dnf install -y gcc glibc-devel cmake ninja-build'
expect pacman 'sudo pacman -S --needed gcc glibc cmake ninja'
expect brew 'brew install gcc cmake ninja'
expect none 'install what Debian calls: gcc libc6-dev cmake ninja-build'
