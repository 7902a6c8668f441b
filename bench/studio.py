# SPDX-License-Identifier: Apache-2.0
"""Figures of `tracesmith studio`; run by bench_studio.sh. argv[1]: a folder with large.sbt, ten.sbt and demo.sbt.

First paint: from the start of the command to the first frame with events in it; the browser runs already and has an empty tab, whose
making is said apart. Warm: the trace was opened before, so that its detail was kept and the file is in the page cache; cold: neither.
Best of several, since other programs of the machine only make it longer. Bytes: all that the server had sent until then. Detail: the first start, from the opened file until all
its events are in tiles, processor time of the server; the size is that of the file in which it is kept. Tiles: HTTP round trips of one connection, at random places and levels. Frames: what the page takes to draw one while
it moves and zooms, on a screen of 1920 x 1080 with 40 rows; the time between frames, which is 16.7 ms at best; and the processor time
of all processes of the browser for a frame. By what the page chooses, and by WebGL2. Memory: of the
server (anonymous, and with the mapped file), of the page's heap.
"""
import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests/studio"))
from browser import CHROMIUM, SETTLED  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402
from server import Server  # noqa: E402

WATCH = """(() => { const look = () => {
    if (window.timeline && timeline.shown.some((part) => part.tile.count)) window.painted = performance.timeOrigin + performance.now();
    else requestAnimationFrame(look); }; requestAnimationFrame(look); })()"""
MOVE = """async (steps) => {
    const frame = () => new Promise((done) => requestAnimationFrame(done)), whole = studio.overview.duration;
    const between = [];
    timeline.frames.length = 0;
    studio.setView(0, whole);
    let last = await frame();
    for (let i = 0; i < steps; i++) {
      if (i % 40 < 20) studio.zoom(i % 80 < 40 ? 0.8 : 1.25, studio.view.from + (studio.view.to - studio.view.from) * 0.4);
      else studio.pan(i % 80 < 40 ? 0.07 : -0.07);
      const now = await frame();
      between.push(now - last);
      last = now;
    }
    return [timeline.frames, between]; }"""

# A trace of PyTorch's profiler; None without the corpus.
OWLV2 = (os.environ["TRACESMITH_CORPUS"] + "/traces_h100_google_owlv2-large-patch14-ensemble__1016001.json.gz"
         if "TRACESMITH_CORPUS" in os.environ else None)


def percentile(values, share):
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def server_process(server):
    """The child that serves: the command has become it, or waits for it."""
    pid = server.process.pid
    children = open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii").read().split()
    return int(children[0]) if children else pid


def status(pid, name):
    for line in open("/proc/%d/status" % pid, encoding="ascii"):
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    return 0


def processor(pid):
    fields = open("/proc/%d/stat" % pid, encoding="ascii").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def drop(path):
    os.sync()
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def browser_processor():
    """Of the processes below this one that are the browser's."""
    parents, used = {}, {}
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%s/stat" % name, encoding="ascii", errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            with open("/proc/%s/cmdline" % name, encoding="utf-8", errors="replace") as file:
                is_browser = "chrom" in file.read()
        except OSError:
            continue  # not a process, or ended
        parents[name] = fields[1]
        if is_browser:
            used[name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    total = 0
    for name, seconds in used.items():
        above = name
        while above in parents and above != str(os.getpid()):
            above = parents[above]
        total += seconds if above == str(os.getpid()) else 0
    return total


def first_paint(chromium, path, options):
    begin = time.time()
    context = chromium.new_context(viewport={"width": 1920, "height": 1080})
    page = context.new_page()
    sent = []
    client = context.new_cdp_session(page)
    client.send("Network.enable")
    client.on("Network.loadingFinished", lambda event: sent.append((event["timestamp"], event["encodedDataLength"])))
    page.add_init_script(WATCH)
    page.goto("about:blank")
    tab = time.time() - begin
    begin = time.time()
    server = Server(path, options=options)
    page.goto(server.url, wait_until="commit")
    page.evaluate("() => new Promise((done) => { const look = () => window.painted ? done() : requestAnimationFrame(look); look(); })")
    took = page.evaluate("window.painted") / 1000 - begin
    size = sum(length for _, length in sent)
    in_page = page.evaluate("window.painted - performance.timeOrigin") / 1000
    return server, context, tab, took, in_page, size


def report_paint(chromium, path, rounds):
    for name, before, options in (("warm", lambda: None, []), ("cold", lambda: drop(path), ["--no-cache"])):
        took, pages, tabs, sizes = [], [], [], []
        for _ in range(rounds):
            before()
            server, context, tab, seconds, in_page, size = first_paint(chromium, path, options)
            took.append(seconds)
            pages.append(in_page)
            tabs.append(tab)
            sizes.append(size)
            context.close()
            server.stop()
        print("first paint, %s     best %.0f ms, median %.0f ms (of it the page %.0f ms), after a new tab of %.0f ms; %.0f kB sent" % (
            name, 1e3 * min(took), 1e3 * statistics.median(took), 1e3 * min(pages), 1e3 * min(tabs), max(sizes) / 1e3))


def report_answer(chromium, path, rounds):
    """A compressed trace of another tool, never opened before: from the start of the command to the picture, and to the findings."""
    pictures, answers = [], []
    for _ in range(rounds):
        context = chromium.new_context(viewport={"width": 1920, "height": 1080})
        page = context.new_page()
        page.add_init_script(WATCH)
        page.goto("about:blank")
        begin = time.time()
        server = Server(path, options=["--no-cache"])
        page.goto(server.url, wait_until="commit")
        page.wait_for_selector(".problems", state="attached")
        answers.append(time.time() - begin)
        pictures.append(page.evaluate("window.painted") / 1000 - begin)
        context.close()
        server.stop()
    print("first answer        %.2f MB of Kineto: picture %.2f s, findings %.2f s (medians; most %.2f and %.2f)" % (
        os.path.getsize(path) / 1e6, statistics.median(pictures), statistics.median(answers), max(pictures), max(answers)))


def kept(folder):
    """Bytes below a folder."""
    return sum(os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(folder) for name in names)


def report_detail(path, cache):
    Server(path).enter().wait().stop()  # keeps it
    server = Server(path, options=["--no-cache"]).enter()
    pid = server_process(server)
    while server.json("/api/traces")["traces"][0]["state"] == "opening":
        pass
    begin, cpu = time.time(), processor(pid)
    overview = server.json("/api/0/overview")
    while server.json("/api/0/overview")["detail"] != "ready":
        time.sleep(0.05)
    took, used = time.time() - begin, processor(pid) - cpu
    events = overview["events"]
    size = os.path.getsize(path)
    assert not overview["kept"]
    print("detail              %.0f M events/s per core, %.0f M/s on the wall (%.2f s); %.1f MB kept, %.1f %% of the file" % (
        events / used / 1e6, events / took / 1e6, took, kept(cache) / 1e6, 100 * kept(cache) / size))
    report_tiles(server, overview)
    print("server              %.0f MB anonymous, %.0f MB with mapped files, at most %.0f MB" % (
        status(pid, "RssAnon"), status(pid, "VmRSS"), status(pid, "VmHWM")))
    server.stop()


def report_tiles(server, overview):
    random.seed(1)
    connection = http.client.HTTPConnection(server.address, server.port)
    times = []
    top = overview["duration"].bit_length() - 9
    for _ in range(600):
        track, level = random.choice(overview["tracks"]), random.randint(4, top + 1)
        index = random.randint(track["first"] // (512 << level), track["last"] // (512 << level))
        begin = time.perf_counter()
        connection.request("GET", "/api/0/tile/%d/%d/%d" % (track["id"], level, index), headers={"Host": server.host, "Cookie": server.cookie})
        connection.getresponse().read()
        times.append(time.perf_counter() - begin)
    print("tile                p50 %.2f ms, p99 %.2f ms" % (1e3 * percentile(times, 0.5), 1e3 * percentile(times, 0.99)))


def write_rows(path, tracks, each):
    random.seed(2)
    events = []
    for track in range(tracks):
        at = 0.0
        for i in range(each):
            length = random.uniform(2, 30)
            events.append({"ph": "X", "cat": "kernel", "name": "kernel_%d" % (i % 37), "pid": 0, "tid": track, "ts": round(at, 3),
                           "dur": round(length, 3), "args": {"device": 0, "stream": track}})
            at += length + random.uniform(0, 20)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)


def report_frames(chromium, path, what, gl=False):
    server = Server(path)
    context = chromium.new_context(viewport={"width": 1920, "height": 1080})
    page = context.new_page()
    page.goto(server.url)
    page.evaluate(SETTLED)
    page.evaluate("() => document.querySelector('main').style.setProperty('--timeline', '96%')")
    if gl:
        page.evaluate("() => timeline.drawBy(true)")
    page.evaluate(MOVE, 80)  # tiles are fetched
    page.evaluate(SETTLED)
    used = browser_processor()
    frames, between = page.evaluate(MOVE, 240)
    used = (browser_processor() - used) / 240
    rows = page.evaluate("() => timeline.visibleRows().length")
    client = context.new_cdp_session(page)
    client.send("HeapProfiler.collectGarbage")
    heap = client.send("Runtime.getHeapUsage")["usedSize"] / 1e6
    print("frames, %s  %d rows, %s: draw p50 %.1f ms, p99 %.1f ms, most %.1f ms; between frames p50 %.1f ms, p99 %.1f ms, most %.1f ms; processor %.1f ms; heap %.0f MB" % (
        what, rows, page.evaluate("() => timeline.rendererName"), percentile(frames, 0.5), percentile(frames, 0.99), max(frames),
        percentile(between, 0.5), percentile(between, 0.99), max(between), 1e3 * used, heap))
    context.close()
    server.stop()


def report_reports(folder):
    pages = [("demo", folder + "/demo.sbt", 350e3), ("10 M events", folder + "/ten.sbt", 5e6)]
    if OWLV2:
        pages.append(("owlv2", OWLV2, 700e3))
    for name, path, most in pages:
        out = folder + "/report.html"
        subprocess.run([os.environ["TRACESMITH"], "report", path, "-o", out], check=True, capture_output=True)
        print("report, %-12s %.0f kB (asked %.0f)" % (name, os.path.getsize(out) / 1e3, most / 1e3))


def main(folder):
    large, cache = folder + "/large.sbt", folder + "/cache"
    os.environ["XDG_CACHE_HOME"] = cache  # empty: the first start is the first of this trace
    print("%.0f MB, load %s" % (os.path.getsize(large) / 1e6, open("/proc/loadavg", encoding="ascii").read().split()[0]))
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        report_detail(large, cache)
        report_paint(chromium, large, 5)
        if OWLV2:
            report_answer(chromium, OWLV2, 5)
        rows = folder + "/rows.json"
        write_rows(rows, 40, 10000)
        report_frames(chromium, rows, "40 tracks  ")
        report_frames(chromium, rows, "40 tracks  ", gl=True)
        report_frames(chromium, large, "large file ")
        chromium.close()
    report_reports(folder)


if __name__ == "__main__":
    main(sys.argv[1])
