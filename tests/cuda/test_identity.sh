#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A GPU is one device of the trace, regardless of who reports it: CUPTI in one process or several, and NVML, which
# numbers devices in another order with CUDA_VISIBLE_DEVICES or CUDA_DEVICE_ORDER. Of a MIG device the instance and
# its GPU are two. What only one of them knows (NVML the driver, CUPTI the number of SMs) is there, regardless of
# which came first.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

mkdir "$work/driver"
${CC:-cc} -w -shared -fPIC -I "$TRACESMITH_SOURCE_DIR/agents/nvml" -o "$work/driver/libnvidia-ml.so.1" \
    "$TRACESMITH_SOURCE_DIR/tests/nvml/mock_nvml.c"
LD_LIBRARY_PATH=$work/driver:$LD_LIBRARY_PATH
export MOCK_DEVICES=2

for order in 01 10; do
    MOCK_ORDER=$order record "alone$order" -- "$programs/cu_work" launches=10 peers
done
options='--gpu-counters 50'
for order in 01 10; do
    MOCK_ORDER=$order record "order$order" -- "$programs/cu_work" launches=10 peers
done
# Devices that CUDA_VISIBLE_DEVICES hides are described too, under the numbers of visible ones or others, and are none of the program's.
# Which numbers they have is not documented.
for hidden in 0 1 5; do
    MOCK_HIDDEN=$hidden record "hidden$hidden" -- "$programs/cu_work" launches=10 peers
done
MOCK_HIDDEN=all record only-hidden -- "$programs/cu_work" launches=10
record several -- sh -c "'$programs/cu_work' launches=10 && MOCK_ORDER=10 '$programs/cu_work' launches=20"
# CUPTI describes the devices in a buffer that comes after others with kernels: the last, or another thread's.
for how in late threads early,late; do
    MOCK_CUPTI=$how record "after-$how" -- "$programs/cu_work" launches=10000 threads=2
done
MOCK_MIG=1 record mig -- "$programs/cu_work" launches=10
# The device's record of CUDA 11.5 does not have whether it is an instance: the bytes there are ignored.
options=
MOCK_MIG=1 MOCK_CUPTI=version=16 record older -- "$programs/cu_work" launches=10
# Compute capabilities and NVIDIA's names of their GPUs; for a GPU newer than the table only the number is printed.
for compute in 70 75 80 86 89 90 100 103 110 120 121 140; do
    MOCK_CUPTI=compute=$compute record "compute$compute" -- "$programs/cu_work" launches=2
done
python3 - "$work" <<'PY'
import sys
from trace import Run

def uuids(run):
    return {device["id"]: device["identity"] for device in run.devices}

def board(run, device):
    return int(uuids(run)[device].split("-")[-1], 16)

# Which board's counters belong to a device: "GPU 1 power [W]" is NVML's second.
def counted(run, device):
    return {int(t["name"].split()[1]) for t in run.tracks.values() if t["kind"] == "counter" and t["device"] == device}

for order in "01", "10":
    for name in "alone", "order":
        run = Run(sys.argv[1], name + order)
        run.expect(len(run.devices) == 2 and len(uuids(run)) == 2, f"devices {run.devices}")
        kernels = {run.tracks[k["track"]]["device"] for k in run.of("kernel")}
        run.expect(len(kernels) == 1, "kernels run on one device")
        device = kernels.pop()
        run.expect(board(run, device) == int(order[0]), f"CUDA's first is board {board(run, device)}")
        known = next(d for d in run.devices if d["id"] == device)
        run.expect(known["compute_units"] == 40 and known["clock_mhz"], f"what CUPTI knows: {known}")
        if name == "order":
            run.expect(known["driver"], f"what NVML knows: {known}")
            run.expect(counted(run, device) == {int(order[0])}, f"counters of {counted(run, device)} on it")
        run.expect(not run.lost, f"lost {run.lost}")

for hidden in 0, 1, 5:
    run = Run(sys.argv[1], f"hidden{hidden}")
    run.expect(sorted(board(run, d["id"]) for d in run.devices) == [0, 1] and not run.lost, f"devices {run.devices}, lost {run.lost}")
    run.expect({d["compute_units"] for d in run.devices} == {40}, f"what CUPTI knows: {run.devices}")
    kernels = {run.tracks[k["track"]]["device"] for k in run.of("kernel")}
    run.expect({board(run, device) for device in kernels} == {0}, f"kernels ran on {kernels} of {run.devices}")
    run.expect("Hidden" not in run.attributes["cuda.device.0"], run.attributes["cuda.device.0"])
# If CUPTI says of all of them that they are hidden, that is better than nothing.
run = Run(sys.argv[1], "only-hidden")
run.expect({board(run, run.tracks[k["track"]]["device"]) for k in run.of("kernel")} == {0} and run.devices[0]["compute_units"] == 20, f"{run.devices}")

run = Run(sys.argv[1], "several")
run.expect(len(run.devices) == 2, f"two processes, two GPUs: {run.devices}")
where = {run.pid(k): board(run, run.tracks[k["track"]]["device"]) for k in run.of("kernel")}
run.expect(sorted(where.values()) == [0, 1], f"{where}")

for how in "late", "threads", "early,late":
    run = Run(sys.argv[1], f"after-{how}")
    run.check_everything()
    run.expect(len(run.devices) == 2 and not run.lost, f"{how}: two GPUs: {run.devices}, lost {run.lost}")
    where = {run.tracks[k["track"]]["device"] for k in run.of("kernel")}
    run.expect(len(where) == 1 and counted(run, where.pop()) == {0}, f"{how}: kernels and counters of one GPU are on one device")

run = Run(sys.argv[1], "mig")
kernels = {run.tracks[k["track"]]["device"] for k in run.of("kernel")}
run.expect(len(kernels) == 1 and uuids(run)[kernels.pop()].startswith("MIG-31000000-"), "an instance is itself")
run.expect(sorted(u[:4] for u in uuids(run).values()) == ["GPU-", "GPU-", "MIG-", "MIG-"], "GPUs and instances")

run = Run(sys.argv[1], "older")
run.expect(all(u.startswith("GPU-51a7") for u in uuids(run).values()), f"MIG before CUDA 11.6: {uuids(run)}")
for compute, said in {70: "7.0 (Volta)", 75: "7.5 (Turing)", 80: "8.0 (Ampere)", 86: "8.6 (Ampere)", 89: "8.9 (Ada)", 90: "9.0 (Hopper)",
                      100: "10.0 (Blackwell)", 103: "10.3 (Blackwell)", 110: "11.0 (Blackwell)", 120: "12.0 (Blackwell)",
                      121: "12.1 (Blackwell)", 140: "14.0"}.items():
    run = Run(sys.argv[1], f"compute{compute}")
    run.expect(f", compute {said}, 40 SMs" in run.attributes["cuda.device.0"], run.attributes["cuda.device.0"])
PY
