# SPDX-License-Identifier: Apache-2.0
"""Starts `tracesmith studio` and talks to it as a browser would: the token for a cookie, then requests with it."""
import http.client
import json
import os
import re
import signal
import struct
import subprocess
import urllib.parse


class Server:
    def __init__(self, *paths, options=()):
        self.process = subprocess.Popen(
            [os.environ["TRACESMITH"], "studio", "--no-browser", *options, *paths],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.match(r"http://([\d.]+):(\d+)/#token=([0-9a-f]{32})\n$", line)
        if not found:
            raise AssertionError("no address: %r %r" % (line, self.process.stderr.read()))
        self.url = line.strip()
        self.address, self.port, self.token = found.group(1), int(found.group(2)), found.group(3)
        self.host = "%s:%d" % (self.address, self.port)
        self.cookie = None

    def ask(self, path, method="GET", body=None, headers=None, with_cookie=True):
        """Status, headers and bytes of an answer."""
        connection = http.client.HTTPConnection(self.address, self.port)
        sent = {"Host": self.host}
        if with_cookie and self.cookie:
            sent["Cookie"] = self.cookie
        sent.update(headers or {})
        connection.request(method, path, body, sent)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, dict((name.lower(), value) for name, value in answer.getheaders()), content

    def enter(self):
        status, headers, _ = self.ask("/api/enter", "POST", self.token)
        assert status == 204, status
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie, cookie
        self.cookie = cookie.split(";")[0]
        return self

    def json(self, path, method="GET", body=None):
        status, _, content = self.ask(path, method, body)
        assert status == 200, (path, status, content[:300])
        return json.loads(content)

    def wait(self):
        """Until all traces are read and their tiles are filled."""
        while any(trace["state"] == "opening" for trace in self.json("/api/traces")["traces"]):
            pass
        for trace in self.json("/api/traces")["traces"]:
            while trace["state"] == "ready" and self.json("/api/%d/overview" % trace["id"])["detail"] != "ready":
                pass
        return self

    def sql(self, trace, statement):
        return self.json("/api/%d/sql" % trace, "POST", statement)

    def tile(self, trace, track, level, index):
        status, headers, content = self.ask("/api/%d/tile/%d/%d/%d" % (trace, track, level, index))
        assert status == 200 and headers["content-type"] == "application/octet-stream", (status, content[:200])
        form, count, level, flags = struct.unpack_from("<4I", content)
        if form == 1:
            parts = [struct.unpack_from("<IIHBB", content, 16 + 12 * i) for i in range(count)]
            assert len(content) == 16 + 12 * count
        elif form == 2:
            parts = [struct.unpack_from("<ddIBBH", content, 16 + 24 * i) for i in range(count)]
            assert len(content) == 16 + 24 * count
        else:
            parts = [struct.unpack_from("<ff", content, 16 + 8 * i) for i in range(count)]
            assert len(content) == 16 + 8 * count
        return form, flags, parts

    def stop(self):
        """Ends it as Ctrl-C does; what it said on stderr."""
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate()[1]
        assert self.process.returncode == 0, (self.process.returncode, said)
        return said


def quote(text):
    return urllib.parse.quote(text, safe="")
