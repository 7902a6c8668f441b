# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# To be read with '.' by the scripts of this folder. Sets root (the checkout), out (where packages are made) and work (for one run).
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
out=${TRACESMITH_RELEASE_DIR:-$root/build/release}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
skip() {
    echo "skipped: $*"
    exit 77
}
needs() {
    for tool; do
        command -v "$tool" >/dev/null || skip "no $tool (./dev release --install)"
    done
}
# made_twice NAME [ARGUMENT...]: packaging/NAME.sh ARGUMENT... OUT, run twice in different folders, gives the same bytes. What it made becomes $out/NAME; its sums are true.
made_twice() {
    made=$1 code=0
    shift
    mkdir -p "$work/one/tmp" "$work/two/temporary"
    TMPDIR=$work/one/tmp "$root/packaging/$made.sh" "$@" "$work/one/out" || code=$?
    [ "$code" -ne 4 ] || skip "packaging/$made.sh cannot run here (./dev release --install)"
    [ "$code" -eq 0 ] || fail "packaging/$made.sh ends with $code"
    TMPDIR=$work/two/temporary "$root/packaging/$made.sh" "$@" "$work/two/out"
    for file in "$work"/one/out/*; do
        cmp "$file" "$work/two/out/${file##*/}" || fail "two builds differ"
    done
    rm -rf "${out:?}/$made"
    cp -r "$work/one/out" "$out/$made"
    (cd "$out/$made" && sha256sum -c --quiet SHA256SUMS)
}
# listed FOLDER: what is in it, for a comparison before and after; not what package managers keep.
listed() {
    (cd "$1" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp/keep -o -path ./packages -o -path './var/cache/*' \
        -o -path './var/log/*' -o -path './var/lib/*' -o -path './home/tester/*' -o -path './tmp/tmp.*' -o -path ./etc/ld.so.cache -o -path './usr/share/info/dir*' \) -prune -o -print | sort)
}
# bare_root FOLDER LIBRARY...: a folder to chroot into with the C library and what these files of this machine need, the folders that
# every distribution has, and nothing else.
bare_root() {
    for directory in tmp dev lib64 root etc usr/bin usr/include usr/lib/cmake usr/lib/pkgconfig usr/lib64/cmake usr/lib64/pkgconfig usr/libexec \
        usr/share/bash-completion/completions usr/share/fish/vendor_completions.d usr/share/zsh/site-functions usr/share/man/man1 \
        usr/share/doc usr/share/licenses; do
        mkdir -p "$1/$directory"
    done
    bare=$1
    shift
    for file in /bin/true "$@"; do
        ldd "$file" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }' | grep -v libtracesmith | while read -r library; do
            mkdir -p "$bare${library%/*}"
            cp -L "$library" "$bare$library"
        done
    done
    cp /bin/true "$bare/usr/bin/true"
    : >"$bare/dev/null"
}
# inside FOLDER COMMAND...
inside() {
    folder=$1
    shift
    env -i PATH=/usr/bin:/bin HOME=/root "$(command -v chroot)" "$folder" "$@"
}
# in_time SECONDS: an installation took no longer than a minute.
in_time() {
    echo "installed in $1 s"
    [ "$1" -le 60 ] || fail "the installation took $1 s, more than 60"
}
