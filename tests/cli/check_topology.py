# SPDX-License-Identifier: Apache-2.0
"""Copies of /sys of three machines, made from a description: a DGX H100 (PCIe switches with a GPU and an adapter each, two
sockets), eight MI300X (XGMI, a host bridge each), and two sockets with two GPUs each. What each pair shares is derived from the
description, not from the folders. Damaged copies are answered without a failure of memory or a wait."""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

TRACESMITH = os.environ["TRACESMITH"]
# What one lane carries in one direction, by the specifications: GT/s, and bytes per second after encoding.
LANE = {"2.5": 250_000_000, "16.0": 1_969_230_769, "32.0": 3_938_461_538}
failures = 0


def expect(what, got, wanted):
    global failures
    if got != wanted:
        failures += 1
        print(f"{what}: {got}, expected {wanted}")


class Machine:
    """place: tuple of names from the host bridge to the device; the last is the device."""

    def __init__(self, root):
        self.root, self.nodes, self.speeds = root, [], {}

    def write(self, folder, **files):
        os.makedirs(folder, exist_ok=True)
        for name, text in files.items():
            with open(os.path.join(folder, name), "w") as file:
                file.write(f"{text}\n")

    def device(self, place, kind, numa, speed, lanes, name=None, vendor=0x10de, klass=0x030200):
        folder = os.path.join(self.root, "sys/devices", *place)
        for depth in range(2, len(place) + 1):  # ports above have the speed of the device unless they were given one
            bridge = place[:depth]
            self.speeds.setdefault(bridge, (speed, lanes))
            rate, width = self.speeds[bridge]
            self.write(os.path.join(self.root, "sys/devices", *bridge), current_link_speed=f"{rate} GT/s PCIe",
                       current_link_width=width)
        self.write(folder, vendor=f"{vendor:#06x}", device="0x2330", numa_node=numa,
                   **{"class": f"{klass if kind == 'gpu' else 0x020700:#08x}"})
        links = os.path.join(self.root, "sys/bus/pci/devices")
        os.makedirs(links, exist_ok=True)
        os.symlink(os.path.relpath(folder, links), os.path.join(links, place[-1]))
        if kind == "nic":
            adapter = os.path.join(self.root, "sys/class/infiniband", name)
            self.write(os.path.join(adapter, "ports/1"), state="4: ACTIVE", rate="400 Gb/sec (4X NDR)")
            os.symlink(os.path.relpath(folder, adapter), os.path.join(adapter, "device"))
        uuid = None
        if kind == "gpu" and vendor == 0x10de:
            uuid = f"GPU-8a1f0000-0000-0000-0000-{len(self.nodes):012x}"
            self.write(os.path.join(self.root, "proc/driver/nvidia/gpus", place[-1]),
                       information=f"Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t {uuid}\nBus Type: \t PCIe")
        elif kind == "gpu":
            uuid = f"{0xabcdef0123456780 + len(self.nodes):016x}"
            self.write(folder, unique_id=uuid)
        if kind in ("gpu", "nic"):
            self.nodes.append({"place": place, "kind": kind, "numa": numa, "name": name, "uuid": uuid})

    def ask(self, code=0):
        result = subprocess.run([TRACESMITH, "devices", "--topology", "--sysroot", self.root, "--json"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        if code is None:  # of a damaged copy only that there is an answer
            expect(f"exit code ({result.stderr})", result.returncode in (0, 4), True)
        else:
            expect(f"exit code ({result.stderr})", result.returncode, code)
        return json.loads(result.stdout) if result.stdout else None

    def check_xml(self, wanted):
        """The same as JSON, read by another parser; an unknown value has no attribute."""
        result = subprocess.run([TRACESMITH, "devices", "--topology", "--sysroot", self.root, "--xml"], check=True,
                                stdout=subprocess.PIPE, timeout=60)
        root = ElementTree.fromstring(result.stdout)
        for key, name in (("nodes", "node"), ("paths", "path")):
            expect(f"XML's {key}", [element.attrib for element in root.findall(name)],
                   [{field: str(value) for field, value in element.items() if value is not None} for element in wanted[key]])

    def check(self, kind_of):
        answer = self.ask()
        self.check_xml(answer)
        gpus = sorted((node for node in self.nodes if node["kind"] == "gpu"), key=lambda node: node["place"][-1])
        order = gpus + sorted((node for node in self.nodes if node["kind"] == "nic"), key=lambda node: node["name"])
        for index, node in enumerate(gpus):
            node["name"] = f"GPU{index}"
        expect("nodes", [(node["name"], node["address"], node["numa"]) for node in answer["nodes"]],
               [(node["name"], node["place"][-1], node["numa"]) for node in order])
        expect("UUIDs", [node["uuid"] for node in answer["nodes"]], [node["uuid"] for node in order])
        for node in answer["nodes"]:
            expect(f"port of {node['name']}", node["port_bits_per_s"], 400_000_000_000 if node["kind"] == "nic" else None)
        expect("paths", len(answer["paths"]), len(order) * (len(order) - 1))
        for path in answer["paths"]:
            a, b = order[path["from"]], order[path["to"]]
            kind, rate = kind_of(self, a, b)
            expect(f"{a['name']} to {b['name']}", path["path"], kind)
            if abs(path["bytes_per_s"] - rate) > 100:  # the fraction of a byte in each lane
                expect(f"rate of {a['name']} to {b['name']}", path["bytes_per_s"], rate)

    def slowest(self, *places):
        """Of the links of both places that are not common."""
        rates = []
        for place in places:
            for depth in range(2, len(place) + 1):
                if not all(other[:depth] == place[:depth] for other in places):
                    speed, lanes = self.speeds[place[:depth]]
                    rates.append(LANE[speed] * lanes)
        return min(rates)

    def record(self, folder):
        """A trace of a machine that has this /sys, but not this /proc."""
        trace = os.path.join(folder, "recorded.sbt")
        script = f"mount --bind '{self.root}/sys' /sys && exec '{TRACESMITH}' profile -o '{trace}' -- true"
        # NVIDIA's library, which may be here, knows other GPUs: this one cannot be loaded.
        open(os.path.join(folder, "libnvidia-ml.so.1"), "w").close()
        subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script], check=True, stderr=subprocess.PIPE,
                       env=dict(os.environ, LD_LIBRARY_PATH=folder), timeout=60)
        return trace

    def check_recorded(self, folder):
        trace, wanted = self.record(folder), self.ask()
        for node in wanted["nodes"]:
            if node["vendor"] == 0x10de:
                node["uuid"] = None
                node["nvlinks_why"] = "libnvidia-ml.so.1 cannot be loaded" if node["kind"] == "gpu" else None
        got = subprocess.run([TRACESMITH, "devices", "--topology", "--file", trace, "--json"], stdout=subprocess.PIPE, timeout=60)
        expect("topology of the trace", (got.returncode, json.loads(got.stdout)), (0, wanted))
        info = subprocess.run([TRACESMITH, "info", trace], stdout=subprocess.PIPE, timeout=60).stdout.decode()
        line = next((line for line in info.splitlines() if line.startswith("topology")), "")
        gpus = sum(node["kind"] == "gpu" for node in wanted["nodes"])
        kinds = {path["path"] for path in wanted["paths"] if path["from"] < gpus and path["to"] < gpus}
        expect("info", (line.split()[1:3], all(kind in line for kind in kinds)), ([str(gpus), "GPUs,"], True))


def dgx(root):
    machine = Machine(root)
    for index in range(8):
        bridge = f"pci0000:{index // 2 * 0x20:02x}"
        port, up = f"0000:{index * 0x10:02x}:01.0", f"0000:{index * 0x10 + 1:02x}:00.0"
        for slot, kind in ((0, "gpu"), (1, "nic")):
            down = f"0000:{index * 0x10 + 2:02x}:{slot:02x}.0"
            machine.device((bridge, port, up, down, f"0000:{index * 0x10 + 3 + slot:02x}:00.0"), kind, index // 4, "32.0", 16,
                           name=f"mlx5_{index}" if kind == "nic" else None)
    # The picture of the management controller is no GPU.
    machine.device(("pci0000:f0", "0000:f0:00.0"), "bmc", 0, "2.5", 1, vendor=0x1a03, klass=0x030000)

    def kind_of(machine, a, b):
        if a["place"][1] == b["place"][1]:
            kind = "PIX"
        elif a["place"][0] == b["place"][0]:
            kind = "PHB"
        else:
            kind = "NODE" if a["numa"] == b["numa"] else "SYS"
        return kind, machine.slowest(a["place"], b["place"])
    return machine, kind_of


def hgx(root):
    """The same with NVSwitches: four functions on a bus of their own."""
    machine, kind_of = dgx(root)
    for index in range(4):
        machine.device(("pci0000:e0", "0000:e0:01.0", f"0000:{0xe1 + index:02x}:00.0"), "switch", 0, "2.5", 2)
        machine.write(os.path.join(root, "sys/devices/pci0000:e0/0000:e0:01.0", f"0000:{0xe1 + index:02x}:00.0"),
                      device="0x22a3", **{"class": "0x068000"})

    def through_switches(machine, a, b):
        return ("NVSWITCH", 450_000_000_000) if a["kind"] == b["kind"] == "gpu" else kind_of(machine, a, b)
    return machine, through_switches


def mi300x(root):
    machine = Machine(root)
    for index in range(8):
        bus = 0x05 + index * 0x10
        machine.device((f"pci0000:{index * 0x10:02x}", f"0000:{index * 0x10:02x}:01.1", f"0000:{bus:02x}:00.0"), "gpu",
                       index // 4, "32.0", 16, vendor=0x1002, klass=0x120000)
        node = os.path.join(root, "sys/class/kfd/kfd/topology/nodes", str(index + 2))
        machine.write(node, properties=f"simd_count 1216\nlocation_id {bus << 8}\ndomain 0\ngfx_target_version 90402")
        for link, other in enumerate(other for other in range(8) if other != index):
            machine.write(os.path.join(node, "io_links", str(link)), properties=f"type 11\nversion_major 0\n"
                          f"node_from {index + 2}\nnode_to {other + 2}\nweight 15\nmin_bandwidth 64000\nmax_bandwidth 64000")
        machine.write(os.path.join(node, "io_links", "7"), properties=f"type 2\nnode_from {index + 2}\nnode_to {index // 4}\n"
                      "weight 20\nmin_bandwidth 0\nmax_bandwidth 64000")
    for index in range(2):  # processors
        machine.write(os.path.join(root, "sys/class/kfd/kfd/topology/nodes", str(index)), properties="cpu_cores_count 96\nlocation_id 0")
    return machine, lambda machine, a, b: ("XGMI", 64_000_000_000)


def two_sockets(root):
    machine = Machine(root)
    machine.speeds[("pci0000:80", "0000:80:02.0")] = ("2.5", 16)  # a port that has gone to its idle rate
    for socket in range(2):
        for slot in (1, 2):
            machine.device((f"pci0000:{socket * 0x80:02x}", f"0000:{socket * 0x80:02x}:{slot:02x}.0",
                            f"0000:{socket * 0x80 + slot:02x}:00.0"), "gpu", socket, "16.0", 8)

    def kind_of(machine, a, b):
        return "PHB" if a["numa"] == b["numa"] else "SYS", machine.slowest(a["place"], b["place"])
    return machine, kind_of


def damage(machine, seed):
    """Removes, empties, overwrites and replaces files, by chance."""
    chance = random.Random(seed)
    for folder, _, files in os.walk(machine.root):
        for name in files:
            path = os.path.join(folder, name)
            what = chance.randrange(12)
            if what == 0:
                os.unlink(path)
            elif what == 1:
                open(path, "w").close()
            elif what == 2:
                with open(path, "wb") as file:
                    file.write(chance.randbytes(chance.randrange(10000)))
            elif what == 3:
                os.unlink(path)
                chance.choice((os.mkfifo, os.mkdir, lambda at: os.symlink(at, at)))(path)
    machine.ask(code=None)


def main():
    with tempfile.TemporaryDirectory() as folder:
        made = 0
        may_mount = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "mount", "--bind", folder, "/sys"],
                                   stderr=subprocess.DEVNULL).returncode == 0
        for make in (dgx, hgx, mi300x, two_sockets):
            machine, kind_of = make(os.path.join(folder, make.__name__))
            machine.check(kind_of)
            text = subprocess.run([TRACESMITH, "devices", "--topology", "--sysroot", machine.root], check=True,
                                  stdout=subprocess.PIPE).stdout.decode()
            expect(f"rows of {make.__name__}", sum(line.startswith(" GPU") and " - " in line for line in text.splitlines()),
                   sum(node["kind"] == "gpu" for node in machine.nodes))
            if may_mount:
                machine.check_recorded(folder)
            for seed in range(4):
                copy = os.path.join(folder, f"copy{made}")
                made += 1
                shutil.copytree(machine.root, copy, symlinks=True)
                damage(Machine(copy), seed)
        result = subprocess.run([TRACESMITH, "devices", "--topology", "--sysroot", folder], stderr=subprocess.PIPE)
        expect("no /sys", (result.returncode, b"no description of PCI devices" in result.stderr), (4, True))
        print("recorded" if may_mount else "not recorded: nothing can be mounted here")
    return 1 if failures else 0


sys.exit(main())
