# SPDX-License-Identifier: Apache-2.0
"""The panel Replay: nothing runs before the button is pressed; then the verdicts are those of the command, and a row leads to the
command that wrote the result.  usage: check_replay.py RECORDING"""
import base64
import json
import os
import subprocess
import sys

from browser import ANSWERED, opened


def check_memory(page, path, expected):
    """A row of the recorded commands shows what the command prints about the memory that it writes."""
    row = "() => [...document.querySelectorAll('.panel:not([hidden]) tr.choose')].find((one) => one.children[1].textContent === 'kernel')"
    command = int(page.see("() => (%s)().children[0].textContent" % row))
    out = subprocess.run([os.environ["TRACESMITH"], "replay", path, "--sandbox", "--contents", str(command), "--json"], capture_output=True, check=True).stdout
    memories = json.loads(out)["contents"]["memories"]
    assert memories and all(memory["before"] and memory["after"] for memory in memories), memories
    page.see("() => (%s)().focus()" % row)
    page.press("Enter")
    page.page.evaluate(ANSWERED)
    shown = page.see("() => [...document.querySelectorAll('section.memory')].map((one) => [one.textContent, one.querySelectorAll('canvas').length])")
    assert len(shown) == len(memories), shown
    for memory, (text, pictures) in zip(memories, shown):
        size = int(memory["element"][1:]) // 8
        sides = [base64.b64decode(memory[side]) for side in ("before", "after")]
        changed = sum(sides[0][at:at + size] != sides[1][at:at + size] for at in range(0, memory["shown"], size))
        assert "Buffer %d:" % memory["buffer"] in text and ("%s of " % format(changed, ",")) in text, (changed, text[:300])
        assert pictures == 3, text[:300]
    if os.environ.get("SCREENSHOTS"):
        page.see("() => document.querySelector('section.memory').scrollIntoView()")
        page.page.screenshot(path=os.path.join(os.environ["SCREENSHOTS"], "contents.png"))


def main(path):
    out = subprocess.run([os.environ["TRACESMITH"], "replay", path, "--sandbox", "--all", "--json"], capture_output=True, check=False).stdout
    expected = json.loads(out)
    with opened(path) as page:
        posts = []
        page.page.on("request", lambda request: request.method == "POST" and request.url.endswith("/replay") and posts.append(request.url))
        text = page.show("replay")
        assert "%d commands are recorded" % expected["recording"]["commands"] in text, text[:300]
        assert not posts, posts
        check_memory(page, path, expected)
        page.see("() => document.querySelector('.panel:not([hidden]) button.main').focus()")
        page.press("Enter")
        page.page.evaluate(ANSWERED)
        text = page.page.inner_text(".panel:not([hidden])")
        assert len(posts) == 1
        for verdict, count in expected["verdicts"].items():
            assert ("%d %s" % (count, verdict) in text) == (count > 0), (verdict, count, text[:300])
        assert text.count("\nexact") + text.count("\ndiverged") >= min(len(expected["results"]), 30), text[:500]
        page.see("() => document.querySelector('[role=status] tr.choose').focus()")
        page.press("Enter")
        selected = page.see("() => new Promise((done) => { const look = () => studio.selection ? done([studio.selection.track, studio.selection.start]) : "
                            "requestAnimationFrame(look); look(); })")
        assert selected[0] > 0
    print("replay: %d results" % len(expected["results"]))


if __name__ == "__main__":
    main(sys.argv[1])
