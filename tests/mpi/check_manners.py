# SPDX-License-Identifier: Apache-2.0
"""The traces of test_manners.sh against what the programs say that they did.

    check_manners.py FOLDER RUN...
"""
import sys
from collections import Counter

from agent_run import AgentRun


class Run(AgentRun):
    def __init__(self, name):
        super().__init__(sys.argv[1], name)
        self.mpi = [e for e in self.of("api") if e.get("category") == "mpi"]
        self.names = Counter(e["name"] for e in self.mpi if "count" not in e)

    def check_threads(self):
        each = int(self.printed.split()[0])
        wanted = dict.fromkeys(("MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce"), 2 * each)
        self.expect(wanted.items() <= self.names.items(), f"{self.names}, wanted {wanted}")
        of_comm = {}
        for event in self.of("collective"):
            if event["name"] == "MPI_Allreduce":
                of_comm.setdefault(event["args"]["comm"], []).append((event["args"]["sequence"], event["args"]["world_rank"]))
        # A thread has a communicator: each has the numbers 0 to N - 1 on both ranks, once.
        expected = [(number, rank) for number in range(each // len(of_comm)) for rank in range(2)]
        self.expect(len(of_comm) == 3 and all(sorted(of) == expected for of in of_comm.values()), f"{of_comm}")
        sent = [e for e in self.of("range") if e.get("category") == "mpi"]
        self.expect(len(sent) == 4 * each, f"{len(sent)} requests are complete")
        self.expect(len({e["track"] for e in self.mpi if e["name"] == "MPI_Allreduce"}) == 6, "threads")
        self.expect(not self.lost, f"lost {self.lost}")

    def check_polls(self):
        looks = int(self.printed.split()[0])
        polls = [e for e in self.mpi if "count" in e]
        self.expect({e["name"] for e in polls} == {"MPI_Test"}, f"{polls}")
        self.expect(sum(e["count"] for e in polls) == looks >= 100, f"{polls} of {looks} looks")
        self.expect(len(polls) < looks / 10, f"{len(polls)} events of {looks} looks")
        self.expect(self.names["MPI_Test"] == 1, f"{self.names}")
        received = [e for e in self.of("range") if e["name"] == "MPI_Irecv"]
        self.expect(len(received) == 1 and received[0]["bytes"] == 4, f"{received}")

    check_opens = check_polls

    def check_abort(self):
        self.expect(self.names["MPI_Barrier"] >= self.names["MPI_Abort"] >= 1, f"{self.names}")

    def check_own_tool(self):
        self.expect(self.names["MPI_Barrier"] == 3 and self.names["MPI_Finalize"] == 1, f"{self.names}")

    check_shared_tool = check_own_tool

    def check_opencl(self):
        self.expect(len(self.of("kernel")) == 2 and self.names["MPI_Allreduce"] == 2, f"{len(self.of('kernel'))} kernels, {self.names}")
        self.expect(not self.lost, f"lost {self.lost}")


for run in sys.argv[2:]:
    getattr(Run(run), "check_" + run)()
print("checked", *sys.argv[2:])
