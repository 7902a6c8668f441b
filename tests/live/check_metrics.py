# SPDX-License-Identifier: Apache-2.0
"""--metrics-listen: read by a parser of the text format that knows nothing else of it."""
import os
import re
import socket
import sys
import urllib.error
import urllib.request

from support import Paused, check, run

PROGRAMS, WORK = sys.argv[1:3]
ROUNDS, PER_ROUND = 40, 57
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(r'(%s)(?:\{((?:%s="(?:[^"\\\n]|\\["\\n])*",?)*)\})? ([0-9.]+)$' % (NAME, NAME))


def parse(body):
    types, samples = {}, {}
    for line in body.splitlines():
        if line.startswith("# HELP "):
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            check(name not in types and kind in ("counter", "gauge"), "one type: %s" % line)
            types[name] = kind
            continue
        found = SAMPLE.match(line)
        check(found, "a sample: %r" % line)
        name, labels, value = found.groups()
        check(name in types, "a type before %s" % name)
        check(types[name] != "counter" or name.endswith("_total"), "the name of a counter: %s" % name)
        check((name, labels) not in samples, "once: %s" % line)
        samples[name, labels] = float(value)
    return samples


def scrape(port, token, path="/metrics"):
    request = urllib.request.Request("http://127.0.0.1:%d%s" % (port, path))
    if token is not None:
        request.add_header("Authorization", "Bearer " + token)
    with urllib.request.urlopen(request, timeout=60) as answer:
        check(answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"), "the type")
        return parse(answer.read().decode())


def refused(port, token, path, code):
    try:
        scrape(port, token, path)
    except urllib.error.HTTPError as error:
        check(error.code == code, "%s: %d" % (path, error.code))
        return
    check(False, "%s was answered" % path)


def main():
    program = Paused(PROGRAMS, ["--metrics-listen", "127.0.0.1:0", "-o", os.path.join(WORK, "m.sbt")], ROUNDS)
    said = program.process.stderr.readline().decode()
    port = int(re.search(r"localhost:([0-9]+)/", said).group(1))
    path = said.strip().rpartition(" ")[2]
    check(path == os.path.join(program.directory, "metrics.token") and os.stat(path).st_mode & 0o777 == 0o600, path)
    with open(path) as file:
        token = file.read()
    # These say nothing, or not enough, and are ignored.
    hanging = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
    hanging[0].send(b"GET /metrics HTTP/1.1\r\nAuthorization: Bearer")
    for wrong in (None, "", token[:-1], token + "0", "0" * len(token)):
        refused(port, wrong, "/metrics", 401)
    refused(port, token, "/", 404)
    refused(port, token, "/metrics/../x", 404)
    before = {}
    for _ in range(1000):
        now = scrape(port, token)
        check(all(now.get(key, 0) >= value for key, value in before.items()
                  if key[0].endswith("_total")), "no counter decreases")
        before = now
        if now["tracesmith_kernels_total", 'kernel="tick"'] == ROUNDS // 2 * PER_ROUND:
            break
    check(now["tracesmith_kernels_total", 'kernel="tick"'] == ROUNDS // 2 * PER_ROUND, "the launches: %s" % now)
    check(now["tracesmith_kernels_total", 'kernel="(other)"'] == 0, "no other kernel")
    check(len(now) <= 200, "%d series" % len(now))
    waits = now["tracesmith_host_waits_total", 'kind="sync",operation="finish",direction=""']
    check(waits == ROUNDS // 2, "waits: %s" % waits)
    check(now["tracesmith_processes", None] == 1 and now["tracesmith_device_memory_bytes", None] == 4, "gauges")
    for connection in hanging:
        connection.close()
    program.go_on()
    for address in ("0.0.0.0:9464", "example.org:80", "127.0.0.1:99999", "127.0.0.1:", "9464x"):
        done = run("profile", "--metrics-listen", address, "true", code=2)
        check(b"loopback" in done.stderr, done.stderr)


main()
print("metrics: ok")
