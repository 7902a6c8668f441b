#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# If CUDA work cannot be recorded, the program runs as before, and one line has the obstacle and the remedy.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

# Another tool, injected by the user's own variable: it takes CUPTI for itself, and must be called, first.
cat >"$work/other.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
static void callback(void *context, int domain, unsigned id, const void *data) {
    (void)context, (void)domain, (void)id, (void)data;
}
int InitializeInjection(void);
int InitializeInjection(void) {
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL), *subscriber;
    int (*subscribe)(void **, void (*)(void *, int, unsigned, const void *), void *);
    *(void **)&subscribe = dlsym(library, "cuptiSubscribe");
    fprintf(stderr, "the other tool has %d\n", subscribe(&subscriber, callback, NULL));
    return 1;
}
C
${CC:-cc} -fPIC -shared -o "$work/other.so" "$work/other.c" -ldl

# refused NAME WORDS...: the run prints these words (a pattern), and otherwise behaves as without the profiler.
refused() {
    name=$1
    said=$2
    record "$name" -- "$programs/cu_work" launches=50
    bare=0
    "$programs/cu_work" launches=50 >"$work/bare" 2>"$work/bare.err" || bare=$?
    [ "$status" -eq "$bare" ] || fail "$name: exit status $status, $bare without the profiler"
    sed 's/ pid .*//' "$work/bare" >"$work/bare.counts"
    sed 's/ pid .*//' "$work/$name.out" | cmp -s - "$work/bare.counts" || fail "$name: the program says otherwise"
    lines=$(grep -c 'CUDA work is not recorded' "$work/$name.err") || :
    [ "$lines" -eq 1 ] || fail "$name: $lines lines say it: $(cat "$work/$name.err")"
    grep -Eq "CUDA work is not recorded: .*($said)" "$work/$name.err" || fail "$name: $(cat "$work/$name.err")"
    "$TRACESMITH" info "$work/$name.sbt" 2>&1 | grep -q '^notice .*CUDA work is not recorded' || fail "$name: info"
}

TRACESMITH_CUPTI=$work/none.so
export TRACESMITH_CUPTI
refused missing 'TRACESMITH_CUPTI names no library: .*none.so: .*No such file.*; set it to the path of libcupti'
TRACESMITH_CUPTI=/etc/passwd
refused text 'TRACESMITH_CUPTI names no library: /etc/passwd: .*; set it to the path of libcupti'
TRACESMITH_CUPTI=$mocks/libcuda.so.1
refused wrong 'libcuda.so.1: incomplete, or too old; CUPTI of CUDA 11.0 or newer is needed'
unset TRACESMITH_CUPTI
export MOCK_CUPTI=version=12
refused old 'too old; (.*; )?CUPTI of CUDA 11.0 or newer'
export MOCK_CUPTI=held,exclusive
refused held 'MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED.*held by "an unknown user".*another tool has CUPTI in this process.*keeps it'
export MOCK_CUPTI=held,version=130301
refused held_by 'held by "the mock.s other tool": another tool'
export MOCK_CUPTI=denied=35
refused privileges 'this user may not profile; the administrator can allow it'
export MOCK_CUPTI=denied=43
refused mig 'MIG device cannot be profiled'
export MOCK_CUPTI=denied=41
refused confidential 'CC-devtools'
export MOCK_CUPTI=denied=999
refused unknown 'nvidia-smi'
unset MOCK_CUPTI
export CUDA_INJECTION64_PATH="$work/other.so"
refused chained "held by \"$work/other.so \(injected before TraceSmith\)\".*another tool has CUPTI"
grep -q 'the other tool has 0' "$work/chained.err" || fail "the other tool was not called, or not first"
unset CUDA_INJECTION64_PATH

# If no holder of CUPTI is found, everything that needs no subscriber is recorded.
"$programs/cu_work" launches=400 threads=2 graphs=3 | sed 's/ pid .*//' >"$work/bare.counts"
for how in held held,late,unordered,version=18; do
    MOCK_CUPTI=$how record "alone-$how" -- "$programs/cu_work" launches=400 threads=2 graphs=3
    [ "$status" -eq 0 ] || fail "$how: exit status $status"
    sed 's/ pid .*//' "$work/alone-$how.out" | cmp -s - "$work/bare.counts" || fail "$how: the program says otherwise"
    grep -q 'CUPTI rejects the subscription: .*(39), held by an unknown user; kernels,' "$work/alone-$how.err" ||
        fail "$how: $(cat "$work/alone-$how.err")"
done
# Within cuInit no kind can be enabled: what is launched after the first looks of the agent is recorded.
MOCK_CUPTI=held,early record early -- "$programs/cu_contexts" long
# With --cuda range nothing marks when to record.
options='--cuda range'
export MOCK_CUPTI=held
refused range 'MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED'
options=
unset MOCK_CUPTI
# A program that is linked with libcupti may have callbacks for buffers of its own. (Sanitized mocks cannot be linked to it.)
if [ -z "${TRACESMITH_SANITIZE:-}" ]; then
    printf 'int cuptiGetVersion(unsigned *); int cuInit(unsigned); int main(void) { unsigned v; cuptiGetVersion(&v); return cuInit(0); }\n' >"$work/linked.c"
    ${CC:-cc} -w -o "$work/linked" "$work/linked.c" -L"$mocks" -l:libcupti.so.13 -l:libcuda.so.1
    MOCK_CUPTI=held record linked -- "$work/linked"
    grep -q 'CUDA work is not recorded: .*held by "the program": another tool has CUPTI' "$work/linked.err" || fail "linked: $(cat "$work/linked.err")"
fi
python3 - "$work" <<'PY'
import sys
from trace import Run
for how in "held", "held,late,unordered,version=18":
    run = Run(sys.argv[1], f"alone-{how}")
    truth = run.truth
    kernels = run.of("kernel")
    run.expect(all("duration" in k for k in kernels), "times")
    run.expect(not run.of("object"), "contexts and streams")
    # Each kernel's launch was not seen; the rest of what is missing has no number.
    run.expect(run.lost == {"untraced": 1, "unmatched": len(kernels)}, f"lost {run.lost}")
    run.expect(len(kernels) == truth["launches"] + 5 * truth["graphs"], f"{len(kernels)} kernels of {truth}")
    run.expect(len(run.calls("cuLaunchKernel")) == truth["launches"] and len(run.of("memcpy")) == truth["copies"], "calls and copies")
run = Run(sys.argv[1], "early")
run.expect(len(run.of("kernel")) >= 10000 and set(run.lost) == {"untraced", "unmatched"}, f"{len(run.of('kernel'))} kernels, lost {run.lost}")
PY

# A client of MPS is recorded, and a message states that it shares the GPU; without the daemon there is no message.
mkdir "$work/mps"
export CUDA_MPS_PIPE_DIRECTORY="$work/mps"
record no_mps -- "$programs/cu_work" launches=50
! grep -q MPS "$work/no_mps.err" || fail "no daemon runs: $(cat "$work/no_mps.err")"
mkfifo "$work/mps/control"
record mps -- "$programs/cu_work" launches=50
[ "$status" -eq 0 ] || fail "a client of MPS: $status"
[ "$(grep -c "shares its GPU through MPS ($work/mps)" "$work/mps.err")" -eq 1 ] || fail "a client of MPS: $(cat "$work/mps.err")"
grep -q '50 kernels' "$work/mps.err" || fail "its kernels: $(cat "$work/mps.err")"
unset CUDA_MPS_PIPE_DIRECTORY

# No device, no driver: nothing to record, and nothing of ours is in the way.
export MOCK_CUDA_FAIL=100
record no_device -- "$programs/cu_work"
[ "$status" -eq 4 ] || fail "no device: exit status $status"
unset MOCK_CUDA_FAIL
LD_LIBRARY_PATH=$work
record no_driver -- "$programs/cu_work"
[ "$status" -eq 4 ] || fail "no driver: exit status $status"
