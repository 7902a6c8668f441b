#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A compute program on Mesa's Vulkan driver for CPUs, really: what is recorded against the program's own counts and timestamps, in
# every way to submit and to wait. Its results are bit for bit the same without TraceSmith, and Khronos's validation has nothing
# to say of what the layer adds.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
here=$TRACESMITH_SOURCE_DIR/tests/vulkan
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/vulkan/common.sh
. "$here/common.sh"
build compute
shader=$work/step.comp.spv

# record NAME OPTION... -- MODE...: alone and profiled alike
record() {
    name=$1 options=
    shift
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    shift
    "$work/compute" "$shader" "$work/alone.stamps" "$@" >"$work/alone" || fail "$name alone: $?"
    # shellcheck disable=SC2086 # words
    "$TRACESMITH" profile -o "$work/$name.sbt" $options -- "$work/compute" "$shader" "$work/$name.stamps" "$@" \
        >"$work/$name.out" 2>"$work/$name.err" || fail "$name: exit status $?: $(cat "$work/$name.err")"
    cmp -s "$work/alone" "$work/$name.out" || fail "$name: the program prints something else: $(cat "$work/$name.out")"
    "$TRACESMITH" view --json "$work/$name.sbt" >"$work/$name.json" || fail "$name: no trace"
}

record repeat -- repeat 20
record flight --api vulkan -- flight 20
record sums --api vulkan --aggregate 50ms -- flight 20
ln -s flight.sbt "$work/events.sbt"
python3 "$TRACESMITH_SOURCE_DIR/tests/support/check_sums.py" "$work"
record again --api vulkan --stacks -- again 20
record secondary --api vulkan -- secondary 5
record simultaneous --api vulkan -- simultaneous 5
record threads --api vulkan -- threads 5
record pools --api vulkan -- pools 6
record exits --api vulkan -- exits 3
record only --api vulkan --agent-option vulkan.program-only -- repeat 5
# As on GPUs: results read by the host, and, of drivers without calibrated timestamps, an inferred clock.
record host --api vulkan --agent-option vulkan.host-reads -- flight 20
record host_again --api vulkan --agent-option vulkan.host-reads -- again 20
record inferred --api vulkan --agent-option vulkan.inferred-clock -- repeat 20
record few --api vulkan --agent-option vulkan.queries=64 -- flight 20

mkfifo "$work/said"
# shellcheck disable=SC2016 # the inner shell expands it
"$TRACESMITH" profile -o "$work/killed.sbt" --api vulkan -- sh -c \
    '"$0" "$1" "$2" forever >"$3" & { read -r line && read -r line; } <"$3" && kill -KILL $! && { wait $! || :; }' \
    "$work/compute" "$shader" "$work/killed.stamps" "$work/said" >"$work/killed.err" 2>&1 ||
    fail "killed: $(cat "$work/killed.err")"
"$TRACESMITH" view --json "$work/killed.sbt" >"$work/killed.json" || fail "killed: no trace"

# Validation below our layer judges what the layer adds. It says what it finds on the standard output, which `record` compares.
validation=$(cat /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json 2>/dev/null || :)
if [ -n "$validation" ]; then
    export VK_INSTANCE_LAYERS=VK_LAYER_TRACESMITH_profile:VK_LAYER_KHRONOS_validation
    for mode in "repeat 5" "flight 5" "again 5" "secondary 5" "pools 4" "simultaneous 3"; do
        # shellcheck disable=SC2086 # words
        record "validated_${mode% *}" --api vulkan -- $mode
    done
    record validated_host --api vulkan --agent-option vulkan.host-reads -- flight 5
    VK_LOADER_DEBUG=layer record seen --api vulkan -- repeat 1
    grep -q 'VK_LAYER_KHRONOS_validation' "$work/seen.err" || fail "validation was not there"
    unset VK_INSTANCE_LAYERS
fi

# Without the session, without the agent's library, and without Vulkan, a program is as it was.
VK_ADD_LAYER_PATH=$TRACESMITH_BUILD_DIR/lib/tracesmith/vulkan VK_INSTANCE_LAYERS=VK_LAYER_TRACESMITH_profile \
    "$work/compute" "$shader" "$work/idle.stamps" repeat 5 >"$work/idle" || fail "without a session: $?"
cmp -s "$work/idle" "$work/only.out" || fail "without a session the program prints something else"
"$TRACESMITH" profile -o "$work/none.sbt" --api vulkan -- true 2>"$work/none.err" || fail "a program without Vulkan"
"$TRACESMITH" view --json "$work/none.sbt" >"$work/none.json" || fail "none: no trace"

python3 "$here/check_compute.py" "$work"
