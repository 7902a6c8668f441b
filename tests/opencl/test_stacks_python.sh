#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each launch of a pyopencl program has the Python functions on its path that the interpreter reports: comprehensions,
# lambdas called from C, generators, objects that are called, threads.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "of other processors the walk alone is tested (unwind.aarch64)"
[ -z "$sanitize" ] || skip "the interpreter has no sanitizer in it"
python=
for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import sys, pyopencl; sys.exit(not (3, 8) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && python=$candidate
done
[ -n "$python" ] || skip "no CPython 3.8 to 3.13 with pyopencl"
"$TRACESMITH" profile --stacks -o "$work/trace.sbt" -b 16M -- "$python" "$here/stacks/paths.py" "$work/truth" \
    >"$work/out" 2>"$work/err" || fail "the program ended with $?: $(cat "$work/err")"
python3 "$here/check_stacks_python.py" "$work/truth" "$work/trace.sbt" "$here/stacks/paths.py"

# Python's functions are places that launch; below them, in a stripped extension, nothing has a name, and that is no matter.
"$TRACESMITH" analyze --only callsites "$work/trace.sbt" >"$work/answer"
grep -q 'launches most' "$work/answer" || fail "no place launches: $(cat "$work/answer")"
! grep 'Note:' "$work/answer" | grep -v 'Recursion is folded' || fail "launches without a name: $(cat "$work/answer")"

"$TRACESMITH" view --stacks -f json "$work/trace.sbt" >"$work/all"
"$TRACESMITH" view --stacks --hide-interpreter -f json "$work/trace.sbt" >"$work/hidden"
"$TRACESMITH" export -f folded "$work/trace.sbt" >"$work/folded"
"$TRACESMITH" export -f folded --hide-interpreter "$work/trace.sbt" >"$work/folded.hidden"
python3 "$here/check_hidden_interpreter.py" "$work/all" "$work/hidden" "$work/folded" "$work/folded.hidden"
"$TRACESMITH" analyze --only callsites --hide-interpreter --csv "$work/trace.sbt" >"$work/answer"
! grep -E '_PyObject_|_PyEval_' "$work/answer" || fail "callsites --hide-interpreter shows the interpreter"
