#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Split DWARF: a program whose units are in .dwo files or a package has the names, lines and inlined functions of the
# same program with everything in one file, to the byte; for that one addr2line and llvm-symbolizer agree
# (test_symbols.sh).
set -eu
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}" "${CC:?}"
for tool in nm objcopy strip c++; do
    command -v "$tool" >/dev/null || {
        echo "skipped: there is no $tool"
        exit 77
    }
done
modules=$TRACESMITH_SOURCE_DIR/tests/unwind/modules
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset DEBUGINFOD_URLS
sanitize=${TRACESMITH_SANITIZE:+-fsanitize=$TRACESMITH_SANITIZE}
# shellcheck disable=SC2086 # no word where there is no sanitizer
"$CC" -O2 -D_GNU_SOURCE $sanitize -I"$TRACESMITH_SOURCE_DIR/include" -I"$TRACESMITH_SOURCE_DIR/src" \
    -o "$work/names" "$modules/names.c" "$TRACESMITH_BUILD_DIR/lib/libtracesmith_core.a" -ldw -lelf -llzma -liberty -lz -lzstd
fail() {
    echo "test_split: $*" >&2
    exit 1
}
same() {
    "$work/names" "$1" <addresses | cmp - whole || fail "$2"
}

# Damaged packages and .dwo files: names are lost, nothing else happens.
tear() { # FILE PROGRAM
    cp "$1" sound
    size=$(stat -c %s sound)
    step=$((size / 16 + 1))
    at=17
    while [ "$at" -lt "$size" ]; do
        head -c "$at" sound >"$1"
        "$work/names" "$2" <addresses >/dev/null || fail "$1 cut at $at"
        cp sound "$1"
        dd if=sound of="$1" bs=1 skip="$((at * 7 % size))" seek="$at" count=64 conv=notrunc 2>/dev/null
        "$work/names" "$2" <addresses >/dev/null || fail "$1 torn at $at"
        at=$((at + step))
    done
    cp sound "$1"
}

packages=0
try() { # COMPILER VERSION OPTION...
    compiler=$1 version=$2
    shift 2
    command -v "$compiler" >/dev/null || {
        echo "no $compiler: its files are not looked at"
        return
    }
    what="$compiler -gdwarf-$version $*"
    folder=$work/$compiler$version$(echo "$*" | tr -d ' ')
    mkdir "$folder"
    cd "$folder"
    # One name for both, since the compiler may write it into the code; clang has no call site's line without.
    "$compiler" -O2 "-gdwarf-$version" "$@" -c "$modules/inlined.cc" -o inlined.o
    "$compiler" -o plain inlined.o
    "$compiler" -O2 "-gdwarf-$version" "$@" -gsplit-dwarf -c "$modules/inlined.cc" -o inlined.o
    "$compiler" -o program inlined.o
    [ -f inlined.dwo ] || fail "$what made no .dwo"
    nm -S --defined-only plain | awk '$3 ~ /[TtWw]/ && NF == 4 { print $1, $2 }' | while read -r start size; do
        at=$((0x$start)) end=$((0x$start + 0x$size))
        while [ "$at" -lt "$end" ]; do
            printf '%x\n' "$at"
            at=$((at + 17))
        done
    done >addresses
    [ "$(wc -l <addresses)" -gt 200 ] || fail "$what: no addresses"
    "$work/names" plain <addresses >whole
    [ "$(tail -n 1 whole)" = "found whole" ] || fail "$what: $(tail -n 1 whole)"
    [ "$(cut -f1 whole | uniq -d | wc -l)" -gt 50 ] || fail "$what: nothing inlined"
    same program "$what"
    tear inlined.dwo program

    # Next to the program, when the folder it was made in no longer exists; packed; and missing.
    mkdir -p elsewhere/gone
    cp program elsewhere/program
    mv inlined.dwo elsewhere
    same elsewhere/program "$what: .dwo next to the program"
    objcopy --compress-debug-sections=zlib elsewhere/inlined.dwo elsewhere/packed
    mv elsewhere/packed elsewhere/inlined.dwo
    same elsewhere/program "$what: packed .dwo"
    mv elsewhere/inlined.dwo elsewhere/kept
    "$work/names" elsewhere/program <addresses >without
    [ "$(tail -n 1 without)" = "found damaged" ] || fail "$what: a .dwo that is gone: $(tail -n 1 without)"
    [ "$(grep -c "$(printf '\t0$')" without)" -lt "$(($(wc -l <without) / 2))" ] || fail "$what: no lines without .dwo"
    # Another unit's under that name.
    printf 'int other(void) { return 1; }\n' >other.cc
    "$compiler" -O2 "-gdwarf-$version" -gsplit-dwarf -c other.cc -o other.o
    cp other.dwo elsewhere/inlined.dwo
    "$work/names" elsewhere/program <addresses | cmp - without || fail "$what: another unit's .dwo was believed"
    rm elsewhere/inlined.dwo
    cp elsewhere/kept inlined.dwo

    # Two units in a package, next to the program and next to its debug file. Neither tool makes one of all that compilers
    # write, and LLVM's does not end on type units.
    "$compiler" -o program inlined.o other.o
    for tool in dwp llvm-dwp-14 llvm-dwp; do
        command -v "$tool" >/dev/null || continue
        case $tool$* in llvm*-fdebug-types-section*) continue ;; esac
        timeout 20 "$tool" -e program -o made.dwp 2>/dev/null || continue
        packages=$((packages + 1))
        rm -rf package
        mkdir package
        cp program package/program
        cp made.dwp package/program.dwp
        mv inlined.dwo kept
        "$work/names" package/program <addresses >said
        mv kept inlined.dwo
        "$work/names" program <addresses | cmp - said || fail "$what: package of $tool"
        [ "$(tail -n 1 said)" = "found whole" ] || fail "$what: package of $tool: $(tail -n 1 said)"
        [ "$tool" = dwp ] || tear package/program.dwp package/program
    done
    rm -rf "$folder"
}
for version in 4 5; do
    for compiler in c++ clang++; do
        try "$compiler" "$version"
    done
done
try c++ 5 -ffunction-sections -fdebug-types-section
[ "$packages" -gt 0 ] || echo "no tool makes packages: they are not looked at"
