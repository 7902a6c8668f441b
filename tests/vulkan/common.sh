# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2034 # $work and $here are the caller's, who may read $sanitize
# For the tests of Vulkan: selects the driver lavapipe (Mesa, on the CPU), and skips where it is not. build PROGRAM...: builds
# programs and shaders into $work.
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
skip() {
    echo "skipped: $*"
    exit 77
}
driver=
for file in /usr/share/vulkan/icd.d/lvp_icd*.json /etc/vulkan/icd.d/lvp_icd*.json; do
    [ -f "$file" ] && driver=$file
done
[ -n "$driver" ] || skip "no Vulkan driver for CPUs (Debian: apt install mesa-vulkan-drivers)"
[ -f "$TRACESMITH_BUILD_DIR/lib/tracesmith/libtracesmith-vulkan.so" ] ||
    skip "the agent of Vulkan was not built (Debian: apt install libvulkan-dev)"
command -v glslangValidator >/dev/null || skip "no compiler of shaders (Debian: apt install glslang-tools)"
command -v python3 >/dev/null || skip "no python3 to judge with"
export VK_ICD_FILENAMES="$driver"
# The loader loads the agents into the program: a sanitized agent needs a program of the same sanitizer. The driver leaks.
sanitize=
case ${TRACESMITH_SANITIZE-} in
'') ;;
address*)
    sanitize="-g -fsanitize=$TRACESMITH_SANITIZE"
    export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
    ;;
*) skip "the driver is not built with the sanitizer" ;;
esac
unset VK_INSTANCE_LAYERS VK_LAYER_PATH VK_ADD_LAYER_PATH

# layer NAME [DEFINE...]: the layer VK_LAYER_TESTS_NAME, which makes another device of the driver's (queues_layer.c), in $work/layers.
layer() {
    layer=$1
    shift
    "${CC:-cc}" "$@" -shared -fPIC -fvisibility=hidden -w -o "$work/$layer.so" "$here/queues_layer.c" -lpthread || fail "queues_layer.c"
    mkdir -p "$work/layers"
    cat >"$work/layers/$layer.json" <<JSON
{"file_format_version": "1.2.0", "layer": {"name": "VK_LAYER_TESTS_$layer", "type": "GLOBAL", "library_path": "$work/$layer.so",
 "api_version": "1.3.0", "implementation_version": "1", "description": "of the tests",
 "functions": {"vkNegotiateLoaderLayerInterfaceVersion": "vkNegotiateLoaderLayerInterfaceVersion"}}}
JSON
}

build() {
    for name in "$@"; do
        # shellcheck disable=SC2086 # words
        "${CC:-cc}" -O1 $sanitize -o "$work/$name" "$here/$name.c" -lvulkan -lpthread || fail "$name.c cannot be built"
    done
    for shader in "$here"/*.comp "$here"/*.vert "$here"/*.frag; do
        [ -f "$shader" ] || continue
        name=${shader##*/}
        glslangValidator -V "$shader" -o "$work/$name.spv" >"$work/$name.log" || fail "$name: $(cat "$work/$name.log")"
    done
}
