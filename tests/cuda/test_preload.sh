#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A preloaded agent (maca, over mocks) starts where the runtime is: in a program that is linked with it, that opens it by a path, by a
# name in its own search path, or by a name that was loaded before; the libraries that are found are those that are found without it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
command -v "${CC:-cc}" >/dev/null || skip "no compiler for a program with a search path of its own"
api=maca
mock=$TRACESMITH_BUILD_DIR/tests/maca/mock
unset LD_LIBRARY_PATH
mkdir -p "$work/bin/own" "$work/other"
ln -s "$mock/libmcruntime.so" "$work/bin/own/libmcruntime.so"
echo 'const char *which(void); const char *which(void) { return PLACE; }' >"$work/which.c"
${CC:-cc} -shared -fPIC '-DPLACE="own"' -o "$work/bin/own/libwhich.so" "$work/which.c"
${CC:-cc} -shared -fPIC '-DPLACE="other"' -o "$work/other/libwhich.so" "$work/which.c"
cat >"$work/program.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
typedef int call();
static call *find(void *library, const char *name) {
    call *found = NULL;
    *(void **)&found = dlsym(library, name);
    return found;
}
int main(int count, char **words) {
    void *library = dlopen(words[1], RTLD_NOW);
    if (library && dlerror())
        return 6; // an error of a call that the program did not make
    void *which = dlopen("libwhich.so", RTLD_NOW), *none = dlopen("libnothing.so", RTLD_NOW);
    if (!none && !dlerror())
        return 7;
    void *context = NULL, *module = NULL, *function = NULL, *again = dlopen(words[1], RTLD_NOW | RTLD_NOLOAD);
    const char *(*place)(void) = NULL;
    if (!library || none || again != library)
        return 3;
    if (which)
        *(void **)&place = dlsym(which, "which");
    if (find(library, "mcInit")(0) || find(library, "mcCtxCreate_v2")(&context, 0, 0) || find(library, "mcModuleLoadData")(&module, "x") ||
        find(library, "mcModuleGetFunction")(&function, module, "first"))
        return 4;
    for (int i = 0; i < 10; i++)
        if (find(library, "mcLaunchKernel")(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL))
            return 5;
    printf("%s %d\n", place ? place() : "none", find(library, "mcCtxSynchronize")());
    return count;
}
C
build() {
    name=$1
    shift
    ${CC:-cc} -w -o "$work/bin/$name" "$work/program.c" "$@" -ldl
}
# shellcheck disable=SC2016 # the dynamic linker's
{
    build runpath '-Wl,--enable-new-dtags,-rpath,$ORIGIN/own'
    build rpath '-Wl,--disable-new-dtags,-rpath,$ORIGIN/own'
    build linked -Wl,--no-as-needed "$work/bin/own/libmcruntime.so" '-Wl,-rpath,$ORIGIN/own'
}
build plain

# tried NAME PROGRAM LIBRARY: as without the agent, and recorded.
export TRACESMITH_MCPTI="$mock/libmcpti.so"
tried() {
    alone=0
    "$work/bin/$2" "$3" >"$work/alone" || alone=$?
    record "$1" -- "$work/bin/$2" "$3"
    if [ "$status" -ne "$alone" ] || ! cmp -s "$work/alone" "$work/$1.out"; then
        fail "$1: $status, '$(cat "$work/$1.out")', alone $alone, '$(cat "$work/alone")'"
    fi
    [ "$alone" -eq 2 ] || fail "$1: the program fails alone: $alone"
    python3 - "$work" "$1" <<'PY'
import sys
from trace import Run

run = Run(sys.argv[1], sys.argv[2])
run.expect(len(run.of("kernel")) == 10 and not run.lost, f"{len(run.of('kernel'))} kernels, lost {run.lost}")
PY
}
place() { cut -d ' ' -f 1 "$work/$1.out"; }
tried runpath runpath libmcruntime.so
tried rpath rpath libmcruntime.so
tried path plain "$work/bin/own/libmcruntime.so"
tried linked linked libmcruntime.so
[ "$(place runpath)" = own ] || fail "runpath: $(place runpath)"
# LD_LIBRARY_PATH comes before a RUNPATH, and after an RPATH.
export LD_LIBRARY_PATH="$work/other:$mock"
tried before runpath libmcruntime.so
tried after rpath libmcruntime.so
tried name plain libmcruntime.so
[ "$(place before) $(place after) $(place name)" = 'other own other' ] || fail "found $(place before) $(place after) $(place name)"
