# SPDX-License-Identifier: Apache-2.0
"""Event kinds: a trace has a kernel, copy or fill for each command that its file lists."""


def check(trace, reports, expect):
    rows = {row["kind"]: row["events"] for row in reports["event_kinds"]["tables"]["event_kinds"]}
    commands = sum(rows.get(kind, 0) for kind in ("kernel", "memcpy", "memset", "collective"))
    expect("commands by kind", commands, len(trace.commands))
