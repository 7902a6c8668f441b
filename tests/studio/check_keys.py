# SPDX-License-Identifier: Apache-2.0
"""The page by keyboard alone, and links: what the address says is shown again.  usage: check_keys.py TRACE"""
import json
import sys

from browser import ANSWERED, opened

STATE = "() => ({ view: studio.view, selection: studio.selection && [studio.selection.track, studio.selection.start], panel: studio.panel, " \
        "range: studio.range, marks: studio.marks.length, focused: timeline.focused, rows: timeline.rows.length })"
SELECTED = "(before) => new Promise((done) => { const look = () => studio.selection && studio.selection.start !== before ? " \
           "done(studio.selection.start) : requestAnimationFrame(look); look(); })"
FOUND = "() => new Promise((done) => { const look = () => { const text = document.querySelector('header [role=status]').textContent; " \
        "if (/of|No event/.test(text)) done(text); else requestAnimationFrame(look); }; look(); })"


def check_timeline(page):
    whole = page.see(STATE)["view"]
    page.press("w", "w", "d")
    near = page.see(STATE)["view"]
    assert near["to"] - near["from"] < 0.6 * (whole["to"] - whole["from"]), (whole, near)
    page.press("f")
    view = page.see(STATE)["view"]
    assert abs(view["from"]) < 0.2 * (view["to"] - view["from"]), view
    rows = page.see(STATE)["rows"]
    page.press("Space")
    assert page.see(STATE)["rows"] < rows, "the group was not closed"
    page.press("Space", "ArrowDown")
    page.press("Enter")
    first = page.see(SELECTED, None)
    page.page.evaluate(ANSWERED)
    assert page.see(STATE)["panel"] == "event" and "start" in page.page.inner_text(".panel:not([hidden])")
    page.press("ArrowRight")
    second = page.see(SELECTED, first)
    assert second > first, (first, second)
    page.press("ArrowLeft")
    assert page.see(SELECTED, second) == first
    page.press("Enter", "m", "r")
    state = page.see(STATE)
    assert state["marks"] == 1 and state["panel"] == "range" and state["range"], state
    assert state["view"]["from"] <= first <= state["view"]["to"], state


def check_link(page):
    page.settle()
    address, before = page.see("() => location.href"), page.see(STATE)
    assert "token" not in address, "the address has the token"
    other = type(page)(page.server, page.page.context).open(address)
    after = other.see(STATE)
    for key in ("selection", "panel", "range", "marks"):
        if key == "range":
            assert abs(after[key]["from"] - before[key]["from"]) <= 1, (before, after)
        else:
            assert after[key] == before[key], (key, before, after)
    assert abs(after["view"]["from"] - before["view"]["from"]) <= 0.12 * (before["view"]["to"] - before["view"]["from"]), (before, after)
    other.check()
    other.page.close()


def check_panels(page):
    page.press("Escape")
    state = page.see(STATE)
    assert state["selection"] is None and state["range"] is None, state
    seen = set()
    for number in "123456789":
        page.press(number)
        page.page.evaluate(ANSWERED)
        seen.add(page.see(STATE)["panel"])
    assert len(seen) == 9, seen
    page.press("?")
    page.page.evaluate(ANSWERED)
    assert "zoom in, out" in page.page.inner_text(".panel:not([hidden])")
    # Everything that can be clicked can be reached by Tab.
    reached = set()
    for _ in range(60):
        page.press("Tab")
        reached.add(page.see("() => document.activeElement.id || document.activeElement.className || document.activeElement.tagName"))
    assert {"search", "tab-info", "splitter"} <= reached and any("timeline" in one for one in reached), reached
    page.see("() => document.getElementById('tab-info').focus()")
    page.press("ArrowRight")
    assert page.see(STATE)["panel"] == "findings"


def check_search(page, name):
    page.see("() => timeline.host.focus()")
    page.press("/")
    page.page.keyboard.type(name)
    page.press("Enter")
    said = page.see(FOUND)
    assert said.startswith("1 of") or " of " in said, said
    first = page.see(SELECTED, None)
    page.press("Enter")
    assert page.see(SELECTED, first) != first
    page.press("Escape")


def check_progress(path):
    """While a trace is imported, the page shows how far it is; then the trace, of which one answer has all that is drawn first."""
    with opened(path) as page:
        real, requests, seen = [], [], []
        page.page.on("request", lambda request: requests.append(request.url.split("/api/")[-1]))

        def answer(route):
            if seen:
                route.continue_()
                return
            got = route.fetch()
            assert got.status == 200 and got.headers["content-type"] == "application/octet-stream", got.headers
            content = got.body()
            real.append(json.loads(content[4:4 + int.from_bytes(content[:4], "little")]))
            changed = dict(real[-1], overview=None, traces=[dict(real[-1]["traces"][0], state="opening", done=3 << 20, total=4 << 20)])
            route.fulfill(status=200, headers={"content-type": "application/json", "set-cookie": got.headers.get("set-cookie", "none=0")},
                          body=json.dumps(changed))
        page.page.route("**/api/enter*", answer)
        page.page.route("**/api/traces*", answer)
        page.page.goto("about:blank")
        page.page.goto(page.server.url)
        page.page.wait_for_selector("progress")
        bar = page.see("() => { const bar = document.querySelector('progress'); return [bar.value, bar.max, bar.parentNode.textContent]; }")
        assert bar[:2] == [3 << 20, 4 << 20] and "3 MiB of 4 MiB" in bar[2], bar
        assert real[0]["overview"]["name"], real
        seen.append(True)
        page.settle()
        assert page.see("() => !document.querySelector('progress') && timeline.shown.length > 0")
        kinds = [one.split("&")[0] for one in requests if "tile" in one or one.split("?")[0] in ("enter", "traces", "0/overview")]
        assert kinds[0] == "enter?overview=0" and set(kinds[1:]) == {"traces?overview=0"}, kinds


def main(path):
    with opened(path) as page:
        page.server.cookie = "; ".join("%s=%s" % (one["name"], one["value"]) for one in page.page.context.cookies())
        name = page.server.sql(0, "SELECT name FROM kernel GROUP BY name HAVING count(*) > 1 LIMIT 1")["rows"][0][0]
        check_timeline(page)
        check_link(page)
        check_panels(page)
        check_search(page, name[:30])
    check_progress(path)
    print("keys, links and progress")


if __name__ == "__main__":
    main(sys.argv[1])
