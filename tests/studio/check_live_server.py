# SPDX-License-Identifier: Apache-2.0
"""The server on a trace that is still being recorded: figures while it grows and at its end, and every way in which a recording can stop.
usage: check_live_server.py PROGRAM FOLDER"""
import json
import os
import signal
import subprocess
import sys

from recording import TRACESMITH, Recording, check_totals, run
from server import Server

PROGRAM, FOLDER = sys.argv[1:3]


def until(server, wanted):
    """The first answer that is as wanted; requests are repeated, and nothing is decided by time. A recording that is over does not change."""
    over = 0
    while True:
        answer = server.json("/api/0/live")
        if wanted(answer):
            return answer
        over = over + 1 if is_over(answer) and not answer["catching_up"] else 0
        assert over < 1000, ("the recording is over, and not as wanted", answer)


def is_over(answer):
    return answer["state"] != "recording" and (answer["generation"] > 0 or answer["state"] in ("replaced", "failed"))


def begin(name, launches=100, options=()):
    recording = Recording(PROGRAM, os.path.join(FOLDER, name), *options)
    recording.launch(launches)
    server = Server(recording.trace).enter().wait()
    until(server, lambda answer: answer["totals"]["kernels"]["count"] == launches)
    return recording, server


def picture(server):
    """What the page is drawn from: the overview, and all tiles of two levels."""
    overview = server.json("/api/0/overview")
    tiles = {}
    for track in overview["tracks"]:
        for level in (18, 24):
            for index in range(overview["duration"] // (512 << level) + 1):
                tiles[track["id"], level, index] = repr(server.tile(0, track["id"], level, index)) # an unknown duration is not a number
    return {key: overview[key] for key in ("origin", "duration", "events", "lost", "tracks", "processes", "devices", "losses", "incomplete")}, tiles


def sql_count(server):
    return server.sql(0, "SELECT count(*) FROM events WHERE kind = 'kernel'")["rows"][0][0]


def grows():
    """After each step, events, SQL, findings and tiles are of all that was launched; at the end the page is that of the file."""
    recording, server = begin("grows.sbt", options=("--live",))
    answer = server.json("/api/0/live")
    assert answer["state"] == "recording" and answer["session"] == recording.directory and answer["overview"]["live"], answer
    assert answer["totals"]["collector_ns"] >= 0 and answer["behind_ns"] is not None, answer
    for count in (1, 500, 3000):
        seen, before = server.json("/api/0/live"), picture(server)[0]
        recording.launch(count)
        now = until(server, lambda answer: answer["totals"]["kernels"]["count"] == recording.launched)
        assert now["revision"] > seen["revision"], (seen, now)
        queue = next(track for track in now["overview"]["tracks"] if track["kind"] == "queue")
        told = server.sql(0, "SELECT count(*) FROM events WHERE track = %d" % queue["id"])["rows"][0][0]
        assert told >= queue["events"] >= recording.launched + recording.lines, (queue, told, recording.launched)
        # Only what the step added is out of date.
        news = server.json("/api/0/live?seen=%d" % seen["revision"])
        assert news["overview"] and any(track == queue["id"] for track, _ in news["changed"]), news
        old = next(track for track in before["tracks"] if track["id"] == queue["id"])
        shift = int(before["origin"]) - int(news["overview"]["origin"])
        assert min(since for track, since in news["changed"] if track == queue["id"]) >= old["last"] + shift, (news, old)
        again = server.json("/api/0/live?seen=%d" % news["revision"])
        assert again["revision"] > news["revision"] or (again["overview"] is None and again["changed"] == []), again
        assert sql_count(server) == recording.launched, sql_count(server)
        whole = server.tile(0, queue["id"], 30, 0)
        begun = sum(part[1] for part in whole[2]) if whole[0] == 1 else len(whole[2])
        assert begun >= queue["events"], (begun, queue)
    assert server.json("/api/0/findings"), "the analyses of what was recorded"
    # `top` of the same recording, at the same place.
    top = now = {"events": -1}
    while top["events"] != now["events"] or now["events"] < 0: # one of them may have the last frame before the other
        top = json.loads(run("top", "--once", "--json", recording.directory).stdout)
        now = server.json("/api/0/live")["totals"]
    for key in ("events", "kinds", "lost", "copies", "waits", "memory"):
        assert now[key] == top[key], (key, now[key], top[key])
    assert [kernel["total_ns"] for kernel in now["kernels"]["top"]] == [kernel["total_ns"] for kernel in top["kernels"]["top"]]
    assert [device["busy_ns"] for device in now["devices"]] == [device["busy_ns"] for device in top["devices"]]
    code, said = recording.end()
    assert code == 0, said
    last = until(server, is_over)
    assert last["state"] == "ended" and last["message"] is None and last["totals"]["ended"], last
    check_totals(last["totals"], recording.trace)
    assert last["totals"]["kernels"]["count"] == recording.launched
    server.wait()
    fresh = Server(recording.trace).enter().wait()
    ours, theirs = picture(server), picture(fresh)
    assert ours[0] == theirs[0], (ours[0], theirs[0])
    assert ours[1] == theirs[1], [(key, ours[1][key], theirs[1][key]) for key in ours[1] if ours[1][key] != theirs[1][key]]
    assert fresh.json("/api/0/live") == {"state": "none"} and not fresh.json("/api/0/overview")["live"]
    assert sql_count(server) == recording.launched
    fresh.stop()
    server.stop()


def program_killed():
    recording, server = begin("killed.sbt")
    code, _ = recording.kill_program()
    assert code != 0, "the program was killed"
    last = until(server, is_over)
    assert last["state"] == "ended", last
    check_totals(last["totals"], recording.trace)
    server.stop()


def collector_killed():
    """The page says so, and the command that it names writes every event."""
    recording, server = begin("lost.sbt")
    recording.kill_collector()
    last = until(server, is_over)
    assert last["state"] == "stopped" and "without an end" in last["message"], last
    server.wait()
    assert server.json("/api/0/overview")["incomplete"], "the trace has no end"
    assert sql_count(server) == recording.launched
    words = last["message"].split("tracesmith ")[1].split()
    assert words == ["recover", recording.directory], last["message"]
    repaired = os.path.join(FOLDER, "repaired.sbt")
    run(*words, "-o", repaired, "--remove")
    answer = json.loads(run("query", "--json", repaired, "SELECT count(*) AS n FROM events WHERE kind = 'kernel'").stdout)
    assert str(recording.launched) in json.dumps(answer), answer
    server.stop()


def cut(recording, server, size):
    """While the collector stands still, so that it writes nothing behind the new end."""
    recording.process.send_signal(signal.SIGSTOP)
    os.truncate(recording.trace, size)
    last = until(server, is_over)
    recording.process.send_signal(signal.SIGCONT)
    return last


def truncated():
    recording, server = begin("short.sbt", 5000)
    last = cut(recording, server, 1000)
    assert last["state"] == "truncated" and "truncated to 1000 bytes" in last["message"], last
    assert server.json("/api/0/overview")["incomplete"], "what is left is not complete"
    recording.end()
    server.stop()


def emptied():
    recording, server = begin("empty.sbt", 5000)
    last = cut(recording, server, 0)
    assert last["state"] == "truncated", last
    assert server.json("/api/0/overview")["tracks"], "what was read is shown"
    recording.end()
    server.stop()


def replaced():
    recording, server = begin("other.sbt")
    with open(recording.trace + ".new", "wb") as file:
        file.write(b"something else")
    os.rename(recording.trace + ".new", recording.trace)
    last = until(server, is_over)
    assert last["state"] == "replaced" and "replaced" in last["message"], last
    # Nothing is said of another file in the name of this one.
    for path, method, body in (("/api/0/sql", "POST", "SELECT 1"), ("/api/0/findings", "GET", None), ("/api/0/folded", "GET", None)):
        status, _, content = server.ask(path, method, body)
        assert status == 409 and b"replaced" in content, (path, status, content)
    assert server.json("/api/0/overview")["tracks"], "what was read is shown"
    recording.end()
    server.stop()


def refused():
    """Another user's recording is that user's alone."""
    if os.geteuid() != 0:
        return "not root: another user was not tried"
    recording = Recording(PROGRAM, os.path.join(FOLDER, "private.sbt"))
    os.chmod(FOLDER, 0o755)
    done = subprocess.run([TRACESMITH, "studio", "--no-browser", recording.trace], user=65534, group=65534, extra_groups=[],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/")
    recording.end()
    assert done.returncode == 3 and "Permission denied" in done.stderr and not done.stdout, done
    return "another user was refused"


grows()
program_killed()
collector_killed()
truncated()
emptied()
replaced()
print("live: ok;", refused())
