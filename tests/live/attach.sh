# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of `attach` share; sourced. Skips where no program can be attached to.
. "$TRACESMITH_SOURCE_DIR/tests/opencl/common.sh"
[ "$(uname -m)" = x86_64 ] || skip "programs that are not armed can be attached to on x86-64 only"
grep -q '^Seccomp:[[:space:]]*0' /proc/self/status || skip "programs here have a filter of system calls (seccomp), and attach refuses them"
[ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ] ||
    skip "kernel.yama.ptrace_scope lets no program be attached to"
