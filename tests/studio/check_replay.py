# SPDX-License-Identifier: Apache-2.0
"""The panel Replay: nothing runs before the button is pressed; then the verdicts are those of the command, and a row leads to the
command that wrote the result.  usage: check_replay.py RECORDING"""
import json
import os
import subprocess
import sys

from browser import ANSWERED, opened


def main(path):
    out = subprocess.run([os.environ["TRACESMITH"], "replay", path, "--sandbox", "--all", "--json"], capture_output=True, check=False).stdout
    expected = json.loads(out)
    with opened(path) as page:
        posts = []
        page.page.on("request", lambda request: request.method == "POST" and request.url.endswith("/replay") and posts.append(request.url))
        text = page.show("replay")
        assert "%d commands are recorded" % expected["recording"]["commands"] in text, text[:300]
        assert not posts, posts
        page.see("() => document.querySelector('.panel:not([hidden]) button.main').focus()")
        page.press("Enter")
        page.page.evaluate(ANSWERED)
        text = page.page.inner_text(".panel:not([hidden])")
        assert len(posts) == 1
        for verdict, count in expected["verdicts"].items():
            assert ("%d %s" % (count, verdict) in text) == (count > 0), (verdict, count, text[:300])
        assert text.count("\nexact") + text.count("\ndiverged") >= min(len(expected["results"]), 30), text[:500]
        page.see("() => document.querySelector('.panel:not([hidden]) tr.choose').focus()")
        page.press("Enter")
        selected = page.see("() => new Promise((done) => { const look = () => studio.selection ? done([studio.selection.track, studio.selection.start]) : "
                            "requestAnimationFrame(look); look(); })")
        assert selected[0] > 0
    print("replay: %d results" % len(expected["results"]))


if __name__ == "__main__":
    main(sys.argv[1])
