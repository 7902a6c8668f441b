#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profile --sample of a Python program whose interpreter writes a map for perf: the stacks have its functions, one inside the other, and
# the functions named are those that the program says it was in.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/watch/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/watch/common.sh"

interpreter=
for name in ${TRACESMITH_PERF_PYTHON:-python3.14 python3.13 python3.12 python3}; do
    if "$name" -c 'import sys; sys.exit(not (hasattr(sys, "activate_stack_trampoline") and sys._is_gil_enabled() if hasattr(sys, "_is_gil_enabled") else hasattr(sys, "activate_stack_trampoline")))' 2>/dev/null &&
        PYTHONPERFSUPPORT=1 "$name" -c 'import sys; sys.exit(not sys.is_stack_trampoline_active())' 2>/dev/null; then
        interpreter=$name
        break
    fi
done
[ -n "$interpreter" ] || skip "no Python 3.12 or newer with support for perf"

cat >"$work/busy.py" <<'PY'
import json
import time


def inner(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def other(n):
    return sum(range(n * 20))


def outer(seconds):
    spent = {"inner": 0.0, "other": 0.0}
    while sum(spent.values()) < seconds:
        for function in (inner, other):
            begin = time.thread_time()
            function(20000)
            spent[function.__name__] += time.thread_time() - begin
    return spent


print(json.dumps(outer(1.0)))
PY
code=0
PYTHONPERFSUPPORT=1 "$TRACESMITH" profile --sample -o "$work/py.sbt" -- "$interpreter" "$work/busy.py" >"$work/said.json" 2>"$work/err" || code=$?
if grep -q "no samples are recorded" "$work/err"; then
    skip "$(grep "no samples are recorded" "$work/err")"
fi
[ "$code" -eq 0 ] || fail "recording: exit code $code: $(cat "$work/err")"
"$TRACESMITH" export --cpu --hide-interpreter -f folded "$work/py.sbt" >"$work/folded" || fail "no folded stacks"
python3 - "$work/said.json" "$work/folded" "$work/busy.py" <<'PY' || fail "the samples are not what the program says: $(head -c 2000 "$work/folded")"
import json, sys
said, path = json.load(open(sys.argv[1])), sys.argv[3]
times = {"inner": 0, "other": 0}
for line in open(sys.argv[2]):
    stack, time = line.rsplit(" ", 1)
    for name in times:
        if "py::%s:%s" % (name, path) in stack:
            # Callers in their order, with nothing of the interpreter in between.
            assert "py::<module>:%s;py::outer:%s;py::%s:%s" % (path, path, name, path) in stack, stack
            times[name] += int(time)
for name, seconds in said.items():
    # A sample stands for one period; the share of a function of 1 s is uncertain by a few of them.
    assert abs(times[name] / 1e9 - seconds) < 0.1 * sum(said.values()), (times, said)
PY
