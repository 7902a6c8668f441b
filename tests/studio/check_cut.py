# SPDX-License-Identifier: Apache-2.0
"""Where there is no network, only this machine's own address: the page of the server, with every panel, and a report as a phone shows it
with scripts off. No connection to elsewhere is tried.  usage: check_cut.py TRACE REPORT"""
import os
import socket
import sys

from browser import CHROMIUM, PANELS, opened
from playwright.sync_api import sync_playwright

PHONE = {"width": 390, "height": 800}


def check_network():
    """There is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))
        except OSError:
            return
    raise AssertionError("there is a network")


def check_page(path):
    with opened(path) as page:
        for panel in PANELS:
            assert page.show(panel).strip(), panel
        assert page.see("() => timeline.shown.some((part) => part.tile.count > 0)")


def check_report(path):
    """Everything is text, and within the width of a phone."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = chromium.new_context(viewport=PHONE, java_script_enabled=False, is_mobile=True, has_touch=True, offline=True).new_page()
        requests = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto("file://" + path)
        text = page.inner_text("body")
        for heading in ("What is missing", "What to fix first", "Timeline", "What the analyses found"):
            place = page.locator("h2", has_text=heading).first
            box = place.bounding_box()
            assert place.is_visible() and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"], (heading, box)
        assert page.locator("svg").first.is_visible(), "no picture"
        assert len(text) > 1000, text
        assert requests == ["file://" + path], requests
        size = page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
        assert size[0] <= PHONE["width"], size
        if os.environ.get("SCREENSHOTS"):
            page.screenshot(path=os.path.join(os.environ["SCREENSHOTS"], "phone.png"))
        chromium.close()


def main(path, report):
    check_network()
    check_page(path)
    check_report(report)
    print("without a network: the page, and a report on a phone without scripts")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
