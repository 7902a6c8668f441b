#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profile --mctracer runs mcTracer (a fake one, which checks its command line) and imports what it wrote.
set -eu
: "${TRACESMITH:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/tmp"
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
cat >"$work/bin/mcTracer" <<'SH'
#!/bin/sh
[ "$1 $2" = '--mctx --odname' ] && [ "$4" = --name ] && [ "$(stat -c %a "$3")" = 700 ] || exit 99
folder=$3
shift 5
[ "${FAKE-}" = none ] || printf '{"traceEvents":[{"ph":"X","cat":"kernel","name":"axpy","pid":1,"tid":2,"ts":10,"dur":5,"args":{"device":0,"stream":7}},
{"ph":"X","cat":"kernel","name":"gemm","pid":1,"tid":2,"ts":20,"dur":7,"args":{"device":0,"stream":7}}]}' >"$folder/tracer_out-1.json"
[ "${FAKE-}" != two ] || echo '[]' >"$folder/tracer_out-2.json"
"$@"
SH
chmod +x "$work/bin/mcTracer"
usual=$PATH
PATH=$work/bin:$PATH TMPDIR=$work/tmp
export PATH TMPDIR

status=0
# shellcheck disable=SC2016 # the words of another shell
"$TRACESMITH" profile --mctracer -o "$work/a.sbt" -- sh -c 'echo "$1"; exit 5' sh 'a b' >"$work/out" 2>"$work/err" || status=$?
[ "$status" -eq 5 ] || fail "status $status: $(cat "$work/err")"
[ "$(cat "$work/out")" = 'a b' ] || fail "the program's output: $(cat "$work/out")"
"$TRACESMITH" view -f json "$work/a.sbt" >"$work/json"
[ "$(grep -o '"name": *"\(axpy\|gemm\)"' "$work/json" | wc -l)" -eq 2 ] || fail "two kernels: $(cat "$work/json")"
[ -z "$(ls "$work/tmp")" ] || fail "left: $(ls "$work/tmp")"

FAKE=two "$TRACESMITH" profile --mctracer -o "$work/b.sbt" -- true 2>"$work/err"
grep -q 'traces of 2 processes' "$work/err" || fail "$(cat "$work/err")"
kept=$(sed -n 's/.*is kept: //p' "$work/err")
[ -f "$kept/tracer_out-2.json" ] || fail "kept: $(cat "$work/err")"
rm -r "$kept"

status=0
FAKE=none "$TRACESMITH" profile --mctracer -o "$work/c.sbt" -- true 2>"$work/err" || status=$?
if [ "$status" -ne 4 ] || [ -e "$work/c.sbt" ]; then fail "status $status: $(cat "$work/err")"; fi
status=0
"$TRACESMITH" profile --mctracer --stacks -o "$work/c.sbt" -- true 2>"$work/err" || status=$?
[ "$status" -eq 2 ] || fail "status $status: $(cat "$work/err")"
PATH=$usual
status=0
"$TRACESMITH" profile --mctracer -o "$work/c.sbt" -- true 2>"$work/err" || status=$?
[ "$status" -eq 4 ] || fail "status $status: $(cat "$work/err")"
grep -q 'mcTracer was found neither in PATH' "$work/err" || fail "$(cat "$work/err")"
