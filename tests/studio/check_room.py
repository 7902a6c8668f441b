# SPDX-License-Identifier: Apache-2.0
"""Analyses that would need more memory than there is are refused, with the command that needs less; the timeline is there all the same.
usage: check_room.py TRACE EVENTS: of so many events, more than fit in 900 MB when they are analyzed."""
import json
import resource
import sys

from server import Server


def main(path, events):
    resource.setrlimit(resource.RLIMIT_AS, (900 << 20, 900 << 20))  # the server's too
    server = Server(path).enter().wait()
    for request in ("findings", "analysis/kernels", "simulate?drop-sync="):
        status, _, content = server.ask("/api/0/" + request)
        said = json.loads(content)["error"]
        assert status == 422 and said.startswith("The analyses of %s events need about 1." % format(events, ",")), (status, said)
        assert "tracesmith analyze FILE --from" in said, said
    overview = server.json("/api/0/overview")
    assert overview["events"] == events
    form, _, buckets = server.tile(0, overview["tracks"][0]["id"], overview["duration"].bit_length() - 9, 0)
    assert form == 1 and sum(bucket[1] for bucket in buckets) > 0
    server.stop()
    print("no analysis of %d events in 900 MB" % events)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
