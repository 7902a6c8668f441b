# SPDX-License-Identifier: Apache-2.0
"""check_usm.py JSON OUT: every allocation, free, copy, fill and migration of cl_usm, with the bytes, objects and places that the program says."""
import sys
from trace import Trace, expect, load_truth

trace, truth = Trace(sys.argv[1]), load_truth(sys.argv[2])
rounds = truth["rounds"]
made = sorted(trace.of("alloc"), key=lambda event: event["start"])
gone = sorted(trace.of("free"), key=lambda event: event["start"])
expect([event["bytes"] for event in made] == truth["allocations"], f"allocations: {made}")
expect([event["operation"] for event in made] == ["svm", "buffer", "svm"], f"what they are: {made}")
expect([event["name"] for event in made] ==
       ["clHostMemAllocINTEL", "clDeviceMemAllocINTEL", "clSharedMemAllocINTEL"], f"calls: {made}")
host, device, shared = (event["object"] for event in made)
expect([event["object"] for event in gone] == [host, device, shared], f"frees: {gone}")
expect([event["name"] for event in gone] == ["clMemFreeINTEL", "clMemFreeINTEL", "clMemBlockingFreeINTEL"], f"calls: {gone}")
expect(gone[-1].get("live_bytes", 0) == 0, f"nothing lives at the end: {gone}")
allocations = [call for call in trace.of("api") if call["name"].endswith("MemAllocINTEL")]
expect(len(allocations) == 3 and all("main" in [frame.get("function") for frame in call["frames"]] for call in allocations),
       f"who allocated: {allocations}")

order = lambda kind, operation: sorted((event for event in trace.of(kind) if event["operation"] == operation),  # noqa: E731
                                       key=lambda event: event["correlation"])
copies, fills, moves = order("memcpy", "svm_copy"), order("memset", "svm_fill"), order("memcpy", "svm_migrate")
expect([event["bytes"] for event in copies] == truth["copies"] * rounds, f"copies: {copies}")
expect([event["bytes"] for event in fills] == truth["fills"] * rounds, f"fills: {fills}")
expect([event["bytes"] for event in moves] == truth["migrations"] * rounds, f"migrations: {moves}")
ends = [(event.get("source"), event.get("destination")) for event in copies]
expect(ends == [(device, shared), (shared, host), (host, None)] * rounds, f"from and to: {ends}")
expect(all(event["destination"] == device for event in fills), f"filled: {fills}")
expect([event.get("direction") for event in moves] == ([None, "d2h"] * rounds if moves else []), f"directions: {moves}")
# Each copy within the program's order: it waits for the fill of its round.
for fill, copy in zip(fills, copies[::3]):
    expect(copy["waits"] == [fill["correlation"]], f"{copy} waits for {fill}")
    if "duration" in copy and "duration" in fill and copy.get("certainty") != "untimed" and fill.get("certainty") != "untimed":
        expect(fill["start"] + fill["duration"] <= copy["start"], f"{fill} ends before {copy}")
blocking = [event for event in trace.of("sync") if event["operation"] == "blocking_call"]
expect(len(blocking) == 2 * rounds, f"{len(blocking)} blocking copies")
expect(not [event for event in trace.of("loss") if event["reason"] == "untraced"], "nothing is said to be missing")
print(f"{len(made)} allocations, {len(copies)} copies, {len(fills)} fills, {len(moves)} migrations")
