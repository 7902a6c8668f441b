# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of the ROCm agent share; sourced. They run against mocks of HIP and of rocprofiler-sdk, never against a GPU.
api=rocm
# shellcheck source=tests/support/agent.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/support/agent.sh"
# shellcheck disable=SC2034 # of those that source this
program=${TRACESMITH_BUILD_DIR:?}/tests/programs/hip_work
mocks "$TRACESMITH_BUILD_DIR/tests/rocm/mock"
unset ROCP_TOOL_LIBRARIES MOCK_ROCM MOCK_KERNEL_NS

[ -z "${TRACESMITH_SANITIZE:-}" ] || export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
