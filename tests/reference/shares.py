# SPDX-License-Identifier: Apache-2.0
"""Shares: a part by its whole, in every table that has them. The parts themselves are checked by the other references."""

# report, table, share, part, whole: a column, the window or all parts of the table
SHARES = (("breakdown", "devices", "compute_share", "compute_ns", "span_ns"),
          ("breakdown", "devices", "communication_share", "communication_ns", "span_ns"),
          ("breakdown", "devices", "copy_share", "copy_ns", "span_ns"),
          ("breakdown", "devices", "idle_share", "idle_ns", "span_ns"),
          ("idle", "causes", "share", "time_ns", "window"),
          ("streams", "queues", "utilization", "busy_ns", "window"),
          ("streams", "concurrency", "share", "time_ns", "window"),
          ("queue_length", "queues", "empty_share", "empty_ns", "window"),
          ("overlap", "overlap", "overlap", "overlapped_ns", "time_ns"),
          ("ranges", "ranges", "utilization", "busy_ns", "span_ns"),
          ("critical_path", "path", "share", "time_ns", "all"),
          ("critical_path", "names", "share", "time_ns", "all"))


def check(trace, reports, expect):
    for report, table, share, part, whole in SHARES:
        rows = reports[report]["tables"][table]
        for row in rows:
            if whole == "window":
                of = trace.last - trace.first
            else:
                of = sum(other[part] for other in rows) if whole == "all" else row[whole]
            expect(f"{report}: {share} of {row[part]}", row[share], row[part] / of if of and row[part] is not None else None)
