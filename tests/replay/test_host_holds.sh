#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Memory that the host may hold or use meanwhile (tests/programs/cl_host_holds.c), on every driver there is: what comes of it is
# uncomparable by that name and never called diverged, and a replay that compared nothing fails; the twins that follow the rules are exact.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
# shellcheck source=tests/replay/drivers.sh
. "$TRACESMITH_SOURCE_DIR/tests/replay/drivers.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"

# The expected words of the reason.
reason_of() {
    case $1 in
    staging | mapped-kernel) echo "mapped" ;;
    use-host-pointer) echo "CL_MEM_USE_HOST_PTR" ;;
    shared-*) echo "shared memory" ;;
    write-on-its-way) echo "while a write of it was on its way" ;;
    *) fail "no reason is known for $1" ;;
    esac
}

"$programs/cl_host_holds" list >"$work/list"
[ "$(wc -l <"$work/list")" -ge 6 ] || fail "there are fewer than 6 programs"
drivers >"$work/drivers"
lacking= # programs of which nothing could be compared
[ -s "$work/drivers" ] || skip "no driver runs a kernel"
while read -r folder; do
    OCL_ICD_VENDORS=$folder
    export OCL_ICD_VENDORS
    while read -r name; do
        for twin in "" --fixed; do
            code=0
            # shellcheck disable=SC2086 # empty, or one word
            "$programs/cl_host_holds" "$name" $twin >"$work/bare" 2>/dev/null || code=$?
            [ "$code" -ne 77 ] || continue # this device has no such memory
            [ "$code" -eq 0 ] || fail "$folder: $name $twin does not run: $code"
            # shellcheck disable=SC2086
            "$TRACESMITH" profile --capture -o "$work/$name.sbt" -- "$programs/cl_host_holds" "$name" $twin >"$work/out" 2>"$work/err" ||
                fail "$folder: $name $twin: $(cat "$work/err")"
            cmp "$work/bare" "$work/out" || fail "$folder: $name $twin computes something else when it is recorded"
            code=0
            "$TRACESMITH" replay --json "$work/$name.sbt" >"$work/answer.json" 2>"$work/err" || code=$?
            compared "$work/answer.json" && want=0 || want=4
            [ "$code" -eq "$want" ] ||
                fail "$folder: $name $twin: replay gave $code: $(cat "$work/err" "$work/answer.json")"
            if [ "$want" -eq 4 ]; then
                lacking="$lacking $name"
                "$TRACESMITH" replay "$work/$name.sbt" 2>&1 | grep -q "nothing could be compared" || fail "$name: not said"
            fi
            python3 - "$work/answer.json" "$twin" "$(reason_of "$name")" <<'PY' || fail "$folder: $name $twin"
import json, sys
answer = json.load(open(sys.argv[1]))
verdicts, results = answer["verdicts"], answer["results"]
wrong = [r for r in results if r["verdict"] not in ("exact", "uncomparable")]
doubtful = [r for r in results if r["verdict"] == "uncomparable"]
if sys.argv[2]:
    sys.exit(0 if results and len(results) == verdicts["exact"] else json.dumps(results))
sys.exit(0 if not wrong and doubtful and all(sys.argv[3] in r["reason"] for r in doubtful) else json.dumps(results))
PY
            # Only the one that changes the memory of a write too early is a missing order, and it is found.
            [ "$name$twin" = write-on-its-way ] && want=1 || want=0
            code=0
            "$TRACESMITH" replay --hazards "$work/$name.sbt" >"$work/hazards" 2>"$work/err" || code=$?
            [ "$code" -eq "$want" ] || fail "$folder: $name $twin: --hazards gave $code: $(cat "$work/hazards" "$work/err")"
        done
    done <"$work/list"
done <"$work/drivers"
[ -n "$lacking" ] || fail "some result could be compared of every program"
