# SPDX-License-Identifier: Apache-2.0
"""Breakdown and overlap of each device, as Holistic Trace Analysis defines them: compute is the union of the kernels that
compute, communication and copies are what their union adds to it, idle is the rest from first to last."""
from trace import union


def check(trace, reports, expect):
    devices = sorted({command.device for command in trace.commands})
    breakdown, overlap = reports["breakdown"]["tables"]["devices"], reports["overlap"]["tables"]["overlap"]
    expect("devices", len(breakdown), len(devices))
    for device, row, hidden, copied in zip(devices, breakdown, overlap[::2], overlap[1::2]):
        of = lambda *works: [(c.start, c.end) for c in trace.commands
                             if c.device == device and c.work in works and c.end > c.start]
        every = of("compute", "communication", "copy")
        span = max(b for _, b in every) - min(a for a, _ in every)
        compute, communication = union(of("compute")), union(of("communication"))
        both = union(of("compute", "communication"))
        expect("span", row["span_ns"], span)
        expect("compute", row["compute_ns"], compute)
        expect("communication", row["communication_ns"], both - compute)
        expect("copy", row["copy_ns"], union(every) - both)
        expect("idle", row["idle_ns"], span - union(every))
        expect("communication in all", hidden["time_ns"], communication)
        expect("overlapped communication", hidden["overlapped_ns"], compute + communication - both)
        expect("exposed communication", hidden["exposed_ns"], both - compute)
        copies, either = union(of("copy")), union(of("compute", "copy"))
        expect("copies in all", copied["time_ns"], copies)
        expect("overlapped copies", copied["overlapped_ns"], compute + copies - either)
