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
from check_pixels import check_losses, check_viewports
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
    with opened(server=host) as page:
        for number in range(len(traces)):
            page.see("(number) => studio.open(number)", number)
            page.settle()
            check_viewports(page, viewports, number)
            check_losses(page, number)
        page.see("() => studio.open(0)")
        page.settle()
        check_panels(page, host.path(0))
    assert host.sent and all(name.endswith(".sbt") for name, _ in host.sent), host.sent[:3]
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


def main(viewports, clang, folder, *traces):
    random.seed(5)
    check_pictures(int(viewports), traces)
    check_no_ranges(traces[0])
    check_damage(traces[0], clang, folder)


main(*sys.argv[1:])
