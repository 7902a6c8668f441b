# SPDX-License-Identifier: Apache-2.0
"""A folder of `tracesmith studio --export`, and a web server for it that knows range requests and nothing else."""
import http.server
import json
import os
import subprocess
import tempfile
import threading


def make_handler(host):
    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def __init__(self, *arguments):
            super().__init__(*arguments, directory=host.folder)

        def log_message(self, *_):
            pass

        def do_GET(self):
            path = self.translate_path(self.path)
            wanted = self.headers.get("Range")
            if not wanted or not os.path.isfile(path) or not host.has_ranges:
                super().do_GET()
                return
            first, last = wanted.removeprefix("bytes=").split("-")
            size = os.path.getsize(path)
            with open(path, "rb") as file:
                file.seek(int(first))
                part = file.read(int(last) + 1 - int(first))
            self.send_response(206 if part else 416)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Range", "bytes %s-%d/%d" % (first, int(first) + len(part) - 1, size))
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            self.wfile.write(part)
            host.sent.append((self.path, len(part)))

    return Handler


class StaticHost:
    def __init__(self, *paths, folder=None):
        """Exports the traces, or serves a folder that is there."""
        self.room = tempfile.TemporaryDirectory()
        self.folder = folder or os.path.join(self.room.name, "site")
        if not folder:
            out = subprocess.run([os.environ["TRACESMITH"], "studio", "--export", self.folder, *paths], capture_output=True, text=True,
                                 check=False)
            assert out.returncode == 0, out.stderr
        with open(os.path.join(self.folder, "traces.json"), encoding="utf-8") as file:
            self.list = json.load(file)
        self.has_ranges, self.sent = True, []
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), make_handler(self))
        self.host = "127.0.0.1:%d" % self.http.server_address[1]
        self.url = "http://%s/" % self.host
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def put(self, trace, detail, limits=None):
        """Another trace in place of the exported ones: its file, that of its detail or None, and other limits of the page."""
        for path in filter(None, (trace, detail)):
            os.symlink(path, os.path.join(self.folder, os.path.basename(path)))
        self.list["traces"] = [{"name": "large", "file": os.path.basename(trace), "detail": detail and os.path.basename(detail)}]
        self.list["limits"] = limits or {}
        self.list["answers"] = {}
        with open(os.path.join(self.folder, "traces.json"), "w", encoding="utf-8") as file:
            json.dump(self.list, file)

    def path(self, trace):
        return os.path.join(self.folder, self.list["traces"][trace]["file"])

    def sql(self, trace, statement):
        """As the server's answer, by the command."""
        out = subprocess.run([os.environ["TRACESMITH"], "query", self.path(trace), statement, "--json"], capture_output=True, check=False)
        assert out.stdout, out.stderr
        result = json.loads(out.stdout)["results"][0]
        return {"rows": [list(row.values()) for row in result["rows"]]}

    def stop(self):
        self.http.shutdown()
        self.http.server_close()
        self.room.cleanup()
