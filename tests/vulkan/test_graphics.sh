#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A graphics program on Mesa's Vulkan driver for CPUs: passes, dynamic rendering, secondary command buffers, image copies, threads that
# share a queue, several instances and devices, forks, and a device destroyed with work in flight. The program links no loader. What
# is recorded is compared with its own counts of calls and commands and its own timestamps; it prints the same without TraceSmith.
set -eu
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
here=$TRACESMITH_SOURCE_DIR/tests/vulkan
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/vulkan/common.sh
. "$here/common.sh"
build graphics

# record NAME MODE...: alone and profiled alike
record() {
    name=$1
    shift
    status=0
    "$work/graphics" "$work" "$work/alone.log" "$@" >"$work/alone" 2>"$work/alone.err" || status=$?
    recorded=0
    "$TRACESMITH" profile -o "$work/$name.sbt" --api vulkan -- "$work/graphics" "$work" "$work/$name.log" "$@" \
        >"$work/$name.out" 2>"$work/$name.err" || recorded=$?
    [ $status = $recorded ] || fail "$name: exit status $recorded, alone $status: $(cat "$work/$name.err")"
    cmp -s "$work/alone" "$work/$name.out" || fail "$name: the program prints something else: $(cat "$work/$name.out")"
    "$TRACESMITH" view --json "$work/$name.sbt" >"$work/$name.json" || fail "$name: no trace"
}
for mode in "render 12" "dynamic 12" "nested 6" "images 4" "threads 4" "instances 2" "fork 3" "destroyed 4"; do
    # shellcheck disable=SC2086 # words
    record "${mode% *}" $mode
done

# Validation below our layer judges what the layer adds. It says what it finds on the standard output, which `record` compares.
if [ -f /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ]; then
    export VK_INSTANCE_LAYERS=VK_LAYER_TRACESMITH_profile:VK_LAYER_KHRONOS_validation
    for mode in "render 3" "dynamic 3" "nested 2" "images 2" "threads 2"; do
        # shellcheck disable=SC2086 # words
        record "validated_${mode% *}" $mode
    done
    unset VK_INSTANCE_LAYERS
fi

# Other layers in the same chain, above ours. RenderDoc gives the program handles of its own. It writes to the home directory.
for layer in explicit_layer.d/VkLayer_gfxreconstruct implicit_layer.d/renderdoc_capture; do
    if [ -n "$sanitize" ] || [ ! -f "/usr/share/vulkan/$layer.json" ]; then
        continue
    fi
    case $layer in
    explicit*) export VK_INSTANCE_LAYERS=VK_LAYER_LUNARG_gfxreconstruct GFXRECON_CAPTURE_FILE="$work/capture.gfxr" GFXRECON_LOG_LEVEL=fatal ;;
    *) export ENABLE_VULKAN_RENDERDOC_CAPTURE=1 HOME="$work" ;;
    esac
    record "${layer##*/}" render 3
    unset VK_INSTANCE_LAYERS ENABLE_VULKAN_RENDERDOC_CAPTURE
done

# The devices that the loader lists.
"$TRACESMITH" devices --json >"$work/devices.json" || fail "devices"
if command -v vulkaninfo >/dev/null; then
    vulkaninfo --summary 2>/dev/null | sed -n 's/^[[:space:]]*deviceName[[:space:]]*= //p' >"$work/devices"
fi

# Without a driver the program fails as it does alone, and the summary says that nothing was recorded.
VK_ICD_FILENAMES=$work/absent.json
record absent render 1
grep -qi 'vulkan\|no GPU\|nothing' "$work/absent.err" || fail "absent: the summary says nothing: $(cat "$work/absent.err")"

python3 "$here/check_graphics.py" "$work"
