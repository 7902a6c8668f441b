# SPDX-License-Identifier: Apache-2.0
# A pool of workers, each with a context and a queue of its own on one device. Prints what tests/opencl/trace.py reads: a
# line of truth per worker.
import json
import multiprocessing
import os
import sys


def work(count):
    import numpy as np
    import pyopencl as cl
    device = cl.get_platforms()[0].get_devices()[0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    program = cl.Program(context, "__kernel void twice(__global int *a) { a[get_global_id(0)] *= 2; }").build()
    host = np.ones(1024, dtype=np.int32)
    buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=host)
    kernel = cl.Kernel(program, "twice")
    kernel.set_args(buffer)
    for _ in range(count):
        cl.enqueue_nd_range_kernel(queue, kernel, (1024,), None)
    cl.enqueue_copy(queue, host, buffer)
    queue.finish()
    return {"pid": os.getpid(), "kernels": {"twice": count}, "sum": int(host[0])}


if __name__ == "__main__":
    workers = int(sys.argv[1])
    multiprocessing.set_start_method("fork")
    together = multiprocessing.Barrier(workers)

    def meet(count):
        together.wait()  # one task for each worker
        return work(count)

    with multiprocessing.Pool(workers) as pool:
        for result in pool.map(meet, [10 + i for i in range(workers)], chunksize=1):
            print(json.dumps(result))
