# SPDX-License-Identifier: Apache-2.0
"""A folder of `tracesmith studio --export` on a host that only knows range requests; run by bench_studio_static.sh.  argv[1]: the folder.
Time, requests and bytes until the first picture, until all that is seen is exact, and for each of a series of parts in the middle of the
trace, down to single events. Memory is that of the process of the page (anonymous), with its worker and the reader. Then the same without
the detail, which a page of a large trace says."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["TRACESMITH_SOURCE_DIR"], "tests/studio"))
from browser import CHROMIUM  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402
from static_host import StaticHost  # noqa: E402
from studio import WATCH  # noqa: E402

DONE = """() => new Promise((done) => { const look = () => {
    if (window.timeline && studio.overview && studio.overview.detail !== "building" && timeline.isSettled) done();
    else requestAnimationFrame(look); }; look(); })"""
PAINTED = "() => new Promise((done) => { const look = () => window.painted ? done() : requestAnimationFrame(look); look(); })"
PARTS = (1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 3e-8)


def page_memory():
    """MB of the largest process that draws a page."""
    most = 0
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%s/cmdline" % name, encoding="utf-8", errors="replace") as file:
                is_page = "--type=renderer" in file.read()
            with open("/proc/%s/status" % name, encoding="ascii", errors="replace") as file:
                lines = dict(line.split(":", 1) for line in file)
        except (OSError, ValueError):
            continue  # not a process, or ended
        if is_page:
            most = max(most, int(lines["RssAnon"].split()[0]) / 1024)
    return most


class Meter:
    def __init__(self, host):
        self.host = host
        self.begin()

    def begin(self):
        self.since, self.requests = time.time(), len(self.host.sent)

    def say(self, what, end=None):
        sent = self.host.sent[self.requests:]
        print("%-28s %6.2f s, %4d requests, %7.2f MB" % (what, (end or time.time()) - self.since, len(sent), sum(length for _, length in sent) / 1e6))


def measure(chromium, host):
    context = chromium.new_context(viewport={"width": 1920, "height": 1080})
    page = context.new_page()
    page.set_default_timeout(600000)
    page.add_init_script(WATCH)
    page.goto("about:blank")
    meter = Meter(host)
    page.goto(host.url, wait_until="commit")
    page.evaluate(PAINTED)
    meter.say("first picture", page.evaluate("window.painted") / 1000)
    page.evaluate(DONE)
    meter.say("all that is seen of it")
    said = page.evaluate("() => document.querySelector('.timeline .state').textContent")
    whole = page.evaluate("() => studio.overview.duration")
    for part in PARTS[1:]:
        meter.begin()
        page.evaluate("([from, to]) => studio.setView(from, to)", [whole / 2, whole / 2 + whole * part])
        page.evaluate(DONE)
        shown = page.evaluate("() => { const forms = timeline.shown.map(({ tile }) => tile.preliminary ? 'index' : tile.slices ? 'events' : 'bars');"
                              " return [...new Set(forms)].sort().join(' and '); }")
        meter.say("%g of it: %s" % (part, shown))
    print("%-28s %6.0f MB; detail %s; %s" % ("page", page_memory(), page.evaluate("() => studio.overview.detail"), said or "nothing is said to be missing"))
    context.close()


def main(folder):
    host = StaticHost(folder=folder)
    print("%.1f MB, detail %.1f MB, load %s" % (os.path.getsize(host.path(0)) / 1e6, os.path.getsize(os.path.join(folder, host.list["traces"][0]["detail"])) / 1e6,
                                                open("/proc/loadavg", encoding="ascii").read().split()[0]))
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        measure(chromium, host)
        host.list["traces"][0]["detail"] = None
        with open(os.path.join(folder, "traces.json"), "w", encoding="utf-8") as file:
            json.dump(host.list, file)
        print("without its detail:")
        measure(chromium, host)
        chromium.close()
    host.stop()


if __name__ == "__main__":
    main(sys.argv[1])
