#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A trace that LTTng-UST records of ctf_program.c, and the same trace as babeltrace2 writes it: every event, time and field is what babeltrace2
# reads, and what the program says that it passed. Events that LTTng discards are in the ledger. Of a program with tracepoints of the names
# that THAPI has, functions are calls of an API. The session daemon is one of this test's own.
set -eu
source=${TRACESMITH_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
for tool in python3 lttng lttng-sessiond babeltrace2 setpriv; do
    command -v "$tool" >/dev/null 2>&1 || {
        echo "skipped: no $tool (Debian: lttng-tools liblttng-ust-dev babeltrace2)"
        exit 77
    }
done
TMPDIR=$(mktemp -d)
pid=
# Only what this test started.
finish() {
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
    rm -rf "$TMPDIR"
}
trap finish EXIT
if ! ${CC:-cc} -O1 -I"$source/tests/import" "$source/tests/import/ctf_program.c" -o "$TMPDIR/program" -llttng-ust -ldl -lpthread 2>"$TMPDIR/err"; then
    echo "skipped: no headers of LTTng-UST (Debian: liblttng-ust-dev): $(head -n 1 "$TMPDIR/err")"
    exit 77
fi
${CC:-cc} -O1 -I"$source/tests/import" "$source/tests/import/thapi_program.c" -o "$TMPDIR/thapi" -llttng-ust -ldl -lpthread
# As root, the daemon would be that of the whole system: this one is of another user.
as=
[ "$(id -u)" != 0 ] || as="setpriv --reuid=65534 --regid=65534 --clear-groups"
chmod 755 "$TMPDIR"
mkdir -p "$TMPDIR/home" "$TMPDIR/out"
chmod 777 "$TMPDIR/home" "$TMPDIR/out"
LTTNG_HOME=$TMPDIR/home HOME=$TMPDIR/home LTTNG_UST_REGISTER_TIMEOUT=-1
export TMPDIR LTTNG_HOME HOME LTTNG_UST_REGISTER_TIMEOUT
$as lttng-sessiond --no-kernel --daemonize --pidfile="$TMPDIR/out/pid" >"$TMPDIR/err" 2>&1 || {
    echo "skipped: no session daemon of LTTng: $(head -n 1 "$TMPDIR/err")"
    exit 77
}
pid=$(cat "$TMPDIR/out/pid")

# record NAME PROGRAM EVENTS COUNT OPTION...: a trace of the program; it says how many tracepoints it passed.
record() {
    name=$1 program=$2 events=$3 count=$4
    shift 4
    {
        $as lttng create "$name" --output="$TMPDIR/out/$name"
        $as lttng enable-channel -u "$@" channel
        $as lttng enable-event -u -c channel "$events"
        $as lttng add-context -u -c channel -t vpid -t vtid -t procname
        $as lttng start "$name"
    } >"$TMPDIR/err" 2>&1 || { cat "$TMPDIR/err" && exit 1; }
    $as "$TMPDIR/$program" "$count" >"$TMPDIR/$name.count"
    $as lttng destroy "$name" >"$TMPDIR/err" 2>&1 || { cat "$TMPDIR/err" && exit 1; }
    chmod -R a+rX "$TMPDIR/out/$name"
}

record whole program 'tracesmith_test:*' 60 --subbuf-size=64K --num-subbuf=8
record thapi thapi 'lttng_ust_ze:*,lttng_ust_opencl:*,lttng_ust_cuda:*' 20 --subbuf-size=64K --num-subbuf=8
record lossy program 'tracesmith_test:*' 5000 --discard --subbuf-size=4K --num-subbuf=2
whole=$(dirname "$(find "$TMPDIR/out/whole" -name metadata)")
thapi=$(dirname "$(find "$TMPDIR/out/thapi" -name metadata)")
lossy=$(dirname "$(find "$TMPDIR/out/lossy" -name metadata)")
babeltrace2 convert "$whole" -o ctf -w "$TMPDIR/again" >"$TMPDIR/err" 2>&1 || { cat "$TMPDIR/err" && exit 1; }
again=$(dirname "$(find "$TMPDIR/again" -name metadata)")
python3 "$source/tests/import/check_ctf_lttng.py" "$whole" "$(cat "$TMPDIR/whole.count")" "$again" "$lossy" "$(cat "$TMPDIR/lossy.count")" \
    "$thapi" "$(cat "$TMPDIR/thapi.count")"
