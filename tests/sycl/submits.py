# SPDX-License-Identifier: Apache-2.0
"""A SYCL program through dpctl that knows nothing of TraceSmith: submits.py KERNELS COPIES THREADS. For test_dpnp.sh."""
import ctypes
import sys
import threading

import dpctl
import dpctl.memory
import dpctl.program

kernels, copies, threads = (int(word) for word in sys.argv[1:4])
ITEMS = 1024
SOURCE = "kernel void add_one(global int *x) { x[get_global_id(0)] += 1; }"


def run(results, place):
    queue = dpctl.SyclQueue()
    kernel = dpctl.program.create_program_from_source(queue, SOURCE).get_sycl_kernel("add_one")
    memory = dpctl.memory.MemoryUSMDevice(4 * ITEMS, queue=queue)
    for _ in range(copies):
        memory.copy_from_host(bytes(4 * ITEMS))
    for _ in range(kernels):
        queue.submit(kernel, [memory], [ITEMS]).wait()
    back = bytearray(4 * ITEMS)
    memory.copy_to_host(back)
    results[place] = set((ctypes.c_int * ITEMS).from_buffer(back))


results = [None] * threads
workers = [threading.Thread(target=run, args=(results, i)) for i in range(threads)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print("kernels", kernels * threads, "copies", (copies + 1) * threads, "values", sorted(set().union(*results)))
