# SPDX-License-Identifier: Apache-2.0
"""NVLinks of simulated machines: mock_links.c in place of NVIDIA's library. What is expected is counted here from the links of each
machine. Other GPUs of the machine on which this runs are left out."""
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests", "cli"))
from support import Trace, check, run, word  # noqa: E402

SOURCE = os.environ["TRACESMITH_SOURCE_DIR"]
BUSES = (0x1B, 0x43, 0x52, 0x61, 0x9D, 0xC3, 0xD1, 0xDF)
PLACES = ["0000:%02x:00.0" % bus for bus in BUSES]


def build(directory, *without):
    folder = os.path.join(directory, "-".join(("mock",) + without))
    os.mkdir(folder)
    made = subprocess.run([os.environ.get("CC", "cc"), "-w", "-shared", "-fPIC", "-o", os.path.join(folder, "libnvidia-ml.so.1"),
                           *("-D" + name for name in without), "-I", os.path.join(SOURCE, "agents", "nvml"),
                           os.path.join(SOURCE, "tests", "nvml", "mock_links.c")], stderr=subprocess.PIPE)
    check(made.returncode == 0, made.stderr.decode())
    return folder


class Answer:
    def __init__(self, answer):
        self.nodes = {node["address"]: node for node in answer["nodes"]}
        self.index = {node["address"]: index for index, node in enumerate(answer["nodes"])}
        self.paths = {(path["from"], path["to"]): path for path in answer["paths"]}
        self.links = answer["nvlinks"]

    def path(self, a, b):
        path = self.paths[self.index[PLACES[a]], self.index[PLACES[b]]]
        return path["path"], path["nvlinks"], path["bytes_per_s"], path["source"]

    def gpu(self, a):
        node = self.nodes[PLACES[a]]
        return node["nvlinks"], node["nvlinks_inactive"]


def ask(mock, machine, broken="", *options):
    environment = {"LD_LIBRARY_PATH": mock, "NVML_MOCK_MACHINE": machine, "NVML_MOCK_BROKEN": broken}
    return run("devices", "--topology", *options, env=environment, code=None).stdout.decode()


def answer(mock, machine, broken=""):
    return Answer(json.loads(ask(mock, machine, broken, "--json")))


def pairs(count):
    return [(a, b) for a in range(count) for b in range(count) if a != b]


def expect_paths(got, count, wanted):
    for a, b in pairs(count):
        check(got.path(a, b) == wanted(a, b), "GPU %d to %d: %s, expected %s" % (a, b, got.path(a, b), wanted(a, b)))


def check_dgx(mock):
    got = answer(mock, "dgx")
    expect_paths(got, 8, lambda a, b: ("NVSWITCH", 18, 18 * 26_562_000_000, "link_speed"))
    check(all(got.gpu(a) == (18, 0) for a in range(8)), "18 links, none is inactive")
    for a in range(8):
        ours = [link for link in got.links if link["from"] == got.index[PLACES[a]]]
        check(sorted((link["remote"], link["links"]) for link in ours) ==
              [("0000:%02x:00.0" % (7 + number), len(range(number, 18, 4))) for number in range(4)], "%s" % ours)
        check({(link["end"], link["version"]) for link in ours} == {("switch", "4.0")}, "%s" % ours)
    text = ask(mock, "dgx")
    check(text.count(" NV18") >= 56 and "NVML's speed of each link" in text, text)
    xml = ElementTree.fromstring(ask(mock, "dgx", "", "--xml"))
    plain = json.loads(ask(mock, "dgx", "", "--json"))
    for key, name in (("nodes", "node"), ("paths", "path"), ("nvlinks", "nvlink")):
        check([element.attrib for element in xml.findall(name)] ==
              [{field: str(value) for field, value in element.items() if value is not None} for element in plain[key]], name)


def check_down(mock):
    """A link of GPU 3 is down: all its paths have one less."""
    got = answer(mock, "dgx", "link")
    expect_paths(got, 8, lambda a, b: ("NVSWITCH", 17 if 3 in (a, b) else 18, (17 if 3 in (a, b) else 18) * 26_562_000_000,
                                       "link_speed"))
    check(got.gpu(3) == (17, 1) and got.gpu(2) == (18, 0), "one is inactive")
    check("1 NVLink inactive" in ask(mock, "dgx", "link"), "the text names it")


def check_direct(mock):
    got = answer(mock, "direct")
    expect_paths(got, 4, lambda a, b: ("NVLINK", 4, 4 * 25_781_000_000, "common_speed"))
    got = answer(mock, "direct", "speed")
    expect_paths(got, 4, lambda a, b: ("NVLINK", 4, 100_000_000_000, "version"))
    # NVML does not answer for GPU 1: the other ends state its links, but not how many it has.
    got = answer(mock, "direct", "gpu")
    expect_paths(got, 4, lambda a, b: ("NVLINK", 4, 4 * 25_781_000_000, "common_speed"))
    check(got.gpu(1) == (None, None) and got.gpu(0) == (12, 0), "%s %s" % (got.gpu(1), got.gpu(0)))
    check("gave 15" in got.nodes[PLACES[1]]["nvlinks_why"], "%s" % got.nodes[PLACES[1]])
    check(ask(mock, "direct", "gpu").count("NVLinks are unknown: nvmlDeviceGetNvLinkState of link 0 gave 15") == 1, "the text says why")


def check_none(mock):
    got = answer(mock, "none")
    check([got.gpu(a) for a in (0, 1)] == [(0, 0), (0, 0)] and not got.links, "no links, which is known")
    check(got.path(0, 1)[:2] == ("UNKNOWN", None), "%s" % (got.path(0, 1),))
    text = ask(mock, "none")
    check(text.count("no NVLink\n") == 2 and "may have links" not in text, text)


def check_old(directory):
    """Functions that are missing: what is known without them is stated, else nothing, and never 0."""
    got = answer(build(directory, "NO_TYPE"), "dgx")
    expect_paths(got, 8, lambda a, b: ("NVSWITCH", 18, 18 * 26_562_000_000, "link_speed"))
    got = answer(os.path.join(directory, "mock-NO_TYPE"), "direct")
    expect_paths(got, 4, lambda a, b: ("NVLINK", 4, 4 * 25_781_000_000, "common_speed"))
    got = answer(build(directory, "NO_TYPE", "NO_REMOTE"), "direct")
    expect_paths(got, 4, lambda a, b: ("UNKNOWN", None, None, None))
    check(got.gpu(0) == (12, 0) and {link["end"] for link in got.links} == {None}, "%s" % got.links)
    old = build(directory, "NO_STATE")
    got = answer(old, "dgx")
    expect_paths(got, 8, lambda a, b: ("UNKNOWN", None, None, None))
    check(all(got.gpu(a) == (None, None) for a in range(8)) and not got.links, "nothing is known")
    check("are unknown: libnvidia-ml.so.1 has no nvmlDeviceGetNvLinkState" in ask(old, "dgx"), ask(old, "dgx"))


def check_broken(mock):
    for broken in ("library", "crash"):
        environment = {"LD_LIBRARY_PATH": mock, "NVML_MOCK_MACHINE": "dgx", "NVML_MOCK_BROKEN": broken}
        done = run("devices", "--topology", "--json", env=environment, code=None)
        check(done.returncode in (0, 4), "%s: %s" % (broken, done.stderr))
        check(not json.loads(done.stdout)["nvlinks"] or broken == "crash", "%s" % done.stdout)


def check_versions(mock):
    """NVML's number is nvmlNvlinkVersion_t, or, of a driver that is older than that type, the number before the point."""
    pascal, volta, ampere, ada, hopper, blackwell, newer, silent = 4, 5, 7, 8, 9, 10, 12, -1
    for architecture, number, version in (
            (pascal, 1, "1.0"), (volta, 2, "2.0"), (volta, 3, "2.2"), (ampere, 4, "3.0"), (ampere, 5, "3.1"), (ampere, 3, "3.0"),
            (hopper, 6, "4.0"), (hopper, 4, "4.0"), (hopper, 5, None), (hopper, 9, None), (blackwell, 7, "5.0"), (blackwell, 5, "5.0"),
            (blackwell, 0, None), (ada, 4, None), (newer, 8, "6.0"), (newer, 4, None),
            (silent, 1, "1.0"), (silent, 2, "2.0"), (silent, 3, None), (silent, 4, None), (silent, 5, "3.1"), (silent, 6, "4.0")):
        environment = {"LD_LIBRARY_PATH": mock, "NVML_MOCK_MACHINE": "dgx", "NVML_MOCK_VERSION": str(number),
                       "NVML_MOCK_ARCHITECTURE": str(architecture)}
        got = json.loads(run("devices", "--topology", "--json", env=environment, code=None).stdout)
        check({link["version"] for link in got["nvlinks"]} == {version},
              "version %d of architecture %d: %s" % (number, architecture, got["nvlinks"][:1]))


def check_killed(directory, mock):
    """A driver does not answer, and the process that asked is killed: the one that asks NVML ends too, and has none of its files open."""
    if not hasattr(os, "pidfd_open"):
        return
    says = os.path.join(directory, "says")
    os.mkfifo(says)
    environment = dict(os.environ, LD_LIBRARY_PATH=mock, NVML_MOCK_MACHINE="dgx", NVML_MOCK_HANG=says)
    held = os.open(directory, os.O_RDONLY)
    asking = subprocess.Popen([os.environ["TRACESMITH"], "devices", "--topology"], stdout=subprocess.PIPE, env=environment,
                              pass_fds=(held,))
    with open(says, encoding="utf-8") as file:
        child = int(file.read())
    ended = os.pidfd_open(child)
    folder = "/proc/%d/fd" % child
    files = {int(name): os.readlink(os.path.join(folder, name)) for name in os.listdir(folder)}
    check(sorted(files) == [0, 1, 2, 3] and files[3].startswith("pipe:"), "%s" % files)
    check({files[number] for number in (0, 1, 2)} == {"/dev/null"}, "%s" % files)
    asking.send_signal(signal.SIGKILL)
    asking.stdout.read()  # its end comes at once, because no other process has it open
    asking.wait()
    # Alone it would end after 60 s.
    check(select.select([ended], [], [], 30)[0], "the process that asks NVML is still there")


def check_recorded(directory, mock):
    """A trace has what `devices` states of the machine."""
    trace = os.path.join(directory, "links.sbt")
    environment = {"LD_LIBRARY_PATH": mock, "NVML_MOCK_MACHINE": "dgx", "NVML_MOCK_BROKEN": "link"}
    run("profile", "-o", trace, "--", "true", env=environment)
    recorded = run("devices", "--topology", "--json", "--file", trace).stdout.decode()
    check(json.loads(recorded) == json.loads(ask(mock, "dgx", "link", "--json")), recorded)
    check("NVSWITCH" in run("info", trace).stdout.decode(), "info names the path")
    os.rename(trace, os.path.join(directory, "answer.sbt"))
    environment["NVML_MOCK_BROKEN"] = "crash"
    run("profile", "-o", trace, "--", "true", env=environment)


def attribute_of(trace, key):
    """The last one of the key."""
    attributes = json.loads(run("info", "--json", trace).stdout)["attributes"]
    return [each["value"] for each in attributes if each["key"] == key][-1]


def check_answer(directory):
    """Eight ranks of a job, each with one of the recorded GPUs: what their collectives reached against the links that NVML stated."""
    topology = attribute_of(os.path.join(directory, "answer.sbt"), "topology")
    paths = []
    for rank in range(8):
        trace = Trace()
        trace.lines += ["attribute topology " + word(topology), "attribute trace_clock.id " + word("raw:1"),
                        "device GPU cuda gpu " + word("pci:" + PLACES[rank])]
        # Fields of the trace's own, by their numbers below.
        trace.lines += ["field %s 3 %%" % name for name in ("comm", "sequence", "ranks")]
        queue, group = trace.track("queue", "stream", device=1), trace.track("custom", "communicator")
        trace.event(queue, "kernel", 5, duration=100, name="work")
        for number in range(3):
            start = (number + 1) * 10_000_000
            trace.event(group, "collective", start + rank * 1000, duration=307_000 - rank * 1000, name="AllReduce", bytes=64 << 20,
                        certainty="bounded", **{"4097": 77, "4098": number, "4099": 8})
        paths.append(trace.write(os.path.join(directory, "rank%d.sbt" % rank)))
    rows = json.loads(run("analyze", "--ranks", "--json", *paths).stdout)["tables"]["communicators"]
    check(len(rows) == 1, "%s" % rows)
    row = rows[0]
    possible, achieved = (next(row[key] for key in row if key.startswith(name)) for name in ("possible", "achieved"))
    check(row["link"] == "NVSWITCH" and abs(possible - 17 * 26.562e9) < 1, "%s" % row)
    check(3 in (row["from"], row["to"]), "the GPU whose link is down: %s" % row)
    check(abs(achieved - 2 * 7 / 8 * (64 << 20) / 300e-6) < 1e6, "%s" % row)


def main():
    with tempfile.TemporaryDirectory() as directory:
        mock = build(directory)
        check_dgx(mock)
        check_down(mock)
        check_direct(mock)
        check_none(mock)
        check_old(directory)
        check_broken(mock)
        check_versions(mock)
        check_killed(directory, mock)
        check_recorded(directory, mock)
        check_answer(directory)
        print("of simulated machines")


main()
