# SPDX-License-Identifier: Apache-2.0
"""Tiles of a trace against SQL: for random tracks, levels and places, the busy share of each bucket, the events that begin in it,
slices and names are what a plain count over the events of `tracesmith query` gives. With "kept", the server keeps the detail of the trace
in a first run, and the second one must not read the events again.  usage: check_tiles.py TRACE COUNT [kept]"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

from server import Server

WORK = {"kernel", "memcpy", "memset", "collective", "host_function", "graph_launch"}


def query(path, statement):
    out = subprocess.run([os.environ["TRACESMITH"], "query", path, statement, "--json"], capture_output=True, check=False)
    assert out.stdout, out.stderr
    return json.loads(out.stdout)["results"][0]["rows"]


def busy(events, start, end, is_queue):
    covered, total, starts = start, 0, 0
    for begin, duration, kind, _ in events:
        if begin >= end:
            break
        starts += begin >= start
        if duration is None or (is_queue and kind not in WORK):
            continue
        first, last = max(begin, covered), min(begin + duration, end)
        if last > first:
            total += last - first
            covered = last
    return total, starts


def check_buckets(events, parts, start, length, is_queue):
    # A plain count over all events for each bucket would take hours: 12 buckets of the tile.
    for at in random.sample(range(512), 12):
        _, begun, share, kind, flags = parts[at]
        total, starts = busy(events, start + at * length, start + (at + 1) * length, is_queue)
        assert begun == starts, ("events", at, begun, starts)
        assert abs(share / 65535 - total / length) < 0.0003 or (share == 1 and total), ("busy", at, share / 65535, total / length)
        assert (share == 0) == (total == 0), ("busy at all", at, share, total)


def check_slices(server, events, parts, start, end):
    expected = sorted((begin, duration) for begin, duration, _, _ in events
                      if begin < end and (begin + (duration or 0) > start or begin >= start))
    got = sorted((int(part[0]), None if part[1] != part[1] else int(part[1])) for part in parts)
    assert [(a, b or 0) for a, b in got] == [(a, b or 0) for a, b in expected], (len(got), len(expected))
    sample = random.sample(parts, min(len(parts), 20))
    if sample:
        names = server.json("/api/0/names?ids=" + ",".join(str(part[2]) for part in sample))
        known = {(begin, duration or 0): set() for begin, duration, _, _ in events}
        for begin, duration, _, name in events:
            known[(begin, duration or 0)].add(name or "")
        for part in sample:
            key = (int(part[0]), 0 if part[1] != part[1] else int(part[1]))
            assert names[str(part[2])] in known[key], (part, names[str(part[2])], known[key])


def entries(home):
    folder = os.path.join(home, "tracesmith/imports")
    return [os.path.join(folder, name) for name in os.listdir(folder)] if os.path.isdir(folder) else []


def keep(path, home):
    """Runs the server until the detail is kept; the server that has it from there."""
    os.environ.update(TRACESMITH_NO_CACHE="", XDG_CACHE_HOME=home)
    server = Server(path, options=["--no-cache"]).enter().wait()
    server.stop()
    assert not entries(home)
    server = Server(path).enter().wait()
    assert server.json("/api/0/overview")["kept"] is False
    server.stop()  # when the detail was written
    before = entries(home)
    assert before, "nothing was kept"
    server = Server(path).enter().wait()
    assert server.json("/api/0/overview")["kept"] is True
    assert entries(home) == before
    return server


def check_damaged(path, home):
    """A byte of what was kept is changed: it is not used, and replaced."""
    for entry in entries(home):
        with open(entry, "r+b") as file:
            file.seek(os.path.getsize(entry) // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 16]))
    for expected in (False, True):
        server = Server(path).enter().wait()
        assert server.json("/api/0/overview")["kept"] is expected
        server.stop()


def split(content, at):
    """The tiles of an answer that has several, by "TRACK/LEVEL/INDEX"."""
    tiles = {}
    while at < len(content):
        track, level, index, length = struct.unpack_from("<IIQI", content, at)
        at += 20
        tiles["%d/%d/%d" % (track, level, index)] = content[at:at + length]
        at += length
    assert at == len(content)
    return tiles


def check_several(server, overview):
    """Tiles that come together are those that come alone; the first picture is the whole trace at a level of its width."""
    names = []
    for track in overview["tracks"][:5]:
        level = random.randint(4, 20)
        names += ["%d/%d/%d" % (track["id"], level, random.randint(0, max(track["last"], 0) // (512 << level))) for _ in range(4)]
    status, _, content = server.ask("/api/0/tiles?at=" + ",".join(names + ["9999/1/0", "x", "1/99/0", "1/2"]))
    tiles = split(content, 0)
    assert status == 200 and sorted(tiles) == sorted(set(names)), (names, list(tiles))
    width = 1000
    status, headers, content = server.ask("/api/enter?overview=0&width=%d" % width, "POST", server.token, with_cookie=False)
    assert status == 200 and headers["content-type"] == "application/octet-stream" and "HttpOnly" in headers["set-cookie"], headers
    length = struct.unpack_from("<I", content)[0]
    early = json.loads(content[4:4 + length])["overview"]
    first = split(content, 4 + length)
    levels = {int(name.split("/")[1]) for name in first}
    assert len(levels) == 1, levels
    level = levels.pop()
    assert level == 0 or 1 << (level - 1) < overview["duration"] / width <= 1 << level, (level, overview["duration"])
    wanted = ["%d/%d/%d" % (track["id"], level, index) for track in overview["tracks"]
              for index in range(max(track["first"], 0) // (512 << level), max(track["last"], 0) // (512 << level) + 1)]
    assert list(first) == wanted[:len(first)] and (len(first) == len(wanted) or sum(map(len, first.values())) > 60000), (len(first), len(wanted))
    for name, content in {**tiles, **dict(list(first.items())[:20])}.items():
        assert server.ask("/api/0/tile/" + name)[2] == content, name
    assert early["tracks"] == overview["tracks"]


def main(path, count, home):
    random.seed(7)
    server = keep(path, home) if home else Server(path).enter().wait()
    overview = server.json("/api/0/overview")
    origin = int(overview["origin"])
    tracks = [track for track in overview["tracks"] if track["kind"] != "counter"]
    total = query(path, "SELECT count(*) AS n FROM events")[0]["n"]
    assert overview["events"] == total and sum(track["events"] for track in overview["tracks"]) == total
    forms, cache = set(), {}
    for _ in range(count):
        track = random.choice(tracks)
        number = track["id"]
        if number not in cache:
            rows = query(path, "SELECT start - (%d) AS start, duration, kind, name FROM events WHERE track = %d ORDER BY 1" % (origin, number))
            cache[number] = [(row["start"], row["duration"], row["kind"], row["name"]) for row in rows]
        level = random.randint(4, max(5, overview["duration"].bit_length() - 8))
        tile = 512 << level
        index = random.randint(track["first"] // tile, max(track["last"], 0) // tile)
        form, flags, parts = server.tile(0, number, level, index)
        assert flags == 0, "preliminary"
        forms.add(form)
        try:
            if form == 1:
                check_buckets(cache[number], parts, index * tile, 1 << level, track["kind"] == "queue")
            else:
                check_slices(server, cache[number], parts, index * tile, (index + 1) * tile)
        except AssertionError as error:
            raise AssertionError("%s: track %d level %d index %d: %s" % (path, number, level, index, error)) from error
    check_several(server, overview)
    server.stop()
    if home:
        check_damaged(path, home)
    print("%s: %d tiles, forms %s" % (os.path.basename(path), count, sorted(forms)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(sys.argv[1], int(sys.argv[2]), made if sys.argv[3:] == ["kept"] else None)
