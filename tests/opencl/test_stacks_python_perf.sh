#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profile --stacks of a Python program whose interpreter calls each function through a perf trampoline (PYTHONPERFSUPPORT, -X perf_jit):
# each launch has the functions that the interpreter reports, and no stack is cut.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "of other processors the walk alone is tested (unwind.aarch64)"
[ -z "$sanitize" ] || skip "the interpreter has no sanitizer in it"

# run NAME INTERPRETER [OPTION...]
run() {
    name=$1
    shift
    "$TRACESMITH" profile --stacks -o "$work/$name.sbt" -b 16M -- "$@" "$here/stacks/paths.py" "$work/$name.truth" \
        >"$work/out" 2>"$work/err" || fail "$name: the program ended with $?: $(cat "$work/err")"
    python3 "$here/check_stacks_python.py" "$work/$name.truth" "$work/$name.sbt" "$here/stacks/paths.py"
    "$TRACESMITH" info --json "$work/$name.sbt" >"$work/info"
    python3 - "$work/info" <<'PY' || fail "$name: stacks are cut: $(cat "$work/info")"
import json, sys
assert json.load(open(sys.argv[1]))["lost"]["total"] == 0
PY
    # The trampolines have the names of the functions that are there already.
    twice=$("$TRACESMITH" query --csv "$work/$name.sbt" "SELECT count(*) FROM frames JOIN modules ON modules.id = module WHERE generated" | tr -d '\r')
    [ "$(echo "$twice" | tail -n 1)" = 0 ] || fail "$name: trampolines are frames: $twice"
    # What the interpreter left there.
    for pid in $("$TRACESMITH" query "$work/$name.sbt" "SELECT pid FROM processes" --csv | tr -d '\r' | grep -x '[0-9]*'); do
        rm -f "/tmp/perf-$pid.map" "/tmp/jit-$pid.dump"
    done
}

# Whether the interpreter can do it. It leaves no file.
cat >"$work/able.py" <<'PY'
import os
import sys

for name in ("/tmp/perf-%d.map", "/tmp/jit-%d.dump"):
    if os.path.exists(name % os.getpid()):
        os.remove(name % os.getpid())
sys.exit(not ((3, 12) <= sys.version_info[:2] <= (3, 13) and sys.is_stack_trampoline_active()))
PY

found=
for python in ${TRACESMITH_PERF_PYTHON:-python3.13 python3.12 python3}; do
    PYTHONPERFSUPPORT=1 "$python" "$work/able.py" 2>/dev/null || continue
    found=$python
    run perf env PYTHONPERFSUPPORT=1 "$python"
    if "$python" -X perf_jit "$work/able.py" 2>/dev/null; then # 3.13 and newer
        run jit "$python" -X perf_jit
    fi
done
[ -n "$found" ] || skip "no CPython 3.12 or 3.13 with support for perf"
