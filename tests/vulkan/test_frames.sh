#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Captured frames: what a replay computes on lavapipe is what Python computes from the shader's text, a device that computes something
# else diverges, and programs that cannot be captured are refused by name. Programs print what they print alone, and Khronos's
# validation has nothing to say of the recorder or the replay.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
here=$TRACESMITH_SOURCE_DIR/tests/vulkan
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME="$work/state"
# shellcheck source=tests/vulkan/common.sh
. "$here/common.sh"
build compute graphics passes stencils families
shader=$work/step.comp.spv
profile_layers=
validation=/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json
[ -f $validation ] && profile_layers=VK_LAYER_TRACESMITH_profile:VK_LAYER_TRACESMITH_record:VK_LAYER_KHRONOS_validation

# capture NAME RANGE PROGRAM...: the program prints what it prints alone, also with validation below, which writes to standard output.
capture() {
    name=$1 range=$2
    shift 2
    "$@" >"$work/alone" || fail "$name alone: $?"
    VK_INSTANCE_LAYERS=$profile_layers "$TRACESMITH" profile --api vulkan --capture="$range" -o "$work/$name.sbt" -- "$@" \
        >"$work/out" 2>"$work/err" || fail "$name: exit status $?: $(cat "$work/err")"
    cmp -s "$work/alone" "$work/out" || fail "$name prints something else: $(cat "$work/out")"
}
# replay NAME STATUS OPTION...
replay() {
    name=$1 expected=$2 status=0
    shift 2
    VK_INSTANCE_LAYERS=${replay_layers-} "$TRACESMITH" replay --json "$@" "$work/$name.sbt" >"$work/$name.json" 2>"$work/err" ||
        status=$?
    [ $status = "$expected" ] || fail "$name: replay ends with $status: $(cat "$work/$name.json" "$work/err")"
}

# ---- compute: the data of the second execution
capture repeat frames:2+1 "$work/compute" "$shader" "$work/stamps" repeat 4
replay repeat 0 --all --save-results "$work/saved"
python3 - "$work" <<'PYTHON' || fail "the replay of compute"
import array, glob, json, sys

work, ITEMS, MASK = sys.argv[1], 4096, 0xFFFFFFFF


def step(value, index):
    value = value + index & MASK
    for _ in range(200):
        value = value * 1664525 + 1013904223 & MASK
    return value


# The shader by itself: one execution fills the second half and runs it twice; the first half is kept.
data = [0] * ITEMS
for execution in range(2):
    data[ITEMS // 2:] = [7] * (ITEMS // 2)
    for _ in range(2):
        data = [step(value, index) for index, value in enumerate(data)]
expected = array.array("I", data).tobytes()
with open(f"{work}/repeat.json", encoding="utf-8") as file:
    answer = json.load(file)
assert [r["verdict"] for r in answer["results"]] == ["exact", "exact"], answer
assert answer["recording"]["commands"] == 1, answer
saved = glob.glob(f"{work}/saved/*.replayed.u8")
assert len(saved) == 2, saved
for path in saved:
    with open(path, "rb") as file:
        assert file.read() == expected, path
PYTHON

# By the number of the frame in the trace: the second has the submission, the third was not captured.
replay repeat 0 --range frame:2
replay repeat 4 --range frame:3
grep -q 'no recorded command' "$work/err" || fail "frame 3: $(cat "$work/err")"

# ---- every way to record and to submit
for mode in flight again secondary simultaneous pools threads; do
    capture "$mode" frames:1+2 "$work/compute" "$shader" "$work/stamps" $mode 4
    replay "$mode" 0
done
for mode in "render 3" "dynamic 3" "nested 2" "images 2" "instances 2"; do
    # shellcheck disable=SC2086 # words
    capture "${mode% *}" frames:1+1 "$work/graphics" "$work" "$work/log" $mode
    replay "${mode% *}" 0
done
# replay_last NAME: all is exact, and the buffer that the frame ends with is the program's own, by the hash that it prints.
replay_last() {
    replay "$1" 0 --all --save-results "$work/$1.saved"
    python3 - "$work/$1" "$work/alone" <<'PYTHON' || fail "the result of $1"
import array, glob, json, sys

base, alone = sys.argv[1:]
with open(f"{base}.json", encoding="utf-8") as file:
    results = json.load(file)["results"]
assert results and {r["verdict"] for r in results} == {"exact"}, results
hashes = set()
for path in glob.glob(f"{base}.saved/*.replayed.u8"):
    words = array.array("I")
    with open(path, "rb") as file:
        words.frombytes(file.read())
    value = 14695981039346656037
    for word in words:
        value = (value ^ word) * 1099511628211 & 0xFFFFFFFFFFFFFFFF
    hashes.add(f"{value:016x}")
with open(alone, encoding="utf-8") as file:
    assert file.read().strip() in hashes, hashes
PYTHON
}
# Passes with several samples, events, parts of a buffer, and descriptors of several bindings.
for mode in resolve dynamic kept command events2 atlas bindings newer counted; do
    capture "passes_$mode" frames:2+1 "$work/passes" "$work" $mode
    replay_last "passes_$mode"
done
# Images with both depth and stencil, with one layout or two.
for mode in "24 joined" "32 separate"; do
    name=stencils_${mode#* } status=0
    # shellcheck disable=SC2086 # words
    "$work/stencils" $mode >"$work/out" 2>&1 || status=$?
    [ $status != 77 ] || continue
    # shellcheck disable=SC2086 # words
    capture "$name" frames:2+1 "$work/stencils" $mode
    replay_last "$name"
    stencils="${stencils-} $name"
done
"$TRACESMITH" view --frame 2 --frames wait "$work/passes_resolve.sbt" >"$work/out" || fail "no state"
"$TRACESMITH" view --json --frame 2 --frames wait "$work/passes_newer.sbt" >"$work/newer.json" || fail "no state of newer"
python3 -c 'import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    found = sorted((d["binding"], d["element"], d.get("bytes", 4096)) for d in json.load(file)["descriptors"])
sys.exit(0 if found == [(0, 0, 4096), (0, 1, 2048), (3, 0, 2048)] else str(found))' "$work/newer.json" || fail "descriptors of newer"
grep -q 'image, 32x32x1, 4 samples, R8G8B8A8_UNORM' "$work/out" || fail "an image with samples: $(cat "$work/out")"
# refused MODE WHY: such a frame is given up, and nothing that was captured before it is wrong.
refused() {
    capture "$1" frames:2+1 "$work/passes" "$work" "$1"
    status=0
    "$TRACESMITH" replay "$work/$1.sbt" >"$work/out" 2>&1 || status=$?
    grep -q "not replayed: vk[A-Za-z]* .*$2" "$work/out" || fail "$1: $(cat "$work/out")"
    ! grep -q ': 0 commands' "$work/out" || grep -q "cannot be captured: vk[A-Za-z]*: .*$2" "$work/err" ||
        fail "$1: profile does not say why there is nothing to replay: $(cat "$work/err")"
    [ $status = 0 ] || [ $status = 4 ] || fail "$1: exit status $status: $(cat "$work/out")"
}
refused host 'vkCmdWaitEvents for the host'
refused late 'vkCmdWaitEvents for the host'
refused blocks 'a compressed image'
refused address 'a buffer with a device address'
refused again 'the content of an image cannot be copied'
refused used 'the content of an image cannot be copied'
# Every frame of a program.
capture whole frames-every:1 "$work/compute" "$shader" "$work/stamps" repeat 3
replay whole 0
if [ -n "$profile_layers" ]; then
    replay_layers=VK_LAYER_KHRONOS_validation
    # shellcheck disable=SC2086 # words
    for name in repeat secondary render nested dynamic images passes_counted ${stencils-}; do
        replay "$name" 0
        ! grep -q 'VUID' "$work/$name.json" "$work/err" || fail "validation of the replay of $name: $(cat "$work/err" "$work/$name.json")"
    done
    unset replay_layers
fi

# ---- a device that leaves out work-groups, and devices with a second queue, also of another family (simulated)
layer queues
layer faulty -DFAULTY
layer families -DFAMILIES
layer refuses -DFAMILIES -DREFUSES
layer stalls -DFAMILIES -DREFUSES -DSTALLS
agents=$TRACESMITH_BUILD_DIR/lib/tracesmith
export VK_ADD_LAYER_PATH="$agents/vulkan:$agents/vulkan_record:$work/layers"
replay_layers=VK_LAYER_TESTS_faulty
replay repeat 1
unset replay_layers
python3 - "$work/repeat.json" <<'PYTHON' || fail "the faulty device"
import json, sys

with open(sys.argv[1], encoding="utf-8") as file:
    results = json.load(file)["results"]
assert [r["verdict"] for r in results] == ["diverged"] * 2, results
# The last of 64 groups of 64 words.
assert all(r["offset"] == 63 * 64 * 4 for r in results), results
PYTHON
recording_layers=VK_LAYER_TRACESMITH_profile:VK_LAYER_TRACESMITH_record
VK_INSTANCE_LAYERS=$recording_layers:VK_LAYER_TESTS_queues "$TRACESMITH" profile --api vulkan \
    --capture=frames-every:1 -o "$work/queues.sbt" -- "$work/compute" "$shader" "$work/stamps" queues 4 >"$work/out" 2>"$work/err" ||
    fail "queues: $(cat "$work/err")"
replay queues 0
grep -q '"exact"' "$work/queues.json" || fail "queues: $(cat "$work/queues.json")"

# Resources that change their queue family, in every order in which submissions may wait for each other. If validation is there, it is
# between the recorder and the layer that makes the families: VK_LAYER_PATH has the order.
[ -z "$profile_layers" ] || recording_layers=$profile_layers
export VK_LAYER_PATH="$agents/vulkan:$agents/vulkan_record:/usr/share/vulkan/explicit_layer.d:$work/layers"
for mode in binary mixed push template timeline host early carried event; do
    frames=3 range=frames:2+1 alone=$mode options=
    # Lavapipe gives times when it is idle, and in this mode it is not before the host signals.
    [ $mode != event ] || options="--agent-option vulkan.program-only"
    # Without the recorder the one queue of the driver would wait for itself.
    case $mode in early | mixed) frames=1 range=frames:1+1 alone=binary ;; esac
    VK_INSTANCE_LAYERS=VK_LAYER_TESTS_families timeout 60 "$work/families" "$shader" $alone $frames >"$work/alone" || fail "$mode alone: $?"
    # shellcheck disable=SC2086 # words
    VK_INSTANCE_LAYERS=$recording_layers:VK_LAYER_TESTS_families timeout 120 "$TRACESMITH" profile --api vulkan --capture=$range $options \
        -o "$work/$mode.sbt" -- "$work/families" "$shader" $mode $frames >"$work/out" 2>"$work/err" || fail "$mode: exit status $?: $(cat "$work/err")"
    cmp -s "$work/alone" "$work/out" || fail "$mode prints something else: $(cat "$work/out" "$work/err")"
    replay_layers=${profile_layers:+VK_LAYER_KHRONOS_validation}
    replay $mode 0 --all --save-results "$work/$mode.saved"
    unset replay_layers
    ! grep -q 'VUID' "$work/$mode.json" "$work/err" || fail "validation of the replay of $mode: $(cat "$work/err" "$work/$mode.json")"
    commands=3
    [ $mode != carried ] || commands=4
    python3 - "$work/$mode" $((frames == 1 ? 1 : 2)) $commands <<'PYTHON' || fail "the replay of $mode"
import array, glob, json, sys

base, frame, commands = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ITEMS, PIXELS, MASK = 4096, 256, 0xFFFFFFFF


def step(value, index):
    value = value + index & MASK
    for _ in range(200):
        value = value * 1664525 + 1013904223 & MASK
    return value


once = [step(frame, index) for index in range(ITEMS)]
twice = [step(value, index) for index, value in enumerate(once)]
copied = array.array("I", once).tobytes() + bytes([frame, 2, 3, 4]) * PIXELS
with open(f"{base}.json", encoding="utf-8") as file:
    answer = json.load(file)
assert answer["results"] and {r["verdict"] for r in answer["results"]} == {"exact"}, answer
assert answer["recording"]["commands"] == answer["recording"]["submissions"] == commands, answer
saved = set()
for path in glob.glob(f"{base}.saved/*.replayed.u8"):
    with open(path, "rb") as file:
        saved.add(file.read())
# The image and the copies; the data when it is acquired again: between queue families nothing may read it.
assert saved == {bytes([frame, 2, 3, 4]) * PIXELS, copied, array.array("I", twice).tobytes()}, len(saved)
PYTHON
done
# The driver refuses a submission that was held back, and completes nothing after that: the program's next calls say that the device is
# lost, and none waits in the driver.
VK_INSTANCE_LAYERS=VK_LAYER_TRACESMITH_profile:VK_LAYER_TRACESMITH_record:VK_LAYER_TESTS_refuses timeout 120 "$TRACESMITH" profile \
    --api vulkan --capture=frames:1+1 -o "$work/refused.sbt" -- "$work/families" "$shader" refused 1 >"$work/out" 2>"$work/err" ||
    fail "refused: exit status $?: $(cat "$work/out" "$work/err")"
[ "$(cat "$work/out")" = "-4 -4 -4 -4 -4 -4 -4" ] || fail "a refused submission: $(cat "$work/out")"
"$TRACESMITH" replay "$work/refused.sbt" >"$work/out" 2>&1 || :
grep -q 'the driver refused a submission that was held back' "$work/out" || fail "refused: $(cat "$work/out")"
# The same while other threads wait in the driver for what never comes.
VK_INSTANCE_LAYERS=VK_LAYER_TRACESMITH_profile:VK_LAYER_TRACESMITH_record:VK_LAYER_TESTS_stalls timeout 120 "$TRACESMITH" profile \
    --api vulkan --capture=frames:1+1 -o "$work/waiting.sbt" -- "$work/families" "$shader" waiting 1 >"$work/out" 2>"$work/err" ||
    fail "waiting: exit status $?: $(cat "$work/out" "$work/err")"
[ "$(cat "$work/out")" = "$(printf '%s\n%s' -4 -4)" ] || fail "waits of a lost device: $(cat "$work/out")"
unset VK_LAYER_PATH
# The order of commands is examined for OpenCL only; "nothing to check" would be an answer.
for option in --hazards "--permute 2" "--contents 0" "--emit-c $work/emitted"; do
    status=0
    # shellcheck disable=SC2086 # words
    "$TRACESMITH" replay "$work/queues.sbt" $option >"$work/order" 2>&1 || status=$?
    [ $status -gt 1 ] || fail "$option of Vulkan: exit status $status: $(cat "$work/order")"
    grep -q 'frames of Vulkan' "$work/order" || fail "$option of Vulkan: $(cat "$work/order")"
done
