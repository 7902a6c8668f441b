# SPDX-License-Identifier: Apache-2.0
"""Idle: the causes of a device add up to the window."""
import collections


def check(trace, reports, expect):
    idle = reports["idle"]
    window = idle["window"]["to_ns"] - idle["window"]["from_ns"]
    sums = collections.Counter()
    for row in idle["tables"]["causes"]:
        sums[row["device"]] += row["time_ns"]
    for device, total in sums.items():
        expect(f"causes on {device}", total % window, 0)  # devices may share a name
