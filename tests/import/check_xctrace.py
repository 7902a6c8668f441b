# SPDX-License-Identifier: Apache-2.0
"""xctrace exports made here, against tests/reference/xctrace.py; and what is said of damaged ones."""
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape, quoteattr

sys.dont_write_bytecode = True
SOURCE = os.environ["TRACESMITH_SOURCE_DIR"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "reference"))
import xctrace  # noqa: E402

TRACESMITH = os.environ["TRACESMITH"]
FOLDER = tempfile.mkdtemp()


def check(right, *what):
    if not right:
        print("not true:", *what)
        sys.exit(1)


def view(path, code=0):
    done = subprocess.run([TRACESMITH, "view", "-f", "json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=240)
    check(code is None or done.returncode == code, path, "gave", done.returncode, done.stderr.decode())
    check(done.returncode in range(64), path, "gave", done.returncode)
    return (json.loads(done.stdout) if done.stdout else None), done.stderr.decode()


def texts(document):
    return "\n".join(e.get("text", "") for e in document["events"] if e["kind"] == "loss")


def write(name, text):
    path = os.path.join(FOLDER, name)
    with open(path, "wb") as out:
        out.write(text.encode() if isinstance(text, str) else text)
    return path


def compare(path, reference=None):
    document, _ = view(path)
    wanted, no_time = xctrace.expected(reference or path)
    got = xctrace.actual(document)
    check(wanted == got, path, "lacks", [sorted(map(str, e)) for e in list(wanted - got)[:2]], "\nhas too much",
          [sorted(map(str, e)) for e in list(got - wanted)[:2]])
    check(sum(e.get("lost", 0) for e in document["events"] if e["kind"] == "loss") == no_time, "lost", no_time)
    return document


class Export:
    """Says every element once and refers to it afterwards, as xctrace does."""

    def __init__(self):
        self.known, self.out = {}, []

    def element(self, tag, text="", fmt=None, inside=(), name=None):
        """`inside`: elements as arguments of this."""
        key = (tag, text, fmt, repr(inside), name)
        if key in self.known:
            return '<%s ref="%d"/>' % (tag, self.known[key])
        self.known[key] = len(self.known) + 1
        number = self.known[key]
        content = "".join(self.element(*e) if isinstance(e, tuple) else self.element(**e) for e in inside)
        return '<%s id="%d"%s%s>%s%s</%s>' % (
            tag, number, " fmt=" + quoteattr(fmt) if fmt is not None else "",
            " name=" + quoteattr(name) if name is not None else "", escape(str(text)), content, tag)

    def process(self, pid, name="app"):
        return dict(tag="process", fmt="%s (%d)" % (name, pid), inside=(("pid", pid, str(pid)),))

    def thread(self, pid, tid):
        return dict(tag="thread", fmt="Thread 0x%x (app, pid: %d)" % (tid, pid),
                    inside=(("tid", tid, "0x%x" % tid), self.process(pid)))

    def node(self, schema, columns, rows):
        head = '<schema name="%s">%s</schema>' % (schema, "".join(
            "<col><mnemonic>%s</mnemonic><name>%s</name></col>" % (c, c.title()) for c in columns)) if schema else ""
        body = "".join("<row>%s</row>" % "".join(
            "<sentinel/>" if c is None else self.element(**c) if isinstance(c, dict) else self.element(*c)
            for c in row) for row in rows)
        self.out.append("<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'>%s%s</node>" % (head, body))

    def text(self):
        return '<?xml version="1.0"?>\n<trace-query-result>\n%s</trace-query-result>\n' % "\n".join(self.out)


def label(export, title, pid):
    return dict(tag="formatted-label", fmt="%s ( app (%d) )" % (title, pid),
                inside=(("string", title, title), export.process(pid)))


def make(seed=1, rows=60):
    export, r = Export(), random.Random(seed)
    gpu = ["start", "duration", "channel-name", "frame-number", "start-latency", "event-label", "process", "gpu"]

    def gpu_rows(count):
        return [(("start-time", t * 1000, "00:00.%d" % t), ("duration", r.randrange(5) * 100, "x ns"),
                 ("gpu-channel-name", r.choice(["Compute", "Vertex"]), None), ("gpu-frame-number", r.randrange(3), "Frame"),
                 ("duration", 7, "7 ns"), label(export, "Command Buffer %d:Compute <&\u00e9>" % (t % 4), 40 + t % 2),
                 export.process(40 + t % 2), ("metal-device-name", "M3 Max", "M3 Max") if t % 3 else None)
                for t in (r.randrange(10**6) for _ in range(count))]

    export.node("metal-gpu-intervals", gpu, gpu_rows(rows))
    export.node(None, None, gpu_rows(rows))  # no schema: that of the node before
    export.node("time-profile", ["time", "thread", "process", "core", "thread-state", "weight", "stack"], [
        (("sample-time", t * 1000000, "s"), export.thread(40, 900 + t % 3), export.process(40), ("core", t % 8, "CPU"),
         ("thread-state", "Running", "Running"), ("weight", 1000000, "1.00 ms"),
         dict(tag="tagged-backtrace", fmt="main \u2190 (2 frames)", inside=(dict(tag="backtrace", inside=tuple(
             dict(tag="frame", name=f) for f in ["leaf%d" % (t % 5), "middle", "main"][t % 2:])),))) for t in range(rows)])
    export.node("os-signpost", ["time", "thread", "event-type", "name", "identifier", "message"], [
        (("event-time", t * 10, "t"), export.thread(40, 900), ("event-type", r.choice(["Begin", "End"]), None),
         ("signpost-name", "step", "step"), ("os-signpost-identifier", 2**64 - 1 - t, "0x"),
         ("os-log-metadata", "size=%d" % t, None)) for t in range(rows)])
    export.node("os-signpost-interval", ["start", "duration", "process", "name"], [
        (("start-time", 5, ""), ("duration", 6, ""), export.process(41), ("string", "interval", "interval")),
        (("start-time", 5, ""), None, ("process", "", "bare (77)"), ("string", "no end", None)),
        (("start-time", "soon", ""), ("duration", 6, ""), export.process(41), ("string", "no time", None)),
        (("start-time", 2**63, ""), ("duration", 6, ""), export.process(41), ("string", "no time", None))])
    export.node("metal-gpu-counter-intervals", ["start", "duration", "counter-name", "value"], [
        (("start-time", t, ""), ("duration", 1, ""), ("string", "ALU %d" % (t % 2), None), ("uint64", t * t, ""))
        for t in range(rows)])
    export.node("metal-application-event-interval", ["start", "duration", "thread", "label", "size", "depth"], [
        (("start-time", 50 + t, ""), ("duration", 6, ""), export.thread(41, 5), label(export, "submit", 41),
         ("size-in-bytes", 4096, "4.00 KiB"), ("metal-nesting-level", 0, "0")) for t in range(4)])
    export.node("foreign-table", ["when", "duration", "what", "where"], [
        (("start-time", 9, ""), ("duration", 1, ""), ("string", "a", "a"), ("double", "0.5", "0.5")),
        (("start-time", 10, ""), None, ("boolean", 1, "Yes"), ("narrative", "", None, (("string", "x", "x"),)))])
    return export.text()


def test_everything():
    compare(write("export.xml", make()))
    path = write("indented.xml", make(2).replace("><", ">\n    <").replace("?>\n    <trace", "?><trace"))
    compare(path)
    packed = write("export.xml.gz", gzip.compress(make().encode()))
    compare(packed, os.path.join(FOLDER, "export.xml"))
    document, _ = view(write("none.xml", Export().text()))
    check(not document["events"], "no rows")


def test_names():
    document, _ = view(write("export.xml", make()))
    names = {p["pid"]: p["name"] for p in document["processes"]}
    check(names == {40: "app", 41: "app", 77: "bare"}, names)
    devices = {d["name"] for d in document["devices"]}
    check(devices == {"M3 Max", "GPU"}, devices)


def test_dangling():
    text = make().replace('ref="', 'ref="9', 3)
    document, _ = view(write("dangling.xml", text))
    check("references to values that are not there" in texts(document), texts(document))


def test_attacks():
    bomb = ('<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">%s]><trace-query-result><node><row>&k;</row>'
            "</node></trace-query-result>") % "".join(
        '<!ENTITY %s "%s">' % (chr(98 + i), "&%s;" % chr(97 + i) * 10) for i in range(10))
    document, said = view(write("bomb.xml", bomb), code=None)
    check("document type" in said + (texts(document) if document else ""), said)
    secret = write("secret", "found")
    outside = ('<!DOCTYPE x [<!ENTITY s SYSTEM "file://%s">]><trace-query-result><node><row><string>&s;</string></row>'
               "</node></trace-query-result>") % secret
    document, said = view(write("outside.xml", outside), code=None)
    check("document type" in said and "found" not in json.dumps(document), said)
    deep = "<a>" * 100000
    for inside in ("<node><row>%s</row></node>" % deep, deep, "<node><row><start-time>1</start-time>%s%s</row></node>" %
                   ("<a>" * 40, "</a>" * 40), "<node><row>%s</row></node>" % ("<a>1</a>" * 400)):
        view(write("deep.xml", "<trace-query-result>%s</trace-query-result>" % inside), code=None)
    for inside in (deep, "<node><row>%s</row></node>" % deep):
        _, said = view(write("deep.xml", "<trace-query-result>%s" % inside), code=3)
        check("nested too deeply" in said, said)  # and not: read until the memory is gone
    huge = '<trace-query-result><node><row><start-time id="1">5</start-time><string fmt="%s">%s</string></row></node>' \
           "</trace-query-result>" % ("f" * 300000, "t" * 300000)
    document, _ = view(write("huge.xml", huge))
    check("too long" in texts(document), texts(document))


def test_damage():
    text = make().encode()
    whole = xctrace.actual(view(write("export.xml", text))[0])
    for cut in (30, 100, 5000, len(text) // 2, len(text) - 3):
        document, said = view(write("cut.xml", text[:cut]), code=None)
        if document:
            check(not xctrace.actual(document) - whole and "ends early" in texts(document), cut, texts(document))
        check("cannot be read beyond byte" in said or "no trace" in said, cut, said)
    document, said = view(write("cut.xml.gz", gzip.compress(text)[:-2000]), code=None)
    check("cannot be read beyond" in said, said)
    r = random.Random(7)
    for _ in range(40):
        damaged = bytearray(text)
        for _ in range(5):
            damaged[r.randrange(60, len(damaged))] = r.randrange(256)
        view(write("damaged.xml", damaged), code=None)


def main():
    try:
        for name, test in sorted(globals().items()):
            if name.startswith("test_"):
                test()
    finally:
        shutil.rmtree(FOLDER)


main()
