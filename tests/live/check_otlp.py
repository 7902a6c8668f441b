# SPDX-License-Identifier: Apache-2.0
"""--otlp: what a collector gets, decoded by the rules of OTLP's JSON form (and by its own protocol buffers, where they are), is what the file
has. Collectors that hang, refuse, answer nonsense or reject: the program and its trace are as without them, and what was not delivered
is counted."""
import base64
import collections
import http.server
import json
import os
import re
import socket
import subprocess
import sys
import threading

from support import TRACESMITH, check, run

PROGRAMS, WORK = sys.argv[1:3]
ROUNDS, PER_ROUND = 30, 57
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Collector(http.server.ThreadingHTTPServer):
    """Keeps what is posted. `answer` gives status and body by path."""
    daemon_threads = True

    def __init__(self, answer=lambda path: (200, b"{}")):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.got = answer, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, path=""):
        return "http://127.0.0.1:%d%s" % (self.server_address[1], path)

    def of(self, path):
        return [body for where, body in self.got if where == path]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        check(self.headers["Content-Type"] == "application/json", "the type: %s" % self.headers)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, json.loads(body)))
        status, answer = self.server.answer(self.path)
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def profile(url, name, rounds=ROUNDS, code=0, env=None):
    """The file and the line about --otlp."""
    path = os.path.join(WORK, name + ".sbt")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("TRACE", "OTEL_")) or key.startswith("TRACESMITH")}
    done = subprocess.run([TRACESMITH, "profile", "--otlp", url, "-o", path, "--", os.path.join(PROGRAMS, "cl_nvtx"), str(rounds)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=400, env=dict(environment, **(env or {})))
    errors = done.stderr.decode(errors="replace")
    check(done.returncode == code, "profile gave %d: %s" % (done.returncode, errors))
    return path, next((line for line in errors.splitlines() if "--otlp: " in line), "")


def query(path, sql):
    return json.loads(run("query", path, sql, "--json").stdout)["results"][0]["rows"]


def attributes(entries):
    made = {}
    for entry in entries:
        check(set(entry) == {"key", "value"} and len(entry["value"]) == 1 and entry["key"] not in made, "an attribute: %s" % entry)
        (kind, value), = entry["value"].items()
        check(isinstance(value, str) and kind in ("stringValue", "intValue"), "a value: %s" % entry)
        made[entry["key"]] = int(value) if kind == "intValue" else value
    return made


def read_protocol(message, which):
    """By the protocol buffers of OpenTelemetry, where they are installed: no unknown field, and ids of the right length."""
    try:
        from google.protobuf import json_format
        from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
    except ImportError:
        return False
    text = re.sub(r'"(traceId|spanId|parentSpanId)": "([0-9a-f]+)"',
                  lambda found: '"%s": "%s"' % (found.group(1), base64.b64encode(bytes.fromhex(found.group(2))).decode()), json.dumps(message))
    module = {"metrics": metrics_service_pb2, "traces": trace_service_pb2}[which]
    made = json_format.Parse(text, getattr(module, {"metrics": "ExportMetricsServiceRequest", "traces": "ExportTraceServiceRequest"}[which])())
    check(made.ByteSize() > 100, "an empty message")
    return True


def series_of(message):
    """Values by metric and labels; the rules of a sum and a gauge."""
    resource, = message["resourceMetrics"]
    scope, = resource["scopeMetrics"]
    check(scope["scope"]["name"] == "tracesmith", "the scope")
    series, kinds = {}, {}
    for metric in scope["metrics"]:
        kind, = set(metric) - {"name", "description", "unit"}
        check(kind in ("sum", "gauge") and metric["name"] not in kinds, "a metric: %s" % metric)
        kinds[metric["name"]] = kind
        if kind == "sum":
            check(metric[kind]["isMonotonic"] is True and metric[kind]["aggregationTemporality"] == 2, "a cumulative counter")
        for point in metric[kind]["dataPoints"]:
            check(int(point["startTimeUnixNano"]) <= int(point["timeUnixNano"]), "times")
            labels = tuple(sorted(attributes(point["attributes"]).items()))
            value, = set(point) - {"attributes", "startTimeUnixNano", "timeUnixNano"}
            check((metric["name"], labels) not in series, "once: %s %s" % (metric["name"], labels))
            series[metric["name"], labels] = int(point[value]) if value == "asInt" else round(point["asDouble"] * 1e9)
    return series, kinds, attributes(resource["resource"]["attributes"])


def check_metrics(collector, path):
    readings = [series_of(message) for message in collector.of("/x/v1/metrics")]
    check(readings, "no reading")
    for (before, kinds, _), (after, _, _) in zip(readings, readings[1:]):
        check(all(after[key] >= value for key, value in before.items() if kinds[key[0]] == "sum" and key in after), "no counter decreases")
    series, _, resource = readings[-1]
    check(len(series) <= 200, "%d series" % len(series))
    check(resource["service.name"] == "my service" and resource["process.executable.path"].endswith("cl_nvtx"), resource)
    row, = query(path, "SELECT count(*) AS n, sum(duration) AS time FROM kernel")
    check(series["tracesmith_kernels_total", (("kernel", "tick"),)] == row["n"] == ROUNDS * PER_ROUND, "launches")
    check(series["tracesmith_kernel_seconds_total", (("kernel", "tick"),)] == row["time"], "their time")
    check(series["tracesmith_kernels_total", (("kernel", "(other)"),)] == 0, "others")
    waits = query(path, "SELECT count(*) AS n, sum(duration) AS time FROM sync")[0]
    check(sum(value for (name, _), value in series.items() if name == "tracesmith_host_waits_total") == waits["n"], "waits")
    check(sum(value for (name, _), value in series.items() if name == "tracesmith_host_wait_seconds_total") == waits["time"], "time of waits")
    return readings


def spans_of(collector, path):
    spans = []
    for message in collector.of(path):
        resource, = message["resourceSpans"]
        scope, = resource["scopeSpans"]
        spans += scope["spans"]
    return spans


def check_spans(collector, path):
    spans = spans_of(collector, "/x/v1/traces")
    check(len({span["spanId"] for span in spans}) == len(spans), "ids are different")
    for span in spans:
        check(re.fullmatch("[0-9a-f]{16}", span["spanId"]) and int(span["spanId"], 16), "an id: %s" % span)
        check(span["traceId"] == TRACE and span["traceState"] == "vendor=1", "the caller's trace: %s" % span)
    root, = [span for span in spans if span["parentSpanId"] == PARENT]
    check(root["name"] == "cl_nvtx" and attributes(root["attributes"]) == {"process.exit.code": 0} and root["status"] == {"code": 1}, root)
    ranges = [span for span in spans if span is not root]
    check(all(span["parentSpanId"] == root["spanId"] for span in ranges), "ranges belong to the run")
    wanted = collections.Counter((row["name"], row["duration"]) for row in query(path, "SELECT name, duration FROM range WHERE duration IS NOT NULL"))
    got = collections.Counter((span["name"], int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])) for span in ranges)
    check(wanted and wanted == got, "ranges: %s and not %s" % (list(got)[:5], list(wanted)[:5]))
    pids = {row["pid"] for row in query(path, "SELECT pid FROM processes")}
    check({attributes(span["attributes"])["process.pid"] for span in ranges} <= pids, "processes")
    return len(spans)


def check_good():
    collector = Collector()
    path, said = profile(collector.url("/x/"), "good", env={"TRACEPARENT": "00-%s-%s-01" % (TRACE, PARENT), "TRACESTATE": "vendor=1", "OTEL_SERVICE_NAME": "my service"})
    check_metrics(collector, path)
    count = check_spans(collector, path)
    check({where for where, _ in collector.got} == {"/x/v1/metrics", "/x/v1/traces"}, "paths")
    found = re.search(r"--otlp: ([\d,]+) readings? of metrics and ([\d,]+) spans delivered$", said)
    check(found and int(found.group(1).replace(",", "")) == len(collector.of("/x/v1/metrics")), said)
    check(int(found.group(2).replace(",", "")) == count, said)
    known = [read_protocol(collector.of("/x/v1/" + which)[0], which) for which in ("metrics", "traces")]
    print("OpenTelemetry's protocol buffers:", "read" if all(known) else "not installed")
    return query(path, "SELECT kind, count(*) AS n FROM events WHERE kind IN ('kernel', 'range', 'sync') GROUP BY kind")


def check_contexts():
    """Without a caller's trace the spans have one of their own; a trace that is not recorded gets none."""
    wrong = ["", "00-%s-%s" % (TRACE, PARENT), "00-%s-%s-01-x" % (TRACE, PARENT), "ff-%s-%s-01" % (TRACE, PARENT), "00-%s-%s-01" % ("0" * 32, PARENT),
             "00-%s-%s-01" % (TRACE.upper(), PARENT), "00-%s-%s-0g" % (TRACE, PARENT)]
    traces = set()
    for text in wrong:
        collector = Collector()
        profile(collector.url(), "context", 1, env={"TRACEPARENT": text})
        spans = spans_of(collector, "/v1/traces")
        trace, = {span["traceId"] for span in spans}
        check(re.fullmatch("[0-9a-f]{32}", trace) and trace != TRACE, trace)
        check(sum("parentSpanId" not in span for span in spans) == 1 and all("traceState" not in span for span in spans), "one root")
        traces.add(trace)
    check(len(traces) == len(wrong), "every run has a trace of its own")
    collector = Collector()
    _, said = profile(collector.url(), "context", 1, env={"TRACEPARENT": "00-%s-%s-00" % (TRACE, PARENT)})
    check(not collector.of("/v1/traces") and collector.of("/v1/metrics") and "not recorded" in said, said)
    collector = Collector()
    profile(collector.url(), "context", 1, env={"TRACEPARENT": "01-%s-%s-03-more" % (TRACE, PARENT)})
    check({span["traceId"] for span in spans_of(collector, "/v1/traces")} == {TRACE}, "a later version")


def lost(said):
    found = re.search(r"not delivered: ([\d,]+) readings?, ([\d,]+) spans?", said)
    check(found, "no losses: " + said)
    return [int(part.replace(",", "")) for part in found.groups()]


def check_bad(wanted):
    """The trace has everything, whatever the collector does."""
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    silent.listen(64)  # connections are made, and none is answered
    unused = socket.socket()
    unused.bind(("127.0.0.1", 0))  # it does not listen
    ranges = next(row["n"] for row in wanted if row["kind"] == "range")
    for name, url, why in (("silent", "http://127.0.0.1:%d" % silent.getsockname()[1], "did not answer in time"),
                           ("refused", "http://127.0.0.1:%d" % unused.getsockname()[1], "Connection refused"),
                           ("status", Collector(lambda path: (503, b"no")).url(), "HTTP status 503"),
                           ("moved", Collector(lambda path: (307, b"no")).url(), "HTTP status 307")):
        path, said = profile(url, name)
        check(query(path, "SELECT kind, count(*) AS n FROM events WHERE kind IN ('kernel', 'range', 'sync') GROUP BY kind") == wanted, "the trace is another one with " + name)
        readings, spans = lost(said)
        check(readings >= 1 and spans == ranges + 1 and why in said, "%s: %s" % (name, said))
        check("0 readings of metrics and 0 spans delivered" in said, said)
    path, said = profile(Collector(lambda path: (200, b'{"partialSuccess":{"rejectedSpans":"2"}}')).url(), "partial", 1)
    check("rejected by the collector: 2" in said, said)
    for url in ("https://127.0.0.1:4318", "http://example.org:4318", "http://127.0.0.1:0", "http://127.0.0.1:99999", "127.0.0.1:4318", "http://127.0.0.1.example.org/",
                "http://localhost@example.org/", "http://127.0.0.1:4318/a b", "http://127.0.0.1:4318/?x", "http://0.0.0.0:4318", ""):
        done = run("profile", "--otlp", url, "true", code=2)
        check(b"loopback" in done.stderr, done.stderr)
    silent.close()
    unused.close()


check_bad(check_good())
check_contexts()
print("otlp: ok")
