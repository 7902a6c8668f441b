#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All that a CANN program does is in its trace or counted, over mocks of libascendcl and MSPTI: in any order of records, on any thread
# that returns buffers, with longer records, kinds that are not known, records that were dropped or cannot be read, and with an MSPTI
# that lacks newer kinds and functions. Without MSPTI a program is unharmed, and the command says what is missing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

run() {
    name=$1
    shift
    record "$name" -- "$programs/acl_work" "$@"
    [ "$status" -eq 0 ] || fail "$name: exit status $status: $(cat "$work/$name.err")"
}
run plain launches=1000
run threads launches=500 threads=4
for how in unordered threads small larger strange torn hccl zero=7 drop=10 small,threads,unordered,larger; do
    MOCK_MSPTI=$how run "how-$how" launches=500 threads=3
done
MOCK_MSPTI=held run held launches=10
options=--stacks run stacks launches=2000
options='--aggregate 50ms' run sums launches=500 threads=4
ln -s threads.sbt "$work/events.sbt"
python3 "$TRACESMITH_SOURCE_DIR/tests/support/check_sums.py" "$work" kernel memcpy memset
run fed feed=100000
record children -- sh -c "'$programs/acl_work' launches=10 && '$programs/acl_work' launches=20"
LD_LIBRARY_PATH=$TRACESMITH_BUILD_DIR/tests/cann/mock-older:$LD_LIBRARY_PATH run older launches=100

# A program that opens the runtime itself gets no error of what the agent looked for in vain: here the name by which a mock is known,
# which no MSPTI of a toolkit has.
mkdir "$work/unnamed"
ln -s "$mock/libascendcl.so" "$work/unnamed/libascendcl.so"
sed 's/tracesmith_simulated/xracesmith_simulated/g' "$mock/libmspti.so" >"$work/unnamed/libmspti.so"
cat >"$work/opens.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
    const void *runtime = dlopen("libascendcl.so", RTLD_NOW);
    const char *error = dlerror();
    printf("%s\n", error ? error : "no error");
    return runtime && !error ? 0 : 1;
}
C
${CC:-cc} -o "$work/opens" "$work/opens.c" -ldl
usual=$LD_LIBRARY_PATH
LD_LIBRARY_PATH=$work/unnamed record opens -- "$work/opens"
LD_LIBRARY_PATH=$usual
[ "$status" -eq 0 ] || fail "opens: $(cat "$work/opens.out")"

# Without MSPTI; and a program that is none of CANN's.
mkdir "$work/runtime"
ln -s "$mock/libascendcl.so" "$work/runtime/libascendcl.so"
LD_LIBRARY_PATH=$work/runtime run absent launches=10
grep -q 'CANN programs are not recorded: libmspti.so was not found' "$work/absent.err" || fail "absent: $(cat "$work/absent.err")"
LD_LIBRARY_PATH=$usual
record none -- sh -c 'echo unharmed; exit 7'
if [ "$status" -ne 7 ] || [ "$(cat "$work/none.out")" != unharmed ]; then
    fail "none: exit status $status: $(cat "$work/none.err")"
fi

python3 - "$work" <<'PY'
import sys
from collections import Counter

from agent_run import AgentRun


class Run(AgentRun):
    def __init__(self, name):
        super().__init__(sys.argv[1], name)
        words = self.printed.split()
        self.truth = {words[i]: int(words[i + 1]) for i in range(0, len(words) - 1, 2)}

    def named(self, kind, name):
        return [event for event in self.of(kind) if event.get("name") == name]

    def check_kernels(self):
        names = Counter(kernel["name"] for kernel in self.of("kernel"))
        first = self.truth["first"]
        self.expect((names["first"], names["second"]) == (first, self.truth["launches"] - first), f"{names}")
        for kernel in self.of("kernel"):
            self.expect("duration" not in kernel or kernel["duration"] == (1600 if kernel["name"] == "first" else 800), f"{kernel}")
            self.expect(kernel.get("category") == ("KERNEL_AIVEC" if "duration" in kernel else None), f"{kernel}")
        self.check_simulated_by("MSPTI", self.of("kernel"))

    def check_calls(self, later=False):
        """Each kernel has the id of its two calls, on the thread that made them, and began after them."""
        calls = {}
        for call in self.of("api"):
            calls.setdefault(call["correlation"], []).append(call)
        for kernel in self.of("kernel"):
            own = calls[kernel["correlation"]]
            self.expect(sorted((c["name"], c["category"]) for c in own) == [("aclrtLaunchKernel", "acl"), ("rtKernelLaunch", "runtime")], f"{own}")
            self.expect(len({c["track"] for c in own}) == 1, f"{own}")
            # A call that is in a later buffer than its kernel is not known yet.
            self.expect(kernel.get("host_track") == own[0]["track"] or (later and "host_track" not in kernel), f"{kernel}, {own}")
            self.expect("duration" not in kernel or kernel["start"] >= min(c["start"] for c in own) - 1000, f"{kernel} before {own}")

    def check_rest(self, collective=True, rare=True):
        copies = sorted((c["direction"], c["bytes"], c["duration"]) for c in self.of("memcpy"))
        self.expect(copies == [("d2h", 4096, 4096), ("h2d", 4096, 4096)], f"{copies}")
        (fill,) = self.of("memset")
        self.expect((fill["bytes"], fill["args"]["value"], self.tracks[fill["track"]]["queue"]) == (100, 42, 3), f"{fill}")
        (made,), (freed,) = self.of("alloc"), self.of("free")
        self.expect(made["object"] == freed["object"] and made["bytes"] == 4096 and made["name"] == "device memory", f"{made} {freed}")
        (all_reduce,) = self.of("collective")
        wanted = (1000, "fp16", "RING", "group_0") if collective else (None, None, None, "group_0")
        found = tuple(all_reduce["args"].get(key) for key in ("count", "datatype", "algorithm", "commName"))
        self.expect(found == wanted and all_reduce["duration"] == 5000, f"{all_reduce}")
        (marker,) = self.named("marker", "done")
        self.expect(marker["category"] == "default", f"{marker}")
        ranges = {(self.tracks[r["track"]]["kind"], r["name"]): r for r in self.of("range")}
        self.expect(set(ranges) >= {("thread", "step"), ("thread", "on device")}, f"{ranges}")
        if not rare:
            return
        (external,) = self.named("marker", "external id")
        self.expect(external["args"]["externalId"] == 4711 and external["certainty"] == "untimed", f"{external}")
        (overhead,) = self.of("overhead")
        self.expect(overhead["name"] == "MSPTI buffer flush" and overhead["duration"] == 777, f"{overhead}")


plain = Run("plain")
whole = [plain, Run("threads")] + [Run(f"how-{how}") for how in ("threads", "small", "larger", "strange")]
for run in whole:
    run.check_kernels()
    run.check_calls(later="small" in run.name)
    run.check_rest()
    lost = {"untraced": run.truth["launches"]} if run.name == "how-strange" else {}
    run.expect(run.lost == lost, f"lost {run.lost}")
    (device,) = run.devices
    run.expect((device["vendor"], device["api"], device["type"]) == ("Huawei", "cann", "accelerator"), f"{device}")
    on_device = [r for r in run.named("range", "on device") if run.tracks[r["track"]]["kind"] == "queue"]
    run.expect(len(on_device) == 1 and 1900 < on_device[0]["duration"] - 0 and run.tracks[on_device[0]["track"]]["queue"] == 1, f"{on_device}")
plain.expect(plain.attributes["cann.mspti"] == "MSPTI 26.2.1", f"{plain.attributes}")
threads = {call["track"] for call in Run("threads").named("api", "aclrtLaunchKernel")}
plain.expect(len(threads) == 4, f"{len(threads)} threads that launch")

# In reverse, ends of ranges come before their begins: no event is made up, and each half is counted.
for how in "unordered", "small,threads,unordered,larger":
    run = Run(f"how-{how}")
    run.check_kernels()
    run.check_calls(later="small" in how)
    run.expect(set(run.lost) <= {"unmatched"}, f"lost {run.lost}")
    run.expect(len(run.of("memcpy")) == 2 and len(run.of("collective")) == 1, "the rest")
hccl = Run("how-hccl")
hccl.check_kernels()
hccl.check_rest(collective=False)
hccl.expect(not hccl.lost and hccl.attributes["cann.not_recorded"] == "COMMUNICATION", f"lost {hccl.lost}, {hccl.attributes}")

torn = Run("how-torn")
torn.check_kernels()
torn.check_rest()
torn.expect(set(torn.lost) == {"corrupt"}, f"lost {torn.lost}")
zero = Run("how-zero=7")
zero.check_kernels()
untimed = [kernel for kernel in zero.of("kernel") if "duration" not in kernel]
zero.expect(len(untimed) == 1500 // 7 and zero.lost == {"no_timing": 1500 // 7}, f"{len(untimed)} untimed, lost {zero.lost}")
drop = Run("how-drop=10")
# 1,500 launches have three records each, and the rest 21.
records = sum(len(drop.of(kind)) for kind in ("kernel", "api", "memcpy", "memset", "alloc", "free", "collective", "overhead"))
drop.expect(drop.lost["vendor_dropped"] == (1500 * 3 + 23) // 10, f"{records} records, lost {drop.lost}")

held = Run("held")
held.expect(not held.of("kernel") and held.lost == {"untraced": 1} and "another tool in the process uses MSPTI" in held.said, f"{held.lost}, {held.said}")
stacks = Run("stacks")
stacks.check_kernels()
launches = [call for call in stacks.named("api", "aclrtLaunchKernel") if "stack" in call]
stacks.expect(len(launches) == 2000, f"{len(launches)} launches with a stack")
stacks.expect(all("stack" in kernel for kernel in stacks.of("kernel")), "kernels with the stack of their launch")
fed = Run("fed")
names = Counter(kernel["name"] for kernel in fed.of("kernel") if kernel["name"].startswith("te_matmul"))
wanted = Counter(f"te_matmul_{i * 7 % 64:02}_4fe6fca27b2c1ad8bb3b28d2a2a1d2e3_1_kernel0" for i in range(100000))
fed.expect(names == wanted and not fed.lost, f"{names}, lost {fed.lost}")
children = Run("children")
children.expect(len(children.of("kernel")) == 30 and not children.lost, f"{len(children.of('kernel'))} kernels, lost {children.lost}")

older = Run("older")
older.check_kernels()
older.check_rest(rare=False)
older.expect(not older.of("api") and not older.lost, f"{len(older.of('api'))} calls, lost {older.lost}")
older.expect(older.attributes["cann.not_recorded"] == "OVERHEAD, RUNTIME_API, NODE_API, ACL_API", f"{older.attributes}")
absent = Run("absent")
absent.expect(not absent.of("kernel"), "nothing is recorded")
PY
