#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # $ORIGIN is the loader's word
# pack.sh --check: a folder that is good passes, and each fault that is planted in it is found.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
pack=$TRACESMITH_SOURCE_DIR/tests/gpu/pack.sh
for tool in readelf objdump; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*"
    cat "$work/out"
    exit 1
}
mkdir "$work/pack"
# library NAME OPTION...: one that needs nothing
library() {
    name=$1
    shift
    printf 'int answer(void);\nint answer(void) { return 42; }\n' |
        "${CC:-cc}" -x c -shared -fPIC -nostdlib -o "$work/pack/$name" - "$@"
}
checked() { # CODE [WHAT]
    code=0
    "$pack" --check "$work/pack" >"$work/out" 2>&1 || code=$?
    [ "$code" -eq "$1" ] || fail "the code is $code instead of $1${2:+: $2}"
    [ -z "${2-}" ] || grep -q "$2" "$work/out" || fail "not said: $2"
}

library libgood.so -Wl,-rpath,'$ORIGIN/../lib'
checked 0
library libempty.so -Wl,-rpath,'$ORIGIN/../lib:'
checked 1 'libempty.so: its path for libraries has an empty entry'
rm "$work/pack/libempty.so"
library libhere.so "-Wl,-rpath,$work"
checked 1 'libhere.so: its path for libraries is of this machine'
rm "$work/pack/libhere.so"
library libother.so
library libneeds.so -Wl,--no-as-needed -L"$work/pack" -lother
checked 0
rm "$work/pack/libother.so"
checked 1 'libneeds.so: needs libother.so, which is not in the folder'
rm "$work/pack/libneeds.so"
# A function that the C library has had since 2.34 under this version.
printf 'int pthread_create(void);\n__asm__(".symver pthread_create, pthread_create@GLIBC_9.99");\nint answer(void);\nint answer(void) { return pthread_create(); }\n' >"$work/new.c"
printf 'int pthread_create(void);\nint pthread_create(void) { return 0; }\n' >"$work/libc.c"
printf 'GLIBC_9.99 { global: pthread_create; };\n' >"$work/libc.map"
"${CC:-cc}" -shared -fPIC -nostdlib -Wl,-soname,libc.so.6 "-Wl,--version-script=$work/libc.map" -o "$work/libc-new.so" "$work/libc.c"
"${CC:-cc}" -shared -fPIC -nostdlib -o "$work/pack/libnew.so" "$work/new.c" "$work/libc-new.so"
checked 1 'libnew.so: needs GLIBC_9.99, newer than 2.31'
rm "$work/pack/libnew.so"
touch "$work/pack/a b"
checked 1 'odd characters'
rm "$work/pack/a b"
head -c 43000000 /dev/zero >"$work/pack/zeros"
checked 0
head -c 50000000 /dev/zero >"$work/pack/zeros"
checked 1 'MiB, more than 42'
