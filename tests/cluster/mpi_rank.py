# SPDX-License-Identifier: Apache-2.0
"""A rank of an MPI program: asks MPI for its rank, launches 10 + rank kernels, and waits for the other ranks. Writes what it knows
into RANK.json of the working directory: mpirun mixes what ranks print.

mpi_rank.py LIBRARY cl_launch_loop: LIBRARY is libmpi of Open MPI or of MPICH.
"""
import ctypes
import json
import subprocess
import sys

mpi = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
if hasattr(mpi, "ompi_mpi_comm_world"):
    world = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")))
else:
    world = ctypes.c_int(0x44000000)  # MPICH's ABI
rank, size = ctypes.c_int(-1), ctypes.c_int(-1)
failed = mpi.MPI_Init(None, None) or mpi.MPI_Comm_rank(world, ctypes.byref(rank)) or mpi.MPI_Comm_size(world, ctypes.byref(size))
loop = subprocess.run([sys.argv[2], "-n", str(10 + rank.value)], stdout=subprocess.PIPE, check=True)
failed = failed or mpi.MPI_Barrier(world) or mpi.MPI_Finalize()
with open("%d.json" % rank.value, "x", encoding="utf-8") as file:
    json.dump({"rank": rank.value, "size": size.value, "launches": json.loads(loop.stdout)["launches"]}, file)
sys.exit(1 if failed else 0)
