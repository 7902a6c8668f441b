#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Names of addresses, compared with addr2line, llvm-symbolizer and nm on the same files; separate and packed symbols;
# files that are not the ones they should be, or not whole.
set -eu
: "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}" "${CC:?}"
for tool in addr2line nm objcopy objdump strip readelf python3 c++ c++filt; do
    command -v "$tool" >/dev/null || {
        echo "skipped: there is no $tool"
        exit 77
    }
done
modules=$TRACESMITH_SOURCE_DIR/tests/unwind/modules
check=$TRACESMITH_SOURCE_DIR/tests/symbols/check_symbols.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset DEBUGINFOD_URLS
sanitize=${TRACESMITH_SANITIZE:+-fsanitize=$TRACESMITH_SANITIZE}
# shellcheck disable=SC2086 # no word where there is no sanitizer
"$CC" -O2 -D_GNU_SOURCE $sanitize -I"$TRACESMITH_SOURCE_DIR/include" -I"$TRACESMITH_SOURCE_DIR/src" \
    -o "$work/names" "$modules/names.c" "$TRACESMITH_BUILD_DIR/lib/libtracesmith_core.a" -ldw -lelf -llzma -liberty -lz -lzstd
fail() {
    echo "test_symbols: $*" >&2
    exit 1
}

# Lines and inlined functions, as others have them.
cd "$work"
for version in 4 5; do
    c++ -O2 "-gdwarf-$version" -o "inlined$version" "$modules/inlined.cc"
    python3 "$check" ./names "inlined$version"
done
# gcc lists where its units have code, clang does not: in one program both are found.
if command -v clang++ >/dev/null; then
    printf 'static inline int half(int x) { return x / 2; }\nint listed(int x) { return half(x + 1) * half(x); }\n' >listed.c
    "$CC" -O2 -g -c listed.c
    clang++ -O2 -g -c -o unlisted.o "$modules/inlined.cc"
    clang++ -o mixed listed.o unlisted.o
    readelf -SW mixed | grep -q debug_aranges || echo "nothing is listed: units are not found by it"
    python3 "$check" ./names mixed
fi
if command -v rustc >/dev/null && rustc -O -g -o rust "$modules/inlined.rs" 2>/dev/null; then
    python3 "$check" ./names rust
else
    echo "no rustc: Rust is not looked at"
fi

# Functions of one file are called what the linker calls them: with their namespace and class.
c++ -O2 -g -o local "$modules/local.cc"
nm -C --defined-only local | awk '$2 ~ /[TtWw]/ && /outer::/' | sort >local.nm
[ "$(wc -l <local.nm)" -ge 8 ] || fail "functions were inlined: $(cat local.nm)"
cut -d' ' -f1 local.nm | ./names local | grep -v '^found' | awk -F'\t' '{ name[$1] = $2 } END { for (a in name) print a, name[a] }' |
    sort >local.ours
sed 's/^0*\([0-9a-f]*\) [TtWw]/\1/' local.nm | sort | cmp - local.ours || fail "names of one file: $(diff local.nm local.ours)"

# Where they are inlined the linker does not know them.
for compiler in c++ clang++; do
    command -v "$compiler" >/dev/null || continue
    "$compiler" -O2 -g -o "scopes-$compiler" "$modules/scopes.cc"
    python3 "$TRACESMITH_SOURCE_DIR/tests/symbols/check_scopes.py" ./names "scopes-$compiler"
done

# The same file, its symbols elsewhere or packed: the same answers to the last byte.
nm -S --defined-only inlined5 | awk '$3 ~ /[TtWw]/ { print $1 }' >addresses
[ "$(wc -l <addresses)" -gt 20 ]
./names inlined5 <addresses >whole
objcopy --compress-debug-sections=zlib inlined5 packed
./names packed <addresses | cmp - whole || fail "packed sections"
mkdir separate separate/.debug
objcopy --only-keep-debug inlined5 separate/.debug/inlined5.debug
strip -o separate/inlined5 inlined5
./names separate/inlined5 <addresses >bare
cmp -s bare whole && fail "a stripped file has all names"
(cd separate/.debug && objcopy --add-gnu-debuglink=inlined5.debug ../inlined5)
./names separate/inlined5 <addresses | cmp - whole || fail "a debug file by its name"
build_id=$(readelf -n inlined5 | awk '/Build ID/ { print $3 }')
[ -n "$build_id" ]
./names separate/inlined5 "$build_id" <addresses | cmp - whole || fail "the right build id"
# What two debug files share is in a third.
if command -v dwz >/dev/null; then
    mkdir shared
    for file in one two; do
        c++ -O2 -gdwarf-4 -o "shared/$file" "$modules/inlined.cc"
        objcopy --only-keep-debug "shared/$file" "shared/$file.debug"
    done
    nm -S --defined-only shared/one | awk '$3 ~ /[TtWw]/ { print $1 }' >shared/addresses
    ./names shared/one <shared/addresses >shared/whole
    (cd shared && dwz -m common one.debug two.debug && strip one && objcopy --add-gnu-debuglink=one.debug one)
    readelf -SW shared/one.debug | grep -q gnu_debugaltlink || fail "dwz shares nothing"
    ./names shared/one <shared/addresses | cmp - shared/whole || fail "a shared debug file"
    rm shared/common
    [ "$(./names shared/one <shared/addresses | tail -n 1)" = "found damaged" ] || fail "a shared debug file that is gone"
else
    echo "no dwz: shared debug files are not looked at"
fi

# From a server, only for those who ask for it; also when the program itself is gone.
if python3 -c 'import ctypes; ctypes.CDLL("libdebuginfod.so.1")' 2>/dev/null; then
    mkdir -p "servers/buildid/$build_id"
    objcopy --only-keep-debug inlined5 "servers/buildid/$build_id/debuginfo"
    strip -o alone inlined5
    DEBUGINFOD_URLS=file://$work/servers DEBUGINFOD_CACHE_PATH=$work/cache ./names alone <addresses |
        cmp - whole || fail "a debug file from a server"
    DEBUGINFOD_URLS=file://$work/servers DEBUGINFOD_CACHE_PATH=$work/cache ./names gone "$build_id" <addresses |
        cmp - whole || fail "a debug file of a program that is gone"
    ./names alone <addresses | cmp - bare || fail "a server that was not named"
else
    echo "no libdebuginfod: servers are not looked at"
fi
# Another program's debug file under that name.
printf 'int main(void) { return 0; }\n' | "$CC" -g -x c - -o other
objcopy --only-keep-debug other separate/.debug/inlined5.debug
./names separate/inlined5 <addresses | cmp - bare || fail "another program's debug file was believed"
# Names without lines that a distribution leaves in a stripped file.
if command -v xz >/dev/null; then
    strip --strip-debug -o symbols inlined5
    xz -k symbols
    strip -o mini inlined5
    objcopy --add-section .gnu_debugdata=symbols.xz mini
    ./names mini <addresses | cut -f2 >names.mini
    ./names symbols <addresses | cut -f2 | cmp - names.mini || fail "packed table of symbols"
fi

# Another file than the one that was loaded, one that is gone, and what is no ELF file.
: >empty
for case in "inlined5 00112233445566778899aabbccddeeff00112233 other" "nowhere '' gone" "addresses '' damaged" \
    "empty '' damaged" "/dev/zero '' gone" ". '' gone"; do
    eval "set -- $case"
    ./names "$1" ${2:+"$2"} <addresses >said
    [ "$(tail -n 1 said)" = "$3 whole" ] || fail "$1: $(tail -n 1 said)"
    [ "$(grep -cv '	?	?	0$' said)" = 1 ] || fail "$1 has names"
done

# The stubs of calls into libraries, as objdump names them: those of this library, and of every way that linkers write them.
stubs() { # FILE LEAST
    objdump -d "$1" | sed -n 's/^0*\([0-9a-f]*\) <\(.*\)@plt>:$/\1\t\2/p' | grep -v 'ABS' >stubs || true
    [ "$(wc -l <stubs)" -ge "$2" ] || fail "$1 has too few stubs"
    cut -f1 stubs | ./names "$1" | sed '$d' | cut -f1,2 >named
    c++filt <stubs | sed 's/$/@plt/' | cmp - named || fail "stubs of $1"
}
case $(uname -m) in
x86_64 | aarch64)
    printf '#include <stdlib.h>\n#include <stdio.h>\nint main(int c, char **v) { puts(v[c - 1]); return rand(); }\n' >calls.c
    for options in -Wl,-z,lazy -Wl,-z,now '-fcf-protection=full -Wl,-z,ibtplt' -mbranch-protection=standard; do
        # shellcheck disable=SC2086 # words; not every machine has all
        "$CC" $options -o calls calls.c 2>/dev/null || continue
        stubs calls 2
    done
    stubs "$TRACESMITH_BUILD_DIR/lib/libtracesmith.so.0" 100
    ;;
esac

# Versions are no part of a name; a function that is chosen when it is first called has the name of what chooses.
cat >versions.c <<'EOF'
__asm__(".symver old_place,place@V1");
__asm__(".symver new_place,place@@V2");
int old_place(void) { return 1; }
int new_place(void) { return 2; }
static int fast(void) { return 3; }
static int (*choose(void))(void) { return fast; }
int chosen(void) __attribute__((ifunc("choose")));
EOF
printf 'V1 { local: old_place; new_place; }; V2 { global: place; chosen; } V1;\n' >versions
if "$CC" -O0 -fPIC -shared -Wl,--version-script=versions -o versions.so versions.c 2>/dev/null; then
    nm versions.so | awk '$3 ~ /^place@/ { print $1 }' | ./names versions.so >said
    [ "$(grep -c '	place	' said)" = 2 ] || fail "versions of symbols: $(cat said)"
    nm versions.so | awk '$3 ~ /^chosen/ { print $1 }' | ./names versions.so | grep -q '	chosen	' || fail "an ifunc"
fi

# A map of generated code: later code over earlier, lines that are none, a last line that is cut.
printf '1000 100 one\n0x1080 10 two with spaces\nnonsense\n2000 ffffffffffffffff three\n3000 40 fo' >map
printf '%s\n' fff 1000 107f 1080 108f 1090 10ff 1100 3000 303f 3040 | ./names --map map >said || fail "map"
printf '%s\n' '?' one one 'two with spaces' 'two with spaces' one one '?' fo fo '?' 'found damaged' >expected
cut -f2 said | cmp - expected || fail "names of generated code"

# Cut and torn files: some names are lost, nothing else happens.
size=$(stat -c %s inlined5)
step=$((size / 40))
at=1
while [ "$at" -lt "$size" ]; do
    head -c "$at" inlined5 >short
    ./names short <addresses >/dev/null || fail "a file cut at $at"
    cp inlined5 torn
    dd if=inlined5 of=torn bs=1 skip="$((at * 7 % size))" seek="$at" count=64 conv=notrunc 2>/dev/null
    ./names torn <addresses >/dev/null || {
        cp torn "${TMPDIR:-/tmp}/torn.$$"
        fail "a file torn at $at: ${TMPDIR:-/tmp}/torn.$$"
    }
    at=$((at + step))
done

# What is installed here.
for file in $(ldd "$TRACESMITH_BUILD_DIR/lib/libtracesmith.so.0" | sed -n 's|^.* \(/[^ ]*\) (.*$|\1|p'); do
    case $file in
    */libzstd* | */libexpat* | */libsqlite3*) python3 "$check" --stripped ./names "$file" ;;
    esac
done
