#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# replay --sandbox: a driver layer that reaches out (reaching_layer.c) can do all of it without a sandbox and nothing
# of it within one, and the answer lists the refused operations; the verdicts are the same in and out of it, on every
# installed driver; and the answer lists what the kernel cannot restrict. The notice without --sandbox is given once
# per user.
set -eu
: "${TRACESMITH_SOURCE_DIR:?}"
# shellcheck source=tests/opencl/common.sh
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
# shellcheck source=tests/replay/drivers.sh
. "$TRACESMITH_SOURCE_DIR/tests/replay/drivers.sh"
[ -f "$agents/libtracesmith-opencl-record.so" ] || skip "the OpenCL recorder is not built"
[ -z "$sanitize" ] || skip "sanitizers need what a sandbox refuses"
# Private directories are made here, and without a sandbox the layer writes here.
export TMPDIR="$work/tmp"
mkdir "$TMPDIR"
layer=$work/reaching.so
"${CC:-cc}" -shared -fPIC -o "$layer" "$TRACESMITH_SOURCE_DIR/tests/replay/reaching_layer.c" 2>"$work/cc" ||
    skip "no OpenCL layer headers: $(head -1 "$work/cc")"
"${CC:-cc}" -o "$work/without" "$TRACESMITH_SOURCE_DIR/tests/replay/without.c"
"$work/without" -- /bin/true || skip "this kernel filters no system calls"

# The folder that is reached for, as it is before.
fill() {
    rm -rf "$work/reach"
    mkdir "$work/reach"
    echo kept >"$work/reach/kept"
    chmod 600 "$work/reach/kept"
    echo removed >"$work/reach/removed"
    echo renamed >"$work/reach/renamed"
}
# What the folder has: names, modes, contents.
state() { (cd "$work/reach" && find . -printf "%p %m %y %l\n" | sort && { cat kept removed renamed 2>/dev/null || :; }); }

# reach COMMAND...: replays with the layer; the layer's output is in `said`.
reach() {
    fill
    code=0
    REACH=$work/reach OPENCL_LAYERS=$layer "$@" >"$work/answer" 2>"$work/err" || code=$?
    [ "$code" -eq 0 ] || fail "$* gave $code: $(cat "$work/answer" "$work/err")"
    grep -E '^[a-z-]+ (yes|E[A-Z]+)$' "$work/err" >"$work/said" || fail "the layer was not asked: $(cat "$work/err")"
}
is() {
    grep -qx "$1 $2" "$work/said" || fail "$1 is not $2: $(cat "$work/said")"
}
needed="private null memory-file process own-signal read"
reached="write truncate-open truncate remove folder rename link symlink mode mode-of-open"
network="internet local-socket socket-pair"

"$TRACESMITH" profile --capture -o "$work/run.sbt" -- "$programs/cl_ranges" >/dev/null 2>"$work/err" || fail "$(cat "$work/err")"
reach "$TRACESMITH" replay --json "$work/run.sbt"
for name in $needed $reached $network signal; do
    is "$name" yes # else it would show nothing that it is refused
done
before=$(fill && state)
reach "$TRACESMITH" replay --sandbox --json "$work/run.sbt"
for name in $needed; do
    is "$name" yes
done
for name in $reached $network signal; do
    grep -qE "^$name E(ACCES|PERM)\$" "$work/said" || fail "$name is not refused: $(cat "$work/said")"
done
[ "$(state)" = "$before" ] || fail "the sandboxed replay changed files: $(state)"
python3 - "$work/answer" "$work/reach" <<'PY' || fail "the answer does not say what was refused"
import json, sys
box = json.load(open(sys.argv[1]))["sandbox"]
refused = {r["what"]: r["times"] for r in box["refused"]}
assert not box["unrestricted"] and "network" in box["restricted"], box
for what in ("a socket of AF_INET", "a socket of AF_UNIX", "a pair of sockets of AF_UNIX",
             "to open %s/written for writing" % sys.argv[2], "to open %s/kept for writing" % sys.argv[2]):
    assert refused.pop(what, 0) == 1, (what, box)
assert not refused, box
PY
reach "$TRACESMITH" replay --sandbox "$work/run.sbt"
grep -q "^sandbox restricts: network" "$work/answer" || fail "$(cat "$work/answer")"
grep -q "^sandbox refused a socket of AF_INET (once)" "$work/answer" || fail "$(cat "$work/answer")"

# A kernel that lacks something. Without Landlock the file systems are read-only in a mount namespace, where one can be had.
reach "$work/without" landlock -- "$TRACESMITH" replay --sandbox --json "$work/run.sbt"
if grep -q '"restricted":[^]]*"files outside' "$work/answer"; then
    [ "$(state)" = "$before" ] || fail "without Landlock, files are changed: $(state)"
else
    echo "left out: no mount namespace can be had here"
fi
reach "$work/without" landlock mounts -- "$TRACESMITH" replay --sandbox "$work/run.sbt"
grep -q "^sandbox could not restrict: files outside its private directory, truncation of files" "$work/answer" ||
    fail "not said that files are not restricted: $(cat "$work/answer")"
is internet EACCES
reach "$work/without" seccomp -- "$TRACESMITH" replay --sandbox "$work/run.sbt"
grep -q "^sandbox could not restrict: network" "$work/answer" || fail "not said that the network is not: $(cat "$work/answer")"
[ "$(grep -cE '^(write|truncate|remove|folder|rename) E' "$work/said")" -eq 5 ] || fail "$(cat "$work/said")"
code=0
"$work/without" landlock mounts seccomp -- "$TRACESMITH" replay --sandbox "$work/run.sbt" >"$work/answer" 2>&1 || code=$?
[ "$code" -eq 4 ] || fail "a sandbox that restricts nothing gives $code: $(cat "$work/answer")"
grep -q "can restrict nothing" "$work/answer" || fail "$(cat "$work/answer")"

# The same verdicts, and nothing refused that a driver wants.
drivers >"$work/drivers"
while read -r folder; do
    OCL_ICD_VENDORS=$folder "$TRACESMITH" profile --capture -o "$work/run.sbt" -- "$programs/cl_host_holds" mapped-kernel --fixed \
        >/dev/null 2>"$work/err" || fail "$folder: $(cat "$work/err")"
    for how in "" --sandbox; do
        # shellcheck disable=SC2086 # empty, or one word
        OCL_ICD_VENDORS=$folder "$TRACESMITH" replay --json $how "$work/run.sbt" >"$work/answer$how" 2>"$work/err" ||
            fail "$folder: replay $how: $(cat "$work/err" "$work/answer$how")"
    done
    python3 - "$work/answer" "$work/answer--sandbox" <<'PY' || fail "$folder: other verdicts in the sandbox"
import json, sys
out, within = (json.load(open(path)) for path in sys.argv[1:])
box = within.pop("sandbox")
assert out == within and out["verdicts"]["exact"] == len(out["results"]) > 0, within
assert not box["unrestricted"] and not box["refused"], box
PY
done <"$work/drivers"

# What would be written for the caller is refused, not left out; a verdict's exit code comes out of the sandbox.
for option in "--save-results $work/results" "--save-source a=$work/a.cl"; do
    code=0
    # shellcheck disable=SC2086 # an option and its value
    "$TRACESMITH" replay --sandbox $option "$work/run.sbt" 2>"$work/err" || code=$?
    [ "$code" -eq 2 ] || fail "--sandbox $option gives $code"
done
code=0
"$TRACESMITH" replay --sandbox "$work/none.sbt" 2>"$work/err" || code=$?
[ "$code" -eq 3 ] || fail "a missing file gives $code in the sandbox"
[ -z "$(find "$TMPDIR" -maxdepth 1 -name 'tracesmith-sandbox-*' -newer "$work/cc")" ] || fail "a private directory is left"

# The notice: once, and never with --json or --sandbox, nor where nothing is run.
mkdir "$work/state"
XDG_STATE_HOME=$work/state
export XDG_STATE_HOME
notices() { "$TRACESMITH" replay "$@" "$work/run.sbt" 2>&1 >"$work/answer" | grep -c "native code" || true; }
for quiet in --json --sandbox --hazards "--mode dry-run"; do
    # shellcheck disable=SC2086 # an option, and maybe its value
    [ "$(notices $quiet)" -eq 0 ] || fail "a notice with $quiet"
done
[ "$(notices)" -eq 1 ] || fail "no notice the first time"
[ "$(notices)" -eq 0 ] || fail "the notice a second time"
[ "$(find "$work/state" -type f -perm 600 | wc -l)" -eq 1 ] || fail "$(find "$work/state" -ls)"
# A state that cannot be kept safely is not used, and the notice given each time.
rm -r "$work/state/tracesmith"
mkdir "$work/elsewhere"
ln -s "$work/elsewhere" "$work/state/tracesmith"
[ "$(notices)" -eq 1 ] || fail "no notice with a state that is a link"
[ "$(notices)" -eq 1 ] || fail "a link is followed for the state"
[ -z "$(ls -A "$work/elsewhere")" ] || fail "something was written through a link"
