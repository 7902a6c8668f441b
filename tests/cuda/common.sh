# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of the CUDA agent share; sourced. They run against mocks of NVIDIA's driver and of CUPTI, never
# against a GPU: a machine that has one runs tests/gpu.
api=cuda
# shellcheck source=tests/support/agent.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/support/agent.sh"
# shellcheck disable=SC2034 # of those that source this
programs=${TRACESMITH_BUILD_DIR:?}/tests/programs
mocks "$TRACESMITH_BUILD_DIR/tests/cuda/mock"
unset CUDA_INJECTION64_PATH TRACESMITH_CUPTI TRACESMITH_CUDA MOCK_CUPTI MOCK_DEVICES

# Programs that crash or leak do so on purpose here.
[ -z "${TRACESMITH_SANITIZE:-}" ] || export ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_abort=0:verify_asan_link_order=0
