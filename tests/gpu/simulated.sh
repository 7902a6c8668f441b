# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# A folder as pack.sh makes it, with real CUDA programs of nvcc, and a machine for it whose driver, runtime and CUPTI are the mocks;
# sourced by the tests that run run.sh there. $work/pack is the folder, $work/cuda/lib64 has the mocks.
# shellcheck disable=SC2034,SC2154 # what is set is used by those tests; `here` is theirs
: "${TRACESMITH:?}" "${TRACESMITH_BUILD_DIR:?}" "${TRACESMITH_SOURCE_DIR:?}"
skip() {
    echo "skipped: $*"
    exit 77
}
[ -z "${TRACESMITH_SANITIZE:-}" ] || skip "nvcc does not build sanitized programs"
real=
for place in ${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda /usr/local/cuda-13*; do
    [ -n "$real" ] || [ ! -x "$place/bin/nvcc" ] || real=$place
done
[ -n "$real" ] || skip "nvcc of CUDA 13 is not installed"
mocks=$TRACESMITH_BUILD_DIR/tests/cuda/mock
# No limit but that of the program that hangs decides anything here, and each cost is measured once.
export TRACESMITH_GPU_PATIENCE=20 TRACESMITH_GPU_ROUNDS=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "FAILED: $*"
    cat "$work/out"
    exit 1
}

# A toolkit whose runtime and CUPTI are the mocks; programs are linked with NVIDIA's runtime. Results are not looked at:
# nothing computes.
mkdir -p "$work/cuda/bin" "$work/cuda/lib64" "$work/pack/programs"
printf '#!/bin/sh\nexec %s/bin/nvcc "-DEXPECT(right)=(void)(right)" "$@"\n' "$real" >"$work/cuda/bin/nvcc"
chmod +x "$work/cuda/bin/nvcc"
ln -s "$real/include" "$work/cuda/include"
ln -s "$real/lib64/stubs" "$work/cuda/lib64/stubs"
ln -s "$real/lib64/libcudart.so" "$work/cuda/lib64/libcudart.so"
for library in libcudart.so.13 libcupti.so.13 libcuda.so.1; do ln -s "$mocks/$library" "$work/cuda/lib64/"; done
"${CC:-cc}" -w -shared -fPIC -I "$TRACESMITH_SOURCE_DIR/agents/nvml" -o "$work/cuda/lib64/libnvidia-ml.so.1" \
    "$TRACESMITH_SOURCE_DIR/tests/nvml/mock_nvml.c"
# A folder as pack.sh makes it, but for the runtime, which is a mock. Not graph and others: they need more than the mocks
# have. NVRTC asks the driver for more, too.
programs="vector_add matrix streams children nvtx events"
CUDART=shared ONLY="gpu_info launches killed cupti_only clock replay_probe driver_launches pm_sampling $programs" "$here/build_programs.sh" "$work/pack/programs" "$work/cuda"
cp "$here"/programs/*.py "$work/pack/programs/"
[ -x "$work/pack/programs/gpu_info" ] || skip "nvcc does not work here: $(head -n 2 "$work/pack/programs/logs/gpu_info.log")"
# What the pack brings is not a CUPTI at all: the machine's is taken then.
mkdir "$work/pack/cupti"
cp "$work/cuda/lib64/libnvidia-ml.so.1" "$work/pack/cupti/libcupti.so.12"
unset CUDA_INJECTION64_PATH TRACESMITH_SESSION TRACESMITH_CUPTI MOCK_CUPTI MOCK_DEVICES LD_PRELOAD
