# SPDX-License-Identifier: Apache-2.0
"""The reader for browsers, in Node, answers byte for byte what the server does: overview, names, and tiles of random tracks, levels and
places, and those beyond the end.  usage: check_reader.py READER WASM TRACE...   (READER: tests/studio/reader.ts, bundled)"""
import json
import random
import subprocess
import sys

from server import Server

COUNT = 60


def ask(reader, wasm, lines):
    """The status and the bytes of each answer."""
    out = subprocess.run(["node", reader, wasm], input="".join(line + "\n" for line in lines).encode(), stdout=subprocess.PIPE,
                         check=True).stdout
    answers = []
    while out:
        head, _, out = out.partition(b"\n")
        status, length = map(int, head.split())
        answers.append((status, out[:length]))
        out = out[length:]
    assert len(answers) == len(lines), (len(answers), len(lines))
    return answers


def requests(overview):
    yield "overview"
    yield "names?ids=" + ",".join(str(number) for number in range(300))
    for track in overview["tracks"][:8]:
        yield "tile/%d/40/0" % track["id"]
    for _ in range(COUNT if overview["tracks"] else 0):
        track = random.choice(overview["tracks"])
        level = random.randrange(41)
        place = random.randrange(track["first"], track["last"] + 1)
        yield "tile/%d/%d/%d" % (track["id"], level, place >> (level + 9))
    yield "tile/4000000000/3/0"
    yield "tile/1/41/0"
    yield "tile/1/1/99999999999999999999"
    yield "tile/1"


def main(reader, wasm, *traces):
    random.seed(17)
    for trace in traces:
        server = Server(trace).enter().wait()
        asked = list(requests(server.json("/api/0/overview")))
        expected = [server.ask("/api/0/" + request) for request in asked]
        server.stop()
        got = ask(reader, wasm, ["%s %s" % (trace, request) for request in ["open"] + asked])
        assert got[0] == (200, b""), got[0]
        for request, (status, _, content), (code, answer) in zip(asked, expected, got[1:]):
            if request.startswith("names"):
                # The server looks up the names of stacks, which adds strings behind those of the file.
                ours, theirs = json.loads(answer), json.loads(content)
                assert {name: text for name, text in ours.items() if text} == {name: text for name, text in theirs.items() if ours[name]}
            elif status == 200:
                assert (code, answer) == (200, content), (trace, request, code, content[:300], answer[:300])
            else:
                assert code == 404 and status in (400, 404), (trace, request, status, code, answer)
        print("%s: %d answers" % (trace.rsplit("/", 1)[-1], len(asked)))


main(*sys.argv[1:])
