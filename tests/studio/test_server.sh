#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The server of `tracesmith studio`: check_server.py checks which requests are allowed, check_tiles.py compares tiles
# with SQL, of a recorded trace and of real ones (TRACESMITH_CORPUS); check_samples.py counts samples of CPU time; check_room.py asks for analyses that do not fit into memory. And the
# errors of the command.
set -eu
: "${TRACESMITH:?}"
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../support/traces.sh"
. "$here/needs.sh"
needs_server

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# refused CODE WORD OPTION...: the command ends at once and prints why.
refused() {
    wanted=$1 word=$2
    shift 2
    code=0
    "$TRACESMITH" studio --no-browser "$@" >"$folder/out" 2>"$folder/err" </dev/null || code=$?
    [ "$code" -eq "$wanted" ] || fail "studio $*: exit code $code, not $wanted: $(cat "$folder/err")"
    grep -q -e "$word" "$folder/err" || fail "studio $*: $(cat "$folder/err")"
    [ ! -s "$folder/out" ] || fail "studio $*: it said where it is"
}

python3 "$here/../report/make_awkward.py" "$folder/awkward.json"
refused 3 'cannot be opened' "$folder/nothing"
refused 3 'is a directory' "$folder"
refused 2 'standard input' -
refused 2 'not a port number' --port 70000 "$folder/awkward.json"
refused 4 'not an IPv4 address' --listen example.org "$folder/awkward.json"
refused 3 'not a regular file' /dev/null

trace=$folder/run.sbt
"$TRACESMITH" profile -o "$trace" -- "$TRACESMITH_BUILD_DIR/examples/image_pipeline" >"$folder/out" 2>&1 || fail "$(cat "$folder/out")"
requests=1000
[ -z "${TRACESMITH_SANITIZE:-}" ] || requests=10000
python3 "$here/check_server.py" "$trace" "$folder/awkward.json" "$requests"
python3 "$here/check_tiles.py" "$trace" 40
python3 "$here/make_long.py" "$folder/long.json"
"$TRACESMITH" import --level 1 "$folder/long.json" -o "$folder/long.sbt" >"$folder/out"
python3 "$here/check_tiles.py" "$folder/long.sbt" 40 kept
python3 "$here/check_samples.py" "$folder"
[ -n "${TRACESMITH_SANITIZE:-}" ] || { # which takes more addresses than any limit
    "$TRACESMITH_BUILD_DIR/tests/programs/sbt_many" "$folder/many.sbt" 3000000 3000000
    python3 "$here/check_room.py" "$folder/many.sbt" 6000000
}
[ -n "${TRACESMITH_CORPUS:-}" ] || exit 0
for name in kineto_resnet50_num_workers_0_worker0.1623143089861.pt.trace.json.gz nsysai_h100_2gpu_1s.sqlite; do
    python3 "$here/check_tiles.py" "$TRACESMITH_CORPUS/$name" 40
done
