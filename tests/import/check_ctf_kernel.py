# SPDX-License-Identifier: Apache-2.0
"""Traces of the kernel as LTTng's modules write them (CTF 1.8), made here: their TSDL has the forms of lttng-modules, for tracepoints of the
scheduler and of interrupts, and for system calls with texts, sequences, structures of bits, enumerations and variants. What the importer reads
is what was written; and babeltrace2, where it is installed, reads the same, also after it wrote the trace anew."""
import collections
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

SOURCE = os.environ["TRACESMITH_SOURCE_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
import babeltrace  # noqa: E402
from ctf_bits import Bits  # noqa: E402
from support import check, run  # noqa: E402

FOLDER = tempfile.mkdtemp()
UUID = bytes(range(0x50, 0x60))
OFFSET = 1700000000123456789  # of the clock, which counts nanoseconds


def integer(size, signed=0, align=8, base=10, order="", encoding="none"):
    return "integer { size = %d; align = %d; signed = %d; encoding = %s; base = %d;%s }" % (size, align, signed, encoding, base, order)


def number(name, size, signed=0, base=10, big=False):
    return ["%s _%s;" % (integer(size, signed, base=base, order=" byte_order = be;" if big else ""), name)], \
        lambda bits, value: (bits.align(8), bits.put(value & (1 << size) - 1, size, big, big))


def text(name):
    return ["string _%s;" % name], lambda bits, value: bits.raw(value.encode() + b"\0")


def command(name):
    return ["%s _%s[16];" % (integer(8, 1, encoding="UTF8"), name)], lambda bits, value: bits.raw(value.encode().ljust(16, b"\0"))


def sequence(name, size, base=10):
    def put(bits, values):
        bits.align(8)
        bits.put(len(values), 32, False, False)
        for value in values:
            bits.align(8)
            bits.put(value, size, False, False)
    return ["%s __%s_length;" % (integer(32), name), "%s _%s[ __%s_length ];" % (integer(size, base=base), name, name)], put


def flags(name):
    """The flags of openat: an enumeration of two bits, and bits, in a structure."""
    labels = "".join("\t\t\t\"%s\" = %d,\n" % one for one in (("O_RDONLY", 0), ("O_WRONLY", 1), ("O_RDWR", 2)))
    lines = ["struct {", "\tenum : %s {\n%s\t\t} _access;" % (integer(2, align=1), labels)]
    lines += ["\t%s _O_%s;" % (integer(1, align=1), bit) for bit in ("CREAT", "EXCL", "CLOEXEC")]
    lines += ["\t%s _rest;" % integer(27, align=1), "} align(8) _%s;" % name]

    def put(bits, value):
        bits.align(8)
        for size, one in zip((2, 1, 1, 1, 27), value):
            bits.put(one, size, False, False)
    return lines, put


def polled(name):
    """A sequence of structures."""
    lines = ["%s _fds_length;" % integer(8), "struct {", "\t%s _fd;" % integer(32, 1), "\t%s _raw_events;" % integer(16, 1, base=16), "} align(8) _%s[ _fds_length ];" % name]

    def put(bits, values):
        bits.align(8)
        bits.put(len(values), 8, False, False)
        for fd, events in values:
            bits.align(8)
            bits.put(fd & 0xffffffff, 32, False, False)
            bits.put(events, 16, False, False)
    return lines, put


def header(name):
    """The header of a packet of the network: a variant whose tag has labels with an underscore."""
    tags = "".join("\t\t\"_%s\" = %s,\n" % one for one in (("unknown", "0 ... 3"), ("ipv4", "4"), ("ipv6", "6 ... 255")))
    lines = ["enum : %s {\n%s\t} _%s_type;" % (integer(8), tags, name), "variant <_%s_type> {" % name, "\tstruct { } _unknown;",
             "\tstruct {\n\t\t%s _tos;\n\t\t%s _tot_len;\n\t\t%s _saddr[4];\n\t} _ipv4;" % (
                 integer(8), integer(16, order=" byte_order = be;"), integer(8)),
             "\tstruct {\n\t\t%s _payload_len;\n\t} _ipv6;" % integer(16, order=" byte_order = be;"), "} _%s;" % name]

    def put(bits, value):
        kind = value[0]
        bits.align(8)
        bits.put(kind, 8, False, False)
        if kind == 4:
            bits.raw(struct.pack(">BH4B", *value[1:]))
        elif kind > 4:
            bits.raw(struct.pack(">H", value[1]))
    return lines, put


EVENTS = [
    ("sched_switch", [command("prev_comm"), number("prev_tid", 32, 1), number("prev_prio", 32, 1), number("prev_state", 64, 1), command("next_comm"),
                      number("next_tid", 32, 1), number("next_prio", 32, 1)]),
    ("sched_waking", [command("comm"), number("tid", 32, 1), number("prio", 32, 1), number("target_cpu", 32, 1)]),
    ("irq_handler_entry", [number("irq", 32, 1), text("name")]),
    ("irq_handler_exit", [number("irq", 32, 1), number("ret", 32, 1)]),
    ("syscall_entry_openat", [number("dfd", 32, 1), text("filename"), flags("flags"), number("mode", 16, base=8)]),
    ("syscall_exit_openat", [number("ret", 64, 1)]),
    ("syscall_entry_poll", [number("timeout_msecs", 32, 1), number("nfds", 32), polled("fds")]),
    ("syscall_exit_poll", [number("ret", 64, 1), number("nfds", 32)]),
    ("compat_syscall_entry_select", [number("n", 32, 1), sequence("readfds", 8, 16), sequence("tvp", 64)]),
    ("compat_syscall_exit_select", [number("ret", 64, 1)]),
    ("net_dev_queue", [number("skbaddr", 64, base=16), number("len", 32), text("name"), number("port", 16, big=True), header("network_header")]),
]
NUMBERS = {name: at for at, (name, _) in enumerate(EVENTS)}

TOP = """/* CTF 1.8 */

typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = false; } := unsigned long;
typealias integer { size = 5; align = 1; signed = false; } := uint5_t;
typealias integer { size = 27; align = 1; signed = false; } := uint27_t;

trace {
	major = 1;
	minor = 8;
	uuid = "50515253-5455-5657-5859-5a5b5c5d5e5f";
	byte_order = le;
	packet.header := struct {
		uint32_t magic;
		uint8_t  uuid[16];
		uint32_t stream_id;
		uint64_t stream_instance_id;
	};
};

env {
	hostname = "node";
	domain = "kernel";
	sysname = "Linux";
	kernel_release = "6.1.0";
	tracer_name = "lttng-modules";
	tracer_major = 2;
	tracer_minor = 13;
};

clock {
	name = "monotonic";
	uuid = "00112233-4455-6677-8899-aabbccddeeff";
	description = "Monotonic Clock";
	freq = 1000000000; /* Frequency, in Hz */
	/* clock value offset from Epoch is: offset * (1/freq) */
	offset = %d;
};

typealias integer {
	size = 27; align = 1; signed = false;
	map = clock.monotonic.value;
} := uint27_clock_monotonic_t;

typealias integer {
	size = 64; align = 8; signed = false;
	map = clock.monotonic.value;
} := uint64_clock_monotonic_t;

struct packet_context {
	uint64_clock_monotonic_t timestamp_begin;
	uint64_clock_monotonic_t timestamp_end;
	uint64_t content_size;
	uint64_t packet_size;
	uint64_t packet_seq_num;
	unsigned long events_discarded;
	uint32_t cpu_id;
};

struct event_header_compact {
	enum : uint5_t { compact = 0 ... 30, extended = 31 } id;
	variant <id> {
		struct {
			uint27_clock_monotonic_t timestamp;
		} compact;
		struct {
			uint32_t id;
			uint64_clock_monotonic_t timestamp;
		} extended;
	} v;
} align(8);

stream {
	id = 0;
	event.header := struct event_header_compact;
	packet.context := struct packet_context;
%s};

"""


def metadata(has_context):
    context = "\tevent.context := struct {\n\t\t%s _pid;\n\t\t%s _tid;\n\t};\n" % (integer(32, 1), integer(32, 1)) if has_context else ""
    blocks = [TOP % (OFFSET, context)]
    for number_, (name, fields) in enumerate(EVENTS):
        lines = [line for one, _ in fields for line in one]
        blocks.append("event {\n\tname = \"%s\";\n\tid = %d;\n\tstream_id = 0;\n\tfields := struct {\n\t\t%s\n\t};\n};\n\n" % (name, number_, "\n\t\t".join(lines)))
    return "".join(blocks).encode()


def packet(cpu, sequence, records, has_context):
    bits = Bits()
    for value, size in ((0xc1fc1fc1, 32), *((byte, 8) for byte in UUID), (0, 32), (cpu, 64), (records[0][0], 64), (records[-1][0], 64), (0, 64), (0, 64), (sequence, 64),
                        (0, 64), (cpu, 32)):
        bits.put(value, size, False, False)
    for at, (time, tid, name, values) in enumerate(records):
        bits.align(8)
        extended = at % 5 == 0
        bits.put(31 if extended else NUMBERS[name], 5, False, False)
        if extended:
            bits.align(8)
            bits.put(NUMBERS[name], 32, False, False)
            bits.put(time, 64, False, False)
        else:
            bits.put(time & (1 << 27) - 1, 27, False, False)
        for one in (tid // 100 * 100, tid) if has_context else ():
            bits.put(one, 32, False, False)
        for (_, put), value in zip(EVENTS[NUMBERS[name]][1], values):
            put(bits, value)
    content = bits.at
    bits.data += bytes(-len(bits.data) % 4096)
    bits.data[48:64] = struct.pack("<QQ", content, len(bits.data) * 8)
    return bytes(bits.data)


def scenario(rng):
    """Threads 200, 201 and 300 on two processors: each begins a system call on one and ends it on either, with interrupts between. The records of
    each processor, and the calls (tid, name, begin, end)."""
    streams, calls, now = ([], []), [], 1 << 40
    for step in range(120):
        cpu, tid = rng.randrange(2), rng.choice([200, 201, 300])

        def record(where, name, *values, of=tid):
            nonlocal now
            now += rng.randrange(100, 900000)
            streams[where].append((now, of, name, values))
            return now
        kind = rng.choice(["openat", "poll", "select", "irq", "net"])
        if kind == "net":
            chosen = rng.choice([(4, rng.randrange(256), 1500, 10, 0, 0, step), (6, 77), (2,)])
            record(cpu, "net_dev_queue", rng.getrandbits(63), 60 + step, "eth%d" % (step % 2), rng.randrange(65536), chosen)
            continue
        if kind == "irq":
            begin = record(cpu, "irq_handler_entry", 30 + step, "ahci")
            calls.append((tid, "irq_handler", begin, record(cpu, "irq_handler_exit", 30 + step, 1)))
            continue
        if kind == "openat":
            begin = record(cpu, "syscall_entry_openat", -100, "/tmp/file%d" % step, (rng.randrange(3), 1, 0, 1, step), 0o644)
        elif kind == "poll":
            begin = record(cpu, "syscall_entry_poll", -1, step % 4, [(i - 1, 0x41 + i) for i in range(step % 4)])
        else:
            begin = record(cpu, "compat_syscall_entry_select", 5, [rng.randrange(256) for _ in range(step % 3)], [step] * (step % 2))
        other, there = (300 if tid != 300 else 200), rng.randrange(2)
        record(cpu, "sched_switch", "worker", tid, 20, 1, "other", other, 20)
        record(cpu, "sched_waking", "worker", tid, 20, there, of=other)
        record(there, "sched_switch", "other", other, 20, 0, "worker", tid, 20, of=other)
        if kind == "select":
            end = record(there, "compat_syscall_exit_select", -4)
        else:
            end = record(there, "syscall_exit_" + kind, *((step,) if kind == "openat" else (1, step % 4)))
        calls.append((tid, "compat_syscall_select" if kind == "select" else "syscall_" + kind, begin, end))
    return streams, calls


def rows(path, sql, code=0):
    return json.loads(run("query", "--json", "--no-cache", path, sql, code=code).stdout)["results"][0]["rows"]


def make(name, streams, has_context):
    folder = os.path.join(FOLDER, name)
    os.makedirs(folder)
    with open(os.path.join(folder, "metadata"), "wb") as file:
        file.write(metadata(has_context))
    for cpu, records in enumerate(streams):
        half = len(records) // 2
        with open(os.path.join(folder, "channel0_%d" % cpu), "wb") as file:
            file.write(packet(cpu, 0, records[:half], has_context) + packet(cpu, 1, records[half:], has_context))
    return folder


def check_values(folder, streams):
    """Some fields of every record, as they were written."""
    found = collections.defaultdict(list)
    for row in rows(folder, "SELECT * FROM events WHERE kind = 'marker' ORDER BY start", code=None):
        found[row["name"]].append(row)
    for name in NUMBERS:
        written = sorted(record for stream in streams for record in stream if record[2] == name)
        check([r["start"] for r in found[name]] == [OFFSET + w[0] for w in written], "times of " + name)
        for row, (_, _, _, values) in zip(found[name], written):
            if name == "sched_switch":
                got, want = (row["prev_comm"], row["prev_tid"], row["next_comm"], row["next_tid"]), (values[0], values[1], values[4], values[5])
            elif name == "syscall_entry_openat":
                got = (row["filename"], row["flags.access.name"], row["flags.O_CREAT"], row["flags.O_EXCL"], row["flags.O_CLOEXEC"], row["flags.rest"], row["mode"])
                want = (values[1], ("O_RDONLY", "O_WRONLY", "O_RDWR")[values[2][0]], *values[2][1:], values[3])
            elif name == "syscall_entry_poll":
                got, want = json.loads(row["fds"]), [{"fd": fd, "raw_events": events} for fd, events in values[2]]
            elif name == "compat_syscall_entry_select":
                got, want = (json.loads(row["readfds"]), json.loads(row["tvp"])), (values[1], values[2])
            elif name == "net_dev_queue":
                got = (row["port"], row["network_header_type"], row["network_header.tot_len"], row["network_header.payload_len"])
                want = (values[3], values[4][0], 1500 if values[4][0] == 4 else None, 77 if values[4][0] == 6 else None)
            else:
                continue
            check(got == want, "%s: %s instead of %s" % (name, got, want))


def main():
    second = babeltrace.is_here()
    streams, calls = scenario(random.Random(5))
    folder = make("kernel", streams, True)
    check_values(folder, streams)
    ranges = rows(folder, "SELECT t.tid AS tid, e.name AS name, e.start AS start, e.duration AS duration FROM events e JOIN tracks t ON t.id = e.track WHERE e.kind = 'range'")
    got = sorted((r["tid"], r["name"], r["start"], r["duration"]) for r in ranges)
    check(got == sorted((tid, name, OFFSET + begin, end - begin) for tid, name, begin, end in calls), "calls: %s" % got[:5])
    facts = {r["key"]: r["value"] for r in rows(folder, "SELECT key, value FROM attributes")}
    check((facts["trace.env.domain"], facts["trace.env.tracer_name"]) == ("kernel", "lttng-modules"), str(facts))
    # Without the context tid, the thread of a system call is unknown.
    bare = make("bare", streams, False)
    check_values(bare, streams)
    found = rows(bare, "SELECT name, count(*) AS n FROM range GROUP BY name")
    check(found == [{"name": "irq_handler", "n": sum(1 for c in calls if c[1] == "irq_handler")}], "without threads: %s" % found)
    if second:
        for one in (folder, bare):
            check(babeltrace.compare(one, rows, check) == sum(map(len, streams)), "records of babeltrace2")
        again = os.path.join(FOLDER, "again")
        subprocess.run(["babeltrace2", "convert", folder, "-o", "ctf", "-w", again], check=True, stdout=subprocess.DEVNULL, timeout=120)
        written = next(at for at, _, files in os.walk(again) if "metadata" in files)
        check(babeltrace.compare(written, rows, check) == sum(map(len, streams)), "records that babeltrace2 wrote")
        check(len(rows(written, "SELECT 1 FROM range")) == len(calls), "calls that babeltrace2 wrote")
    print("%d records, %d calls; %s" % (sum(map(len, streams)), len(calls), "babeltrace2 reads the same" if second else "not compared with babeltrace2: it is not installed"))


main()
