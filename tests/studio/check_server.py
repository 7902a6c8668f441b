# SPDX-License-Identifier: Apache-2.0
"""Who may ask the server, and what it does with requests that no browser would send.  usage: check_server.py TRACE OTHER FUZZED"""
import json
import os
import random
import socket
import subprocess
import sys

from server import Server, quote


def refused(server, path, status, **arguments):
    got, _, content = server.ask(path, **arguments)
    assert got == status, (path, arguments, got, content[:200])
    assert b'"traces"' not in content and server.token.encode() not in content


def check_who(server):
    """Without the token nothing of a trace is answered, whatever else is right; with it, not to the pages of others."""
    for path in ["/api/traces", "/api/0/overview", "/api/0/tile/1/4/0", "/api/0/findings"]:
        refused(server, path, 403, with_cookie=False)
    refused(server, "/api/0/sql", 403, with_cookie=False, method="POST", body="SELECT 1")
    refused(server, "/api/traces", 403, headers={"Cookie": "tracesmith-%d=%s" % (server.port, "0" * 32)})
    refused(server, "/api/traces", 403, headers={"Cookie": "tracesmith-%d=" % server.port})
    refused(server, "/api/enter?overview=0&width=1000", 403, method="POST", body="0" * 32, with_cookie=False)
    for token in ["", "0" * 32, server.token[:-1], server.token + "0", server.token.upper() + "x"]:
        refused(server, "/api/enter", 403, method="POST", body=token, with_cookie=False)
    server.enter()
    assert server.json("/api/traces")["traces"][0]["id"] == 0
    for headers in [{"Host": "evil.example"}, {"Host": "evil.example:%d" % server.port}, {"Host": "127.0.0.1"},
                    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "https://" + server.host},
                    {"Origin": "http://127.0.0.1:1"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}]:
        refused(server, "/api/traces", 403, headers=headers)
        refused(server, "/", 403, headers=headers)
    for headers in [{"Origin": "http://" + server.host}, {"Sec-Fetch-Site": "same-origin"}, {"Host": "localhost:%d" % server.port}]:
        assert server.ask("/api/traces", headers=headers)[0] == 200, headers


def check_page(server):
    """The page loads only its own files, and says so to the browser; no file of the machine is served."""
    status, headers, page = server.ask("/", with_cookie=False)
    assert status == 200 and headers["content-type"].startswith("text/html"), headers
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy, policy
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store" and "access-control-allow-origin" not in headers
    assert b"http" not in page, "the page names another place"
    for path in ["/studio.js", "/studio.css", "/icon.svg"]:
        status, _, content = server.ask(path, with_cookie=False)
        assert status == 200 and content, path
    for path in ["/etc/passwd", "/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/studio.js/../x",
                 "/api/../../etc/passwd", "/api/0/../../etc/passwd", "/api/0/analysis/../../x", "/api/9/overview", "/api/-1/overview",
                 "/api/0/analysis/--help", "/api/0/analysis/advice%20--output%20x", "/api/0/nothing", "/api/99999999999999999999/overview"]:
        status, _, content = server.ask(path)
        assert status in (400, 404, 405), (path, status, content[:100])
        assert b"root:" not in content


def check_answers(server, path):
    """An answer is that of the command."""
    command = [os.environ["TRACESMITH"], "--no-color"]

    def said(*words):
        return json.loads(subprocess.run(command + list(words), capture_output=True, check=False).stdout)
    assert server.json("/api/0/findings") == said("analyze", path, "--json")
    assert server.json("/api/0/analysis/idle") == said("analyze", path, "--only", "idle", "--json")
    assert server.json("/api/0/simulate?scale=" + quote("kernel=*:0.5")) == said("simulate", path, "--scale", "kernel=*:0.5", "--json")
    names = [one["name"] for one in server.json("/api/0/analyses")]
    assert "kernels" in names and "memory" in names
    answer = server.sql(0, "SELECT kind, count(*) AS n FROM events GROUP BY kind ORDER BY kind")
    rows = said("query", path, "SELECT kind, count(*) AS n FROM events GROUP BY kind ORDER BY kind", "--json")["results"][0]["rows"]
    assert answer["rows"] == [[row["kind"], row["n"]] for row in rows] and answer["columns"] == ["kind", "n"]
    assert not answer["more"] and not answer["truncated"]
    assert server.sql(0, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i FROM n")["more"]
    folded = server.ask("/api/0/folded")
    assert folded[0] == 200 and folded[1]["content-type"].startswith("text/plain")
    assert server.json("/api/diff?before=0&after=1")["diff"]["report"] == "diff"
    # No link may run the recorded kernels; a trace without a recording has none.
    assert server.ask("/api/0/replay")[0] == 405 and server.ask("/api/0/replay", "POST")[0] == 422
    assert server.json("/api/0/recording")["recording"] is None
    for path, body, status in [("/api/0/sql", "SELEC", 400), ("/api/0/sql", "", 400), ("/api/0/sql", "DELETE FROM events", 400),
                               ("/api/0/sql", "ATTACH '/etc/passwd' AS x", 400), ("/api/0/sql", "x" * 70000, 413)]:
        got, _, content = server.ask(path, "POST", body)
        assert got == status and json_or_text(content), (body[:20], got, content[:200])
    for path in ["/api/0/simulate?output=x", "/api/0/simulate?scale=nothing", "/api/diff?before=0", "/api/diff?before=0&after=9",
                 "/api/0/tile/1/99/0", "/api/0/tile/999999/4/0", "/api/0/tile/1/4", "/api/0/tile/a/b/c", "/api/0/tile/1/40/18446744073709551615",
                 "/api/0/event", "/api/0/event?track=1&start=x", "/api/0/event?track=1&start=9223372036854775807"]:
        status, _, content = server.ask(path)
        assert 400 <= status < 500 and "error" in json.loads(content), (path, status, content[:200])


def json_or_text(content):
    return content and (not content.startswith(b"{") or "error" in json.loads(content))


def check_event(server):
    """An event is found by what a slice says of it, and a command leads to its call."""
    overview = server.json("/api/0/overview")
    origin = int(overview["origin"])
    row = server.sql(0, "SELECT track, start, duration, name_id, name, correlation FROM kernel WHERE correlation IS NOT NULL LIMIT 1")["rows"][0]
    details = server.json("/api/0/event?track=%d&start=%d&duration=%d&name=%d" % (row[0], row[1] - origin, row[2], row[3]))
    assert details["event"]["name"] == row[4] and details["event"]["correlation"] == row[5]
    calls = server.sql(0, "SELECT start FROM api WHERE correlation = %d" % row[5])["rows"]
    assert sorted(one["start"] + origin for one in details["related"] if one["what"] == "api") == sorted(one[0] for one in calls)
    assert server.ask("/api/0/event?track=%d&start=%d&duration=%d&name=%d" % (row[0], row[1] - origin + 1, row[2], row[3]))[0] == 404


def raw(server, data, is_open=False):
    connection = socket.create_connection((server.address, server.port))
    connection.sendall(data)
    if not is_open:
        connection.shutdown(socket.SHUT_WR)
    return connection


def check_slow(server):
    """Clients that never finish a request do not keep others from theirs."""
    waiting = [raw(server, b"GET / HTTP/1.1\r\nHost: ", is_open=True) for _ in range(40)]
    assert server.json("/api/traces")["traces"]
    for connection in waiting:
        connection.close()


def fuzzed(server, count):
    generator = random.Random(11)
    words = [b"GET ", b"POST ", b"HEAD ", b"PUT ", b"/api/0/", b"/api/", b"tile/", b"overview", b"names?ids=", b"sql", b"event?track=", b"simulate?",
             b"scale=", b"%00", b"%", b"..", b"\r\n", b"\n", b"\0", b"\xff\xfe", b" HTTP/1.1", b"Host: " + server.host.encode(),
             b"Cookie: " + server.cookie.encode(), b"Content-Length: ", b"99999999999999999999", b"-1", b"Transfer-Encoding: chunked", b"a" * 5000,
             b"1", b"18446744073709551616", b",", b"=", b"&", b"?", b":", b"select 1", b"findings" * 3]
    for i in range(count):
        if i % 3:  # nearly right, so that it goes deep
            path = b"/api/0/" + generator.choice([b"tile/", b"names?ids=", b"event?track=", b"nothing/", b"analysis/", b""])
            path += b"".join(generator.choice([b"1", b"9", b"/", b",", b"&start=", b"%2f", b"%ff", b"-", b"x"]) for _ in range(generator.randint(0, 12)))
            data = b"GET " + path + b" HTTP/1.1\r\nHost: " + server.host.encode() + b"\r\nCookie: " + server.cookie.encode() + b"\r\n\r\n"
        else:
            data = b"".join(generator.choice(words) for _ in range(generator.randint(1, 30)))
        connection = raw(server, data)
        try:
            while connection.recv(65536):
                pass
        except OSError:
            pass
        connection.close()
        assert server.process.poll() is None, ("the server ended", data)
    assert server.json("/api/traces")["traces"]


def main(path, other, count):
    server = Server(path, other)
    check_who(server)
    server.wait()
    check_page(server)
    check_answers(server, path)
    check_event(server)
    check_slow(server)
    fuzzed(server, count)
    said = server.stop()
    assert "AddressSanitizer" not in said and "runtime error" not in said, said
    again = Server(path)
    assert again.token != server.token and again.port
    again.stop()
    print("%d fuzzed requests" % count)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
