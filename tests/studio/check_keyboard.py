# SPDX-License-Identifier: Apache-2.0
"""The page is used from end to end by keys: nothing is clicked, and no script moves the focus. Every panel is opened, and what can be
done in it is done.  usage: check_keyboard.py TRACE"""
import json
import sys

from browser import ANSWERED, PANELS, opened

FOCUSED = "() => { const one = document.activeElement; return [one.tagName, one.id, one.textContent.slice(0, 60), one.getAttribute('aria-label') ?? '', one.className, one.type ?? '']; }"
VIEW = "() => [studio.view.from, studio.view.to]"
SHOWN = ".panel:not([hidden])"


def tab_to(page, what, wanted, back=False):
    """Tab until the focused element is the wanted one."""
    for _ in range(150):
        page.press("Shift+Tab" if back else "Tab")
        if wanted(*page.see(FOCUSED)):
            return
    raise AssertionError("Tab does not reach " + what)


def until(page, condition):
    page.see("() => new Promise((done) => { const look = () => { if (%s) done(); else requestAnimationFrame(look); }; look(); })" % condition)


def check_all_panels(page):
    """The arrow keys go from panel to panel; each has its answer or says what is missing."""
    tab_to(page, "the panels", lambda tag, name, *_: name.startswith("tab-"))
    seen = []
    for _ in PANELS:
        page.press("ArrowRight")
        page.page.evaluate(ANSWERED)
        panel = page.see("() => studio.panel.split(':')[0]")
        assert page.page.inner_text(SHOWN).strip(), panel
        assert page.see(FOCUSED)[1] == "tab-" + panel, (page.see(FOCUSED), panel)
        seen.append(panel)
    assert sorted(seen) == sorted(PANELS), seen


def open_panel(page, panel):
    for _ in PANELS:
        if page.see(FOCUSED)[1] == "tab-" + panel:
            page.page.evaluate(ANSWERED)
            return
        page.press("ArrowRight")
    raise AssertionError("the arrow keys do not reach " + panel)


def check_sql(page):
    open_panel(page, "sql")
    tab_to(page, "the SQL box", lambda tag, *_: tag == "TEXTAREA")
    page.press("Control+a")
    page.page.keyboard.type("SELECT 6 * 7 AS answer_of_all")
    tab_to(page, "the button that asks", lambda tag, name, text, label, kind, way: tag == "BUTTON" and "main" in kind)
    page.press("Enter")
    until(page, "/answer_of_all[^]*42/.test(document.querySelector('%s').innerText)" % SHOWN)
    tab_to(page, "the panels again", lambda tag, name, *_: name.startswith("tab-"), back=True)


def check_what_if(page):
    open_panel(page, "whatif")
    tab_to(page, "a slider", lambda tag, name, text, label, kind, way: way == "range")
    result = "document.querySelector('%s .result')?.innerText" % SHOWN
    page.press("ArrowLeft", "ArrowLeft", "ArrowLeft")
    until(page, result)
    before = page.see("() => " + result)
    assert " instead of " in before, before
    page.press("ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft")
    until(page, "%s && %s !== %s" % (result, result, json.dumps(before)))
    tab_to(page, "the panels again", lambda tag, name, *_: name.startswith("tab-"), back=True)


def check_worst(page):
    open_panel(page, "findings")
    view = page.see(VIEW)
    tab_to(page, "the worst place", lambda tag, name, text, *_: text.startswith("Show the worst place"))
    page.press("Enter")
    assert page.see(VIEW) != view
    tab_to(page, "the timeline", lambda tag, name, text, label, kind, way: label.startswith("Timeline"), back=True)
    page.press("f")


def check_splitter(page):
    tab_to(page, "the border", lambda tag, name, text, label, kind, way: kind == "splitter")
    height = page.see("() => timeline.height")
    page.press("ArrowUp", "ArrowUp", "ArrowUp")
    until(page, "timeline.height < %r" % height)


def main(path):
    with opened(path) as page:
        assert page.see(FOCUSED)[3].startswith("Timeline"), "the timeline has the keys at once"
        check_all_panels(page)
        check_sql(page)
        check_what_if(page)
        check_worst(page)
        check_splitter(page)
    print("all by keys")


if __name__ == "__main__":
    main(sys.argv[1])
