# SPDX-License-Identifier: Apache-2.0
"""The page while a trace is recorded: it grows, follows, pauses, says how it stopped, and becomes the page of the finished file.
usage: check_live.py PROGRAM FOLDER [PICTURE]"""
import json
import os
import sys

from browser import PANELS, opened
from recording import Recording, check_totals
from server import Server

PROGRAM, FOLDER = sys.argv[1:3]
PICTURE = sys.argv[3] if len(sys.argv) > 3 else None

# Each waits for what the page shows, frame by frame.
STATE = """([what, wanted]) => new Promise((done, fail) => { let over = 0; const look = () => {
    const state = studio.live.state;
    over = state && state.state !== "recording" && state.generation > 0 && !state.catching_up ? over + 1 : 0;
    if (over > 2000) return fail(new Error("the recording is over, and not as wanted: " + JSON.stringify(state.totals)));
    const found = state && (what === "launched" ? state.totals.kernels.count === wanted && state.overview !== undefined
      : state.state === wanted && (state.generation > 0 || wanted === "replaced"));
    if (found) done(true); else requestAnimationFrame(look); }; look(); })"""
# The events of a track that are drawn: those that begin in the tiles of the whole trace.
DRAWN = """(track) => new Promise((done) => { const look = () => {
    const parts = timeline.shown.filter((part) => part.row.track.id === track && !part.tile.isOld);
    if (timeline.isSettled && parts.length)
      done(parts.reduce((sum, part) => sum + (part.tile.slices ? part.tile.slices.start.length : part.tile.buckets.events.reduce((a, b) => a + b, 0)), 0));
    else requestAnimationFrame(look); }; look(); })"""


def begin(name, launches=100):
    recording = Recording(PROGRAM, os.path.join(FOLDER, name))
    recording.launch(launches)
    return recording


def wait(page, what, wanted):
    page.see(STATE, [what, wanted])
    page.settle()


def bar(page):
    return page.page.inner_text("section.live")


def view(page):
    return page.see("() => [studio.view.from, studio.view.to, studio.overview.duration]")


def queue_of(page):
    return page.see("() => studio.overview.tracks.find((track) => track.kind === 'queue')")


def follows():
    recording = begin("follows.sbt")
    with opened(recording.trace) as page:
        busy = {"now": 0, "most": 0, "count": 0}
        page.page.on("request", lambda request: "/live?" in request.url and busy.update(
            now=busy["now"] + 1, most=max(busy["most"], busy["now"] + 1), count=busy["count"] + 1))
        page.page.on("requestfinished", lambda request: "/live?" in request.url and busy.update(now=busy["now"] - 1))
        wait(page, "launched", recording.launched)
        assert "Recording" in bar(page) and "behind" in bar(page), bar(page)
        assert page.see("() => studio.panel") == "live", "the totals are what is seen first"
        before = view(page)
        for count in (1, 700, 5000):
            recording.launch(count)
            wait(page, "launched", recording.launched)
            text = page.page.inner_text("#panel-live")
            assert "{:,} launches of 1 kernel".format(recording.launched) in text, text
            assert "tick" in text and "finish" in text and "h2d" in text, text
            assert view(page)[1] >= view(page)[2] > before[2], (before, view(page))
            queue = queue_of(page)
            page.see("() => studio.setView(0, studio.overview.duration)")
            drawn = page.see(DRAWN, queue["id"])
            assert drawn >= recording.launched, (drawn, queue, recording.launched)
            before = view(page)
        # Moving away from the end pauses, the key resumes.
        page.view(0, view(page)[2] / 4)
        there = view(page)
        assert page.see("() => studio.live.isFollowing") is False
        assert page.page.get_attribute("section.live button", "aria-pressed") == "false"
        recording.launch(10)
        wait(page, "launched", recording.launched)
        now = view(page)
        assert now[2] > there[2], "the trace has grown"
        shift = page.see("() => studio.overview.origin")
        assert now[1] - now[0] == there[1] - there[0] and now[1] < now[2], (there, now, shift)
        page.see("() => timeline.host.focus()")
        page.press("l")
        assert page.see("() => studio.live.isFollowing") is True and view(page)[1] >= view(page)[2]
        page.page.click("section.live button")
        assert page.see("() => studio.live.isFollowing") is False
        page.page.click("section.live button")
        # A panel says up to when it is, and can be asked again.
        assert page.page.is_hidden(".upto"), "the totals are always of now"
        for panel in PANELS:
            assert page.show(panel).strip(), panel
            assert "up to" in page.page.inner_text(".upto"), panel
        first = page.show("sql")
        page.see("() => studio.show('info')")
        old = page.page.inner_text("#panel-info")
        recording.launch(3)
        wait(page, "launched", recording.launched)
        page.page.click(".upto button")
        page.see("() => studio.pictured")
        assert page.page.inner_text("#panel-info") != old and first, "asked again"
        page.see("() => studio.show('live')")
        if PICTURE:
            page.see("() => studio.setView(0, studio.overview.duration)")
            page.settle()
            page.page.screenshot(path=PICTURE)
        chosen = page.see("() => { studio.selectRange({ from: 1000, to: 2000 }); return BigInt(studio.overview.origin).toString(); }")
        code, said = recording.end()
        assert code == 0, said
        wait(page, "state", "ended")
        assert "has ended" in bar(page) and page.page.is_hidden("section.live button >> nth=0"), bar(page)
        assert busy["most"] <= 1 and busy["count"] > 5, busy
        origin = int(page.see("() => studio.overview.origin"))
        assert page.see("() => studio.range.from") == 1000 + int(chosen) - origin, "a range stays where it is in time"
        totals = page.see("() => studio.live.state.totals")
        check_totals(totals, recording.trace)
        assert not page.see("() => studio.overview.live") and page.page.is_hidden(".upto")
        ours = page.see("() => JSON.stringify([studio.overview.tracks, studio.overview.duration, studio.overview.events, studio.overview.lost])")
        for panel in PANELS:
            assert page.show(panel).strip(), panel
        page.see("() => studio.setView(0, studio.overview.duration)")
        drawn = page.see(DRAWN, queue_of(page)["id"])
    server = Server(recording.trace).enter().wait()
    overview = server.json("/api/0/overview")
    server.stop()
    assert json.loads(ours) == [overview[key] for key in ("tracks", "duration", "events", "lost")]
    assert drawn == next(track["events"] for track in overview["tracks"] if track["kind"] == "queue"), drawn
    # A page that is opened then knows nothing of it.
    with opened(recording.trace) as page:
        assert page.page.is_hidden("section.live") and page.page.is_hidden("#tab-live")
        assert page.see("() => studio.panel") == "findings"


def others(finished):
    """Another trace next to it, and the page loaded again."""
    recording = begin("other.sbt")
    with opened(recording.trace, finished) as page:
        wait(page, "launched", recording.launched)
        page.see("() => studio.open(1)")
        page.settle()
        assert page.page.is_hidden("section.live") and page.page.is_hidden("#tab-live"), "the other trace is complete"
        page.see("() => studio.open(0)")
        recording.launch(7)
        wait(page, "launched", recording.launched)
        assert "Recording" in bar(page), bar(page)
        page.see("() => studio.live.isFollowing || studio.live.toggle()")
        page.see("() => studio.show('sql')")
        page.see("""() => new Promise((done) => { const look = () => {
            if (!location.hash.includes("v=") && location.hash.includes("p=sql")) done(); else requestAnimationFrame(look); }; look(); })""")
        page.page.reload()
        page.settle()
        recording.launch(8)
        wait(page, "launched", recording.launched)
        assert page.see("() => studio.live.isFollowing") is True and view(page)[1] >= view(page)[2]
        assert page.see("() => studio.panel") == "sql"
        recording.end()
        wait(page, "state", "ended")


def stops():
    recording = begin("stops.sbt")
    with opened(recording.trace) as page:
        wait(page, "launched", recording.launched)
        recording.kill_collector()
        wait(page, "state", "stopped")
        assert "without an end" in bar(page) and "tracesmith recover " + recording.directory in bar(page), bar(page)
        assert page.page.is_visible("section.live .tools button"), "the command can be copied"
        assert "incomplete" in page.page.inner_text("header"), page.page.inner_text("header")
    recording.remove()


def is_replaced():
    recording = begin("replaced.sbt")
    with opened(recording.trace) as page:
        wait(page, "launched", recording.launched)
        os.unlink(recording.trace)
        page.see(STATE, ["state", "replaced"])
        assert "was replaced" in bar(page), bar(page)
        assert page.see("() => timeline.shown.length") > 0, "what was read is seen"
    recording.end()


def loses_the_server():
    """The server ends while the page asks: the page says so, and asks less and less often."""
    recording = begin("alone.sbt")
    server = Server(recording.trace)
    with opened(recording.trace) as page:
        wait(page, "launched", recording.launched)
        page.page.route("**/live?*", lambda route: route.abort())
        page.see("""() => new Promise((done) => { const look = () => {
            if (studio.live.failure) done(); else requestAnimationFrame(look); }; look(); })""")
        assert "does not answer" in bar(page), bar(page)
        page.page.unroute("**/live?*")
        recording.launch(5)
        wait(page, "launched", recording.launched)
        assert "does not answer" not in bar(page), bar(page)
        page.wrong = [one for one in page.wrong if "ERR_FAILED" not in one]
    server.stop()
    recording.end()


follows()
others(os.path.join(FOLDER, "follows.sbt"))
stops()
is_replaced()
loses_the_server()
print("the page follows a recording")
