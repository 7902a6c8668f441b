#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Other vendors whose interface for tools has the form of CUPTI: Moore Threads (musa) and MetaX (maca), over mocks of their libraries
# that are made from the agents' tables. Everything that a program counts itself is in the trace, in any order of flushes, with
# longer records, unknown kinds and dropped records; a program without the library is unharmed, and its trace says why.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
usual=$LD_LIBRARY_PATH
unset TRACESMITH_MUPTI TRACESMITH_MCPTI MUSA_INJECTION64_PATH

# vendor API PREFIX DRIVER
vendor() {
    api=$1 prefix=$2 driver=$3
    LD_LIBRARY_PATH=$TRACESMITH_BUILD_DIR/tests/$api/mock:$usual
    run() {
        name=$1
        shift
        record "$api-$name" -- "$programs/cu_work" "library=$driver" "prefix=$prefix" "$@"
        [ "$status" -eq 0 ] || fail "$api-$name: exit status $status: $(cat "$work/$api-$name.err")"
    }
    run plain launches=1000
    run threads launches=500 threads=4 streams=3 bad=2
    MOCK_CUPTI=late,unordered,threads,partial run orders launches=1000 threads=4 streams=3
    MOCK_CUPTI=larger,late run larger launches=1000
    MOCK_CUPTI=strange run strange launches=100
    MOCK_CUPTI=drop=10 run dropped launches=1000
    MOCK_CUPTI=held run held launches=100
    MOCK_CUPTI=silent run silent launches=100
    MOCK_CUPTI=mix run fed feed=50000
    options=--stacks run stacks launches=100

    # The program that is profiled starts others.
    record "$api-children" -- sh -c "'$programs/cu_work' library=$driver prefix=$prefix launches=10 && '$programs/cu_work' library=$driver prefix=$prefix launches=20"
    [ "$status" -eq 0 ] || fail "$api-children: exit status $status"

    # Without its library, and without the API at all.
    mkdir -p "$work/$api"
    ln -sf "$TRACESMITH_BUILD_DIR/tests/$api/mock/$driver" "$work/$api/$driver"
    LD_LIBRARY_PATH=$work/$api
    run absent launches=100
    grep -q 'work is not recorded: lib[a-z]*pti was not found; install' "$work/$api-absent.err" || fail "$api-absent: $(cat "$work/$api-absent.err")"
    LD_LIBRARY_PATH=$usual
    status=0
    "$TRACESMITH" profile -o "$work/none.sbt" --api "$api" -- sh -c 'echo unharmed; exit 7' >"$work/none.out" 2>"$work/none.err" || status=$?
    if [ "$status" -ne 7 ] || [ "$(cat "$work/none.out")" != unharmed ]; then
        fail "$api: exit status $status: $(cat "$work/none.err")"
    fi
}
vendor musa mu libmusa.so.1
vendor maca mc libmcruntime.so

python3 - "$work" <<'PY'
import sys
from trace import Run

class Musa(Run):
    PREFIX, INTERFACE, MEMORY = "mu", "MUPTI", False
    API, COMPANY, FORM = "musa", "Moore Threads", 14

class Maca(Run):
    PREFIX, INTERFACE, MEMORY = "mc", "MCPTI", False
    API, COMPANY, FORM = "maca", "MetaX", 18

for vendor in Musa, Maca:
    def run(name):
        return vendor(sys.argv[1], f"{vendor.API}-{name}")
    for name in "plain", "threads", "orders", "larger":
        one = run(name)
        one.check_everything()
        one.expect(not one.lost, f"lost {one.lost}")
        one.expect(all("duration" in kernel for kernel in one.of("kernel")), "a kernel without times")
    plain = run("plain")
    plain.check_sizes()
    (device,) = plain.devices
    plain.expect((device["name"], device["vendor"], device["api"]) == ("Mock GPU", vendor.COMPANY, vendor.API), f"{device}")
    library = plain.attributes[f"{vendor.API}.{vendor.INTERFACE.lower()}"]
    plain.expect(library.startswith(f"{vendor.INTERFACE} {vendor.FORM}, "), library)
    plain.expect({copy["name"] for copy in plain.of("memcpy")} == {f"[{vendor.API.upper()} memcpy {way}]" for way in ("HtoD", "DtoH")}, "copies")
    tracks = {call["track"] for call in run("threads").calls(vendor.PREFIX + "LaunchKernel")}
    plain.expect(len(tracks) == 4, f"{len(tracks)} threads that launch")

    # A record of an unknown kind with each call; each tenth record missing; a tool that has the subscription; a library that gives no kernels.
    strange = run("strange")
    strange.expect(len(strange.of("kernel")) == 100 and strange.lost == {"untraced": len(strange.of("api"))}, f"lost {strange.lost}")
    dropped = run("dropped")
    kernels = len(dropped.of("kernel"))
    dropped.expect(dropped.lost.get("vendor_dropped", 0) > 0 and kernels < 1000, f"{kernels} kernels, lost {dropped.lost}")
    dropped.expect(kernels + dropped.lost["no_completion"] == 1000, f"{kernels} kernels, lost {dropped.lost}")
    held = run("held")
    held.expect(len(held.of("kernel")) == 100 and held.lost["unmatched"] == 100, f"lost {held.lost}")
    silent = run("silent")
    silent.expect(silent.lost == {"no_completion": 100} and f"{vendor.INTERFACE} returned no record of 100" in silent.said, f"lost {silent.lost}, {silent.said}")
    fed = run("fed")
    fed.expect(len(fed.of("kernel")) == 50000 + fed.truth["launches"] and not fed.missing("untraced", "corrupt", "ring_full"), f"{len(fed.of('kernel'))} kernels, lost {fed.lost}")

    stacks = run("stacks")
    stacks.expect(all("stack" in kernel for kernel in stacks.of("kernel")) and len(stacks.of("kernel")) == 100, "stacks")
    children = run("children")
    children.expect(len(children.of("kernel")) == 30 and not children.lost, f"{len(children.of('kernel'))} kernels, lost {children.lost}")
    children.expect(len({children.pid(kernel) for kernel in children.of("kernel")}) == 2, "two processes")
    absent = run("absent")
    absent.expect(not absent.of("kernel") and absent.lost == {"untraced": 1}, f"lost {absent.lost}")
PY
