# SPDX-License-Identifier: Apache-2.0
"""Every panel on real traces, on a wide and on a narrow screen, light and dark: without an error, and without a part of a name
becoming markup.  usage: check_views.py TRACE OTHER AWKWARD [MORE...]"""
import sys

from browser import PANELS, opened

FIRST_COMMAND = """async () => {
    const list = studio.overview.tracks.filter((track) => track.kind === "queue");
    const track = list.sort((a, b) => b.events - a.events)[0];
    if (!track) return false;
    const answer = await fetch("/api/" + studio.trace + "/sql", { method: "POST", body:
      `SELECT start - (${studio.overview.origin}), duration, name_id FROM events WHERE track = ${track.id} AND duration > 0 ORDER BY start LIMIT 1` });
    const row = (await answer.json()).rows[0];
    if (!row) return false;
    studio.select({ track: track.id, start: row[0], duration: row[1], name: row[2] ?? 0, related: [] });
    studio.goTo(row[0], row[0] + row[1] * 4, track.id);
    studio.selectRange({ from: row[0], to: row[0] + row[1] * 2 });
    return true; }"""
MARKUP = "() => document.querySelectorAll('img, script:not([src]), iframe, b, a[href]').length"


def check_trace(paths, size, dark):
    with opened(*paths, size=size, dark=dark) as page:
        has_command = page.see(FIRST_COMMAND)
        page.settle()
        for panel in PANELS:
            text = page.show(panel)
            assert text.strip(), (paths, panel, "is empty")
            alerts = page.see("() => [...document.querySelectorAll('.panel:not([hidden]) [role=alert]')].map((one) => one.textContent)")
            assert not alerts, (paths, panel, alerts)
            assert page.see(MARKUP) == 0, (paths, panel, "a name became markup")
            if panel in ("event", "range") and has_command:
                assert "is selected" not in text and "No range" not in text, (paths, panel, text[:200])
            over = page.see("() => document.documentElement.scrollWidth - innerWidth")
            assert over <= 0, (paths, panel, "is wider than the screen by", over)
        assert page.see("() => timeline.shown.length") > 0, (paths, "nothing is drawn")
        page.settle()


def main(trace, other, awkward, more):
    for number, paths in enumerate([(trace,), (trace, other), (awkward,)] + [(one,) for one in more]):
        check_trace(paths, (390, 800) if number % 2 else (1400, 900), number % 3 == 1)
    print("%d sets of traces, %d panels each" % (3 + len(more), len(PANELS)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
