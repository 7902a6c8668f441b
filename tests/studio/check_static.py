# SPDX-License-Identifier: Apache-2.0
"""The page of an exported folder, from a web server that only knows range requests: what it draws is what SQL has, as from the server of
studio; its panels show the answers that were written next to the traces; for other questions they name the command. Without range requests
it is slower and the same. Damaged traces, and a reader that traps, are reported and do not hang it.
usage: check_static.py VIEWPORTS CLANG FOLDER TRACE..."""
import json
import os
import random
import subprocess
import sys

from browser import opened
from check_pixels import DRAWN, check_losses, check_row, check_viewports
from static_host import StaticHost

REFUSED = "Not available on a static host"
# As the reader, but for a trap when a trace is opened.
TRAP = r"""
static char room[4096];
__attribute__((export_name("room"))) char *give(unsigned long size) { return size < sizeof room ? room : 0; }
__attribute__((export_name("open"))) int opens(void) { __builtin_trap(); }
"""


def check_panels(page, command):
    stored = json.loads(subprocess.run([os.environ["TRACESMITH"], "analyze", command, "--json"], capture_output=True, check=True).stdout)
    findings = [report["finding"] for report in stored["traces"][0]["reports"] if report["report"] == "overview"]
    text = page.show("findings")
    assert REFUSED not in text and all(one.split(".")[0] in text for one in findings), (findings, text[:500])
    for panel in ("analysis", "flame", "losses"):
        assert REFUSED not in page.show(panel), panel
    page.show("sql")
    page.page.click(".panel:not([hidden]) button.main")
    page.page.wait_for_function("() => !document.querySelector('.panel:not([hidden]) .waiting')")
    text = page.page.inner_text(".panel:not([hidden])")
    assert REFUSED in text and "tracesmith query 0/" in text, text
    for panel in ("diff", "ranks", "replay", "info", "table", "memory", "whatif", "event", "range"):
        page.show(panel)


def check_pictures(viewports, traces):
    host = StaticHost(*traces)
    assert any("parts" in trace for trace in host.list["traces"]), host.list["traces"]
    with opened(server=host) as page:
        for number in range(len(traces)):
            page.see("(number) => studio.open(number)", number)
            page.settle()
            check_viewports(page, viewports, number)
            check_losses(page, number)
        page.see("() => studio.open(0)")
        page.settle()
        check_panels(page, host.path(0))
    assert host.sent and all(name.endswith((".sbt", "/parts.bin")) for name, _ in host.sent), host.sent[:3]
    print("%d traces; %d ranges of %d bytes" % (len(traces), len(host.sent), sum(length for _, length in host.sent)))


def check_no_ranges(trace):
    host = StaticHost(trace)
    host.has_ranges = False
    with opened(server=host) as page:
        check_viewports(page, 2, 0)
    assert not host.sent


def check_damage(trace, clang, folder):
    host = StaticHost(trace)
    path = host.path(0)
    with open(path, "rb") as file:
        data = file.read()
    # Half of it: what is there is shown, and that it is not all.
    with open(path, "wb") as file:
        file.write(data[:len(data) // 2])
    with opened(server=host) as page:
        assert "incomplete" in page.page.inner_text("header .warning")
    host = StaticHost(trace)
    with open(host.path(0), "wb") as file:
        file.write(b"no trace")
    with opened(server=host, wait=False) as page:
        page.page.wait_for_selector("p.warning")
        assert "is not an SBT trace" in page.page.inner_text("p.warning"), page.page.inner_text("p.warning")
    host = StaticHost(trace)
    source = os.path.join(folder, "trap.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(TRAP)
    subprocess.run([clang, "--target=wasm32", "-O1", "-nostdlib", "-Wl,--no-entry", source, "-o", os.path.join(host.folder, "reader.wasm")],
                   check=True)
    with opened(server=host, wait=False) as page:
        page.page.wait_for_selector("p.warning")
        assert "The reader stopped at this file" in page.page.inner_text("p.warning"), page.page.inner_text("p.warning")


class Kernels:
    """The events of tests/programs/sbt_large.c, as check_row asks for them."""

    def __init__(self, count):
        self.count = count

    @staticmethod
    def length(kernel):
        return 100 * (1 + kernel // 4096 % 9)

    def busy_before(self, time):
        kernel = min(max(int(time // 1000), 0), self.count)
        stretch, rest = divmod(kernel, 4096)
        cycles, stretches = divmod(stretch, 9)
        whole = 4096 * (cycles * 4500 + 50 * stretches * (stretches + 1)) + rest * 100 * (1 + stretches)
        return whole + (min(max(time - kernel * 1000, 0), self.length(kernel)) if kernel < self.count else 0)

    def first_from(self, time):
        """The first kernel that begins at `time` or after it."""
        return min(max(-(-time // 1000), 0), self.count)

    def load(self, first, last):
        busy = (self.busy_before(last) - self.busy_before(first)) / (last - first)
        if busy > 0:
            return max(busy, 0.03) * 0.94
        return 0.06 if self.first_from(last) > self.first_from(first) else 0

    def touches(self, first, last):
        return self.first_from(last) > self.first_from(first) or self.busy_before(last) > self.busy_before(first)

    def covers(self, first, last):
        kernel = int(first // 1000)
        return 0 <= kernel < self.count and last <= kernel * 1000 + self.length(kernel)


def check_large(viewports, trace, folder):
    """A trace whose detail is more than a page holds: the coarse part of it is fetched, and of the rest what is seen. Without it the page
    says what it does not know, and shows it where it is enlarged."""
    large, detail, count = os.path.join(folder, "large.sbt"), os.path.join(folder, "large.detail"), 18000000
    subprocess.run([os.path.join(os.environ["TRACESMITH_BUILD_DIR"], "tests/programs/sbt_large"), large, detail, str(count)], check=True)
    tracks = {1: Kernels(count)}
    host = StaticHost(trace)
    host.put(large, detail)
    with opened(server=host) as page:
        assert page.see("() => studio.overview.events") == count
        assert page.see("() => studio.overview.kept"), "all events were read"
        assert page.page.inner_text(".timeline .state") == ""
        asked = {name for name, _ in host.sent}
        assert any(name.endswith(".detail") for name in asked), asked
        loads, singles = check_viewports(page, viewports, tracks=tracks)
    print("%d events: %d rows by load, %d by event" % (count, loads, singles))
    host = StaticHost(trace)
    host.put(large, None, {"filled": 1000})
    with opened(server=host, wait=False) as page:
        page.page.wait_for_function("() => document.querySelector('.timeline .state')?.textContent.includes('without its detail')")
        assert "tracesmith studio --export" in page.page.inner_text(".timeline .state")
        assert page.see("() => studio.overview.detail") == "absent"
        page.see("([first, last]) => studio.setView(first, last)", [5e9, 5.00005e9])
        page.page.wait_for_function("() => timeline.isSettled && timeline.shown.some((part) => part.tile.slices)")
        assert page.page.inner_text(".timeline .state") == ""
        first, per_pixel = page.see("() => [studio.view.from, timeline.nsPerPixel]")
        rows = page.see(DRAWN)
        assert rows and not rows[0]["isLoad"], rows
        for row in rows:
            check_row(tracks[row["track"]], row, first, per_pixel)


def main(viewports, clang, folder, *traces):
    random.seed(5)
    check_pictures(int(viewports), traces)
    check_no_ranges(traces[0])
    check_damage(traces[0], clang, folder)
    check_large(int(viewports), traces[0], folder)


main(*sys.argv[1:])
