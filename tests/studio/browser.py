# SPDX-License-Identifier: Apache-2.0
"""The page of `tracesmith studio` in Debian's Chromium, driven by Playwright. What goes wrong on it is collected: errors and
warnings of the console, failed requests, requests to other places, dialogs."""
import contextlib

from playwright.sync_api import sync_playwright
from server import Server

CHROMIUM = "/usr/bin/chromium"
PANELS = ["findings", "event", "range", "analysis", "flame", "memory", "whatif", "diff", "ranks", "replay", "sql", "table", "losses", "info"]
# Frames are waited for, not time.
SETTLED = """() => new Promise((done, fail) => { const look = () => {
    const failed = document.querySelector("#studio > p.warning");
    if (failed) fail(new Error("the page gave up: " + failed.textContent));
    else if (window.timeline && studio.overview && studio.overview.detail === "ready" && timeline.isSettled && studio.isAddressed) done();
    else requestAnimationFrame(look); }; look(); })"""
ANSWERED = """() => new Promise((done) => { const look = () => {
    const panel = document.querySelector(".panel:not([hidden])");
    if (panel && panel.childElementCount && !panel.querySelector(".waiting")) done(); else requestAnimationFrame(look); }; look(); })"""


class Page:
    def __init__(self, server, context):
        self.server, self.wrong = server, []
        self.page = context.new_page()
        self.page.set_default_timeout(400000)  # nothing is decided by it: the machine may be slow
        self.page.on("console", lambda message: message.type in ("error", "warning") and "GPU stall due to ReadPixels" not in message.text
                     and self.wrong.append("console: " + message.text))
        self.page.on("pageerror", lambda error: self.wrong.append("script: %s" % error))
        self.page.on("request", lambda request: request.url.startswith("http://" + server.host + "/") or request.url.startswith("data:")
                     or self.wrong.append("request to " + request.url[:200]))
        self.page.on("dialog", lambda dialog: (self.wrong.append("dialog: " + dialog.message), dialog.dismiss()))

    def open(self, address=None):
        self.page.goto(address or self.server.url)
        self.settle()
        return self

    def settle(self):
        self.page.evaluate(SETTLED)

    def see(self, code, argument=None):
        return self.page.evaluate(code, argument)

    def show(self, panel):
        """The text of a panel when it has its answer."""
        self.see("(panel) => studio.show(panel)", panel)
        self.page.evaluate(ANSWERED)
        return self.page.inner_text(".panel:not([hidden])")

    def view(self, first, last):
        self.see("([first, last]) => studio.setView(first, last)", [first, last])
        self.settle()

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def check(self):
        assert not self.wrong, self.wrong


@contextlib.contextmanager
def opened(*paths, size=(1400, 900), dark=False, server=None, wait=True):
    """A page of a server of its own, or of a given one, which is stopped too; `wait`: until its first picture is there."""
    server = server or Server(*paths)
    try:
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            context = chromium.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light")
            page = Page(server, context)
            if wait:
                page.open()
            else:
                page.page.goto(server.url)
            yield page
            page.check()
            chromium.close()
    finally:
        server.stop()
