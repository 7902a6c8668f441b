#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which of several libcupti is used: one that is compatible with the driver, at any path, and it is named. An
# incompatible one is skipped, not used further, and named with its error. The fakes refuse; the one that works is the
# mock.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

unset CUDA_HOME VIRTUAL_ENV CONDA_PREFIX

# A fake writes down what it is asked, and refuses at subscribing (RESULT), or when it is asked for its version (VERSION_RESULT).
{
    cat <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int asked(const char *name) {
    char line[80];
    const char *path = getenv("FAKE_LOG");
    const int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    const int length = snprintf(line, sizeof line, "%d %s\n", NUMBER, name);
    if (file < 0 || write(file, line, (size_t)length) != length)
        abort();
    close(file);
    return RESULT;
}
int cuptiGetVersion(unsigned *version) {
    *version = VERSION_RESULT ? 0 : NUMBER;
    asked("GetVersion");
    return VERSION_RESULT;
}
int cuptiGetResultString(int result, const char **text) {
    *text = "FAKE_ERROR";
    return result == 0;
}
#define F(name) int cupti##name(void) { return asked(#name); }
C
    sed -n 's/^    X(\([A-Za-z0-9_]*\),.*/F(\1)/p' "$TRACESMITH_SOURCE_DIR/agents/cuda/library.h" | grep -Ev '\(Get(Version|ResultString)\)'
} >"$work/fake.c"
# fake FILE NUMBER RESULT [VERSION_RESULT]
fake() {
    mkdir -p "$(dirname "$1")"
    ${CC:-cc} -w -fPIC -shared -Wl,-soname,"${1##*/}" -DNUMBER="$2" -DRESULT="$3" -DVERSION_RESULT="${4:-0}" -o "$1" "$work/fake.c"
}
empty() {
    mkdir -p "$(dirname "$1")"
    echo 'int nothing_here;' | ${CC:-cc} -x c -fPIC -shared -Wl,-soname,"${1##*/}" -o "$1" -
}
works() {
    mkdir -p "$(dirname "$1")"
    cp "$mocks/libcupti.so.13" "$1"
}

# Without the folder of the mocks: that has a libcupti.
mkdir "$work/driver"
cp "$mocks/libcuda.so.1" "$work/driver"
plain=$work/driver
export FAKE_LOG="$work/log"
# look NAME DRIVER FOLDERS COMMAND...: with this driver, and these folders before the driver's.
look() {
    name=$1
    MOCK_DRIVER=$2
    LD_LIBRARY_PATH=$3:$plain
    export MOCK_DRIVER LD_LIBRARY_PATH
    : >"$FAKE_LOG"
    shift 3
    record "$name" -- "$@"
    [ "$status" -eq 0 ] || fail "$name: exit status $status: $(cat "$work/$name.err")"
}
# taken NAME FILE WHERE, with its launches in the trace; refused PATTERN, or nothing was.
taken() {
    python3 - "$work" "$1" "$2" "$3" "${4:-}" <<'PY' || fail "$1: $(cat "$work/$1.info")"
import re, sys
from trace import Run
folder, name, path, where, refused = sys.argv[1:]
run = Run(folder, name)
said = run.attributes.get("cuda.cupti", "")
assert f", {path} ({where}, with " in said, said
tried = run.attributes.get("cuda.cupti.refused", "")
assert re.fullmatch(refused, tried), (refused, tried)
assert len(run.of("kernel")) == 40, len(run.of("kernel"))
PY
}
work_program=$programs/cu_work
linker='known to the dynamic linker'

# The driver decides: 13 is not touched by one that knows CUDA 12, though its name comes first.
fake "$work/a/libcupti.so.13" 130000 15
works "$work/a/libcupti.so.12"
look driver12 12080 "$work/a" "$work_program" launches=40
taken driver12 "$work/a/libcupti.so.12" "$linker"
[ ! -s "$FAKE_LOG" ] || fail "driver12: the other one was asked: $(cat "$FAKE_LOG")"
"$TRACESMITH" info "$work/driver12.sbt" 2>&1 | grep -q "a/libcupti.so.12 ($linker, with the driver's CUDA 12.8)" ||
    fail "info does not say which: $("$TRACESMITH" info "$work/driver12.sbt" 2>&1)"

# One that refuses is asked for its version and for its subscription, and never again. The next one is taken.
for error in 2 14 15 999; do
    fake "$work/e$error/libcupti.so.13" 130000 $error
    works "$work/e$error/libcupti.so.12"
    look "error$error" 13000 "$work/e$error" "$work_program" launches=40
    taken "error$error" "$work/e$error/libcupti.so.12" "$linker" "$work/e$error/libcupti.so.13: FAKE_ERROR \($error\)"
    [ "$(sort "$FAKE_LOG" | tr '\n' ' ')" = "130000 GetVersion 130000 Subscribe " ] || fail "error$error: $(cat "$FAKE_LOG")"
done
fake "$work/v/libcupti.so.13" 0 0 999
fake "$work/v/libcupti.so.12" 12 0
works "$work/v/libcupti.so.11.8"
look versions 13000 "$work/v" "$work_program" launches=40
taken versions "$work/v/libcupti.so.11.8" "$linker" ".*so.13: FAKE_ERROR \(999\); .*so.12: too old"
! grep -q Subscribe "$FAKE_LOG" || fail "versions: one that is no good was subscribed to: $(cat "$FAKE_LOG")"

# An error that every libcupti would give ends the search.
fake "$work/d/libcupti.so.13" 130000 35
works "$work/d/libcupti.so.12"
look denied 13000 "$work/d" "$work_program" launches=40
grep -q 'CUDA work is not recorded: CUPTI (.*/d/libcupti.so.13) returned FAKE_ERROR (35) .*this user may not profile' "$work/denied.err" ||
    fail "denied: $(cat "$work/denied.err")"

# None goes with the driver: all that were tried are named with their errors, and the program runs as ever.
fake "$work/n/libcupti.so.13" 130000 15
fake "$work/n/libcupti.so.12" 26 999
look none 12060 "$work/n" "$work_program" launches=40
grep -q "CUDA work is not recorded: no libcupti is compatible with the driver's CUDA 12.6: tried $work/n/libcupti.so.12: FAKE_ERROR (999); .*$work/n/libcupti.so.13: FAKE_ERROR (15)" \
    "$work/none.err" || fail "none: $(cat "$work/none.err")"
"$work_program" launches=40 | sed 's/ pid .*//' >"$work/bare"
sed 's/ pid .*//' "$work/none.out" | cmp -s - "$work/bare" || fail "none: the program says otherwise"

# Next to the program's CUDA runtime, in a wheel and in a toolkit.
empty "$work/wheel/nvidia/cuda_runtime/lib/libcudart.so.12"
works "$work/wheel/nvidia/cuda_cupti/lib/libcupti.so.12"
look runtime 13000 "$work/a" env LD_PRELOAD="$work/wheel/nvidia/cuda_runtime/lib/libcudart.so.12" "$work_program" launches=40
taken runtime "$work/wheel/nvidia/cuda_runtime/lib/../../cuda_cupti/lib/libcupti.so.12" "next to the program's runtime"
empty "$work/toolkit/targets/x86_64-linux/lib/libcudart.so.13"
works "$work/toolkit/extras/CUPTI/lib64/libcupti.so.13"
look toolkit 13000 "$work/a" env LD_PRELOAD="$work/toolkit/targets/x86_64-linux/lib/libcudart.so.13" "$work_program" launches=40
taken toolkit "$work/toolkit/targets/x86_64-linux/lib/../../../extras/CUPTI/lib64/libcupti.so.13" "next to the program's runtime"
# In CUDA_HOME, where the runtime is linked statically.
look home 13000 "$plain" env CUDA_HOME="$work/toolkit" "$work_program" launches=40
taken home "$work/toolkit/extras/CUPTI/lib64/libcupti.so.13" "in a toolkit" ".*" # the linker may know one of this machine

# In the environment of the Python that runs: known by a library that it has loaded, and by its own place.
packages=$work/venv/lib/python3.12/site-packages
empty "$packages/torch/lib/libtorch.so"
works "$packages/nvidia/cu13/lib/libcupti.so.13"
look loaded 13000 "$plain" env LD_PRELOAD="$packages/torch/lib/libtorch.so" "$work_program" launches=40
taken loaded "$packages/nvidia/cu13/lib/libcupti.so.13" "in the Python environment"
mkdir "$work/venv/bin"
cp "$work_program" "$work/venv/bin/python3.12"
look python 13000 "$plain" "$work/venv/bin/python3.12" launches=40
taken python "$packages/nvidia/cu13/lib/libcupti.so.13" "in the Python environment"

# NVIDIA's own, where they are here, with a driver that is none: they refuse, and nothing breaks.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/tracesmith/cupti
for library in "$cache"/*/lib/libcupti.so.*; do
    [ -f "$library" ] || continue
    mkdir -p "$work/real"
    cp "$library" "$work/real"
done
if [ -f "$work/real/libcupti.so.13" ] && [ -z "${TRACESMITH_SANITIZE:-}" ]; then
    agent=$TRACESMITH_BUILD_DIR/lib/tracesmith/libtracesmith-cuda.so
    cat >"$work/inject.py" <<'PY'
import ctypes, sys
assert ctypes.CDLL(sys.argv[1]).InitializeInjection() == 1
print("goes on")
PY
    # The interpreter without a driver. Under a sanitizer it could not load the agent.
    LD_LIBRARY_PATH=$work/real
    record real_python -- python3 "$work/inject.py" "$agent"
    [ "$status $(cat "$work/real_python.out")" = "0 goes on" ] || fail "NVIDIA's in Python: $status, $(cat "$work/real_python.err")"
    grep -q 'no libcupti is compatible with this driver: tried .*/real/libcupti.so.13: .*(999).*/real/libcupti.so.12: .*(15).*/real/libcupti.so.11.8: .*(15)' \
        "$work/real_python.err" || fail "NVIDIA's in Python: $(cat "$work/real_python.err")"
fi
