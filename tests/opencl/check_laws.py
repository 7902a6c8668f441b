# SPDX-License-Identifier: Apache-2.0
"""check_laws.py NAME.json DRIVER: what holds in every trace of an OpenCL program, whatever the program does. Numbers that the
commands of TraceSmith print for NAME.sbt are computed again here from the events of NAME.json, and compared with each other
and with NAME.calls, the log of a layer below TraceSmith's (calls_layer.c): what the driver was asked to do."""
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from trace import Trace, expect

RATE_MOST = 1e12  # bytes per second; no processor's memory is that fast
ENQUEUED = {"kernel", "memcpy", "memset"}


def ask(*arguments):
    done = subprocess.run([os.environ["TRACESMITH"], *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    expect(done.returncode == 0, f"tracesmith {' '.join(arguments)}: {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def covered(spans):
    total, reached = 0, None
    for begin, end in sorted(spans):
        if reached is None or begin > reached:
            total, reached = total + end - begin, end
        elif end > reached:
            total, reached = total + end - reached, end
    return total


def span(event):
    return event["start"], event["start"] + event["duration"]


class Laws:
    def __init__(self, path):
        self.base = path.removesuffix(".json")
        self.trace = Trace(path)
        self.stats = ask("view", "--stats", "-f", "json", self.base + ".sbt")
        (answer,) = ask("analyze", "--json", "--all", self.base + ".sbt")["traces"]
        self.reports = {report["report"]: report for report in answer["reports"]}
        self.whole = answer["duration_ns"]
        self.work = self.trace.of(*ENQUEUED)
        self.timed = [e for e in self.work if "duration" in e]

    def table(self, report, name):
        return self.reports[report]["tables"][name]

    # The driver got as many commands as the trace has calls that enqueue, and each has its command or is in the ledger.
    # A program that died inside the driver (the tuner does on PoCL) made a call that never returned; the ledger says so.
    def check_counts(self):
        asked = Counter(line.split()[0] for line in open(self.base + ".calls"))
        called = Counter(call["name"] for call in self.trace.calls())
        died = sum(entry["lost"] for entry in self.trace.of("loss") if entry["reason"] == "process_died")
        for name, count in asked.items():
            if name.startswith("clEnqueue"):
                expect(0 <= count - called[name] <= died, f"{name}: the driver got {count}, the trace has {called[name]}")
                died -= count - called[name]
        commands = Counter((self.trace.pid(e), e["correlation"]) for e in self.trace.commands())
        expect(not [key for key, count in commands.items() if count > 1], "a call has two commands")
        launched = [c for c in self.trace.calls() if c["name"].startswith("clEnqueue") and c["result"] == 0]
        without = [c for c in launched if (self.trace.pid(c), c["correlation"]) not in commands]
        lost = sum(entry["lost"] for entry in self.trace.of("loss") if entry["reason"] == "no_completion")
        expect(len(without) == lost, f"{len(without)} calls have no command, the ledger has {lost}")
        sums = Counter()
        for event in self.trace.events:
            sums[event["kind"]] += event["kind"] != "loss"
        kinds = {kind: count for kind, count in self.stats["kinds"].items() if kind != "loss"}
        expect(kinds == {kind: count for kind, count in sums.items() if count}, f"{kinds}, events: {dict(sums)}")

    def check_totals(self):
        sums = defaultdict(lambda: [0, 0, 0])
        for e in self.trace.of("kernel", "memcpy", "memset", "api", "sync", "compile"):
            named = e["kind"] not in ("memcpy", "memset")
            key = e["kind"], e.get("name") if named else None, None if named else e.get("operation"), e.get("direction")
            sums[key][0] += 1
            sums[key][1] += "duration" in e
            sums[key][2] += e.get("duration", 0)
        for row in self.stats["totals"]:
            key = row["kind"], row["name"], row["operation"], row["direction"]
            if key[0] not in ("kernel", "memcpy", "memset", "api"):
                continue
            had = [row["count"], row["timed"], row["total_ns"] or 0]
            expect(sums[key] == had, f"{key}: stats has {had}, the events {sums[key]}")
            rate = row.get("bytes_per_second") or 0
            expect(rate < RATE_MOST, f"{key}: {rate / 1e9:.0f} GB/s")
        kernels = defaultdict(lambda: [0, 0])
        for e in self.trace.of("kernel"):
            kernels[e["name"]][0] += 1
            kernels[e["name"]][1] += e.get("duration", 0)
        for row in self.table("kernels", "kernels"):
            had = [row["count"], row["total_ns"] or 0]
            timed = sum(1 for e in self.trace.of("kernel") if e["name"] == row["kernel"] and "duration" in e)
            expect(had in (kernels[row["kernel"]], [timed, kernels[row["kernel"]][1]]), f"{row}: {kernels[row['kernel']]}")
        for row in self.table("bandwidth", "directions"):
            for rate in (row["mean_bytes_per_s"], row["fastest_bytes_per_s"]):
                expect((rate or 0) < RATE_MOST, f"{row['direction']}: {rate / 1e9:.0f} GB/s")

    # The busy time of a device is the same number in every answer.
    def check_busy(self):
        spans = defaultdict(list)
        for e in self.timed:
            spans[self.trace.tracks[e["track"]]["device"]].append(span(e))
        for row in self.stats["device_busy"]:
            expect(row["busy_ns"] == covered(spans[row["device"]]), f"{row}: the events cover {covered(spans[row['device']])}")
        if len(spans) != 1:
            return
        (only,) = spans.values()
        busy = covered(only)
        rows = {row["running"]: row["time_ns"] for row in self.table("streams", "concurrency")}
        expect(sum(time for running, time in rows.items() if running) == busy, f"streams: {rows}, busy {busy}")
        (row,) = self.table("breakdown", "devices")
        parts = [row[part + "_ns"] for part in ("compute", "communication", "copy")]
        expect(row["span_ns"] == max(e for _, e in only) - min(b for b, _ in only), f"breakdown: {row}")
        expect(sum(parts) == busy and sum(parts) + row["idle_ns"] == row["span_ns"], f"breakdown: {row}, busy {busy}")
        causes = self.table("idle", "causes")
        expect(abs(sum(c["time_ns"] for c in causes) - self.whole) <= 1, f"idle: {sum(c['time_ns'] for c in causes)} of {self.whole}")

    # The path goes from the first call to the last end without a hole; no part is more than there was of it.
    def check_path(self):
        parts = {row["what"]: row["time_ns"] for row in self.table("critical_path", "path")}
        length = sum(parts.values())
        calls = [e for e in self.trace.of("api", "alloc", "free", "object", "compile") if "duration" in e]
        spans = [span(e) for e in self.timed + calls]
        begin, end = min(b for b, _ in spans), max(e for _, e in spans)
        notes = " ".join(self.reports["critical_path"]["notes"])
        expect(length <= end - begin, f"the path is {length} ns of {end - begin}")
        expect(length >= 0.99 * (end - begin) or "The path begins" in notes, f"the path is {length} ns of {end - begin}: {notes}")
        by_kind = defaultdict(list)
        for e in self.timed:
            by_kind["compute" if e["kind"] == "kernel" else "copy"].append(span(e))
        for what, events in by_kind.items():
            expect(parts.get(what, 0) <= covered(events), f"{what}: {parts} of {covered(events)}")
        for row in self.table("advice", "advice"):
            expect(0 <= row["saves_ns"] <= self.whole, f"advice: {row} of {self.whole}")
            expect(0 <= row["at_ns"] and row["at_ns"] + row["length_ns"] <= self.whole, f"advice: {row} of {self.whole}")

    def check_waits(self):
        rows = self.table("sync", "waits")
        recorded = Counter(e["name"] for e in self.trace.of("sync") if "duration" in e)
        called = Counter(call["name"] for call in self.trace.calls())
        for row in rows:
            expect(recorded[row["call"]] <= row["count"] <= called[row["call"]], f"{row}: {recorded}")
            expect((row["device_work_ns"] or 0) + (row["return_delay_ns"] or 0) <= row["total_ns"], str(row))
        for wait in self.stats["waits"]:
            causes = sum(cause["ns"] for cause in wait["for"]) + wait["nothing_ran_ns"]
            expect(causes <= wait["total_ns"] + 1, f"{wait} has {causes} ns of causes")

    # What is in the ledger as missing is in no table; what lacks only its times is in one.
    def check_ledger(self):
        lost = Counter()
        for entry in self.trace.of("loss"):
            lost[entry["reason"]] += entry["lost"]
        expect(dict(lost) == self.stats["lost"]["by_reason"], f"{dict(lost)}: {self.stats['lost']}")
        untimed = len(self.work) - len(self.timed)
        expect(untimed <= lost["no_timing"], f"{untimed} commands without times, {lost['no_timing']} in the ledger")

    # Chrome's format has no room for some fields, but the kernels and their times come back.
    def check_export(self):
        out = self.base + ".chrome.json"
        subprocess.run([os.environ["TRACESMITH"], "export", self.base + ".sbt", "-f", "chrome", "-o", out], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        (result,) = ask("query", "--json", out, "SELECT name, count(*), sum(duration) FROM kernel GROUP BY name")["results"]
        sums = defaultdict(lambda: [0, None])
        for e in self.trace.of("kernel"):
            sums[e["name"]][0] += 1
            if "duration" in e:
                sums[e["name"]][1] = (sums[e["name"]][1] or 0) + e["duration"]
        got = {row[0]: row[1:] for row in (r if isinstance(r, list) else list(r.values()) for r in result["rows"])}
        expect(got == dict(sums), f"{got}, exported were {dict(sums)}")

    # A trace does not differ from itself.
    def check_diff(self):
        diff = ask("diff", "--json", self.base + ".sbt", self.base + ".sbt")["diff"]
        for name, rows in diff["tables"].items():
            for row in rows:
                expect(not row.get("change_ns"), f"diff with itself, {name}: {row}")

    # No sentence has a share above all, or a number that is none.
    def check_sentences(self):
        for report in self.reports.values():
            for text in [report["finding"], *report["notes"]]:
                for share in re.findall(r"([0-9.]+)%", text):
                    expect(float(share) <= 100, f"{report['report']}: {text}")
                expect(not re.search(r"\bnan\b|\binf\b|-[0-9.]+ [num]?s\b|184467|9223372", text), f"{report['report']}: {text}")

    def check(self):
        checks = [getattr(self, name) for name in dir(self) if name.startswith("check_")]
        for check in checks:
            check()
        if sys.argv[2] != "intel":  # its blocking calls return before the command's END
            self.trace.check_order()
        print(f"{os.path.basename(self.base)}: {len(self.trace.events)} events, {len(self.work)} commands, {len(self.timed)} with times")


Laws(sys.argv[1]).check()
