#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes the pictures of the page in docs/studio.md, in Debian's Chromium (python3-playwright or PyPI's playwright).

    TRACESMITH=build/bin/tracesmith docs/pictures/studio_png.py CORPUS RECORDING

CORPUS is the folder of real traces (CONTRIBUTING.md), RECORDING is of `tracesmith profile --capture -- build/examples/image_pipeline`.
studio-live.png is of tests/studio/check_live.py, which takes a path for it.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../tests/studio"))
from browser import ANSWERED, opened  # noqa: E402

SIZE = (1280, 800)
# The longest kernel of the first queue, with what follows it.
LONGEST = """async () => {
    const track = studio.overview.tracks.find((one) => one.kind === "queue");
    const answer = await fetch("/api/" + studio.trace + "/sql", { method: "POST", body:
      `SELECT start - (${studio.overview.origin}), duration, name_id FROM kernel WHERE track = ${track.id} ORDER BY duration DESC LIMIT 1` });
    const [start, duration, name] = (await answer.json()).rows[0];
    studio.select({ track: track.id, start, duration, name, related: [] });
    studio.setView(start - 4 * duration, start + 4 * duration); }"""


def take(page, name):
    page.settle()
    page.page.screenshot(path=os.path.join(HERE, name))


def main(corpus, recording):
    with opened(os.path.join(corpus, "traces_h100_google_owlv2-large-patch14-ensemble__1016001.json.gz"), size=SIZE) as page:
        page.show("findings")
        take(page, "studio.png")
    with opened(os.path.join(corpus, "nsysai_h100_2gpu_1s.sqlite"), size=SIZE, dark=True) as page:
        page.see(LONGEST)
        page.show("event")
        take(page, "studio-dark.png")
    with opened(recording, size=SIZE) as page:
        page.show("replay")
        page.see("() => document.querySelector('.panel:not([hidden]) button.main').focus()")
        page.press("Enter")
        page.page.evaluate(ANSWERED)
        take(page, "studio-replay.png")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
