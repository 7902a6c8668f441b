# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of the CANN agent share; sourced. They run against mocks of libascendcl and MSPTI, never against a device.
api=cann
# shellcheck source=tests/support/agent.sh
. "${TRACESMITH_SOURCE_DIR:?}/tests/support/agent.sh"
# shellcheck disable=SC2034 # of those that source this
programs=${TRACESMITH_BUILD_DIR:?}/tests/programs
mock=$TRACESMITH_BUILD_DIR/tests/cann/mock
mocks "$mock"
unset MOCK_MSPTI
