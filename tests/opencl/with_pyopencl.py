# SPDX-License-Identifier: Apache-2.0
# A program on pyopencl, as its users write them: arrays, a kernel, an elementwise kernel, a reduction, a scan, events,
# profiling asked for and not, images, local memory, map, an exception. Prints results and properties; no times.
import numpy as np
import pyopencl as cl
import pyopencl.array
import pyopencl.elementwise
import pyopencl.reduction
import pyopencl.scan
from pyopencl import mem_flags as mf

SOURCE = """
__kernel void scale(__global const float *a, __global float *b, const float by)
{ int i = get_global_id(0); b[i] = a[i] * by; }
__kernel void reverse(__global int *a, __local int *part)
{ int l = get_local_id(0), n = get_local_size(0), at = get_group_id(0) * n;
  part[l] = a[at + l]; barrier(CLK_LOCAL_MEM_FENCE); a[at + l] = part[n - 1 - l]; }
"""

device = cl.get_platforms()[0].get_devices()[0]
context = cl.Context([device])
queue = cl.CommandQueue(context)
profiled = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
print("properties", queue.properties, profiled.properties)
print("references", queue.reference_count, profiled.reference_count, context.reference_count)
program = cl.Program(context, SOURCE).build()
print("kernels", sorted(kernel.function_name for kernel in program.all_kernels()))

a = np.arange(1000, dtype=np.float32)
source = cl.Buffer(context, mf.READ_ONLY | mf.COPY_HOST_PTR, hostbuf=a)
target = cl.Buffer(context, mf.WRITE_ONLY, a.nbytes)
scale = cl.Kernel(program, "scale")
for each in (queue, profiled):
    event = scale(each, a.shape, None, source, target, np.float32(3))
    out = np.empty_like(a)
    copied = cl.enqueue_copy(each, out, target, wait_for=[event])
    copied.wait()
    print("scaled", np.array_equal(out, a * 3), event.command_execution_status, event.command_type)
    try:
        print("times in order", event.profile.queued <= event.profile.submit <= event.profile.start <= event.profile.end)
    except cl.Error as error:
        print("no times:", error)

numbers = cl.array.to_device(queue, np.arange(64, dtype=np.int32))
cl.Kernel(program, "reverse")(queue, (64,), (16,), numbers.data, cl.LocalMemory(16 * 4))
print("reversed", numbers.get()[:16].tolist())
add = cl.elementwise.ElementwiseKernel(context, "int *z, int *x, int *y", "z[i] = x[i] + y[i]", "add")
total = cl.array.empty_like(numbers)
add(total, numbers, numbers)
print("sum", int(cl.array.sum(total).get()))
count = cl.reduction.ReductionKernel(context, np.int32, neutral="0", reduce_expr="a+b", map_expr="x[i] % 2",
                                     arguments="__global int *x")
print("odd", int(count(numbers).get()))
running = cl.scan.InclusiveScanKernel(context, np.int32, "a+b", neutral="0")
running(numbers)
print("scan", numbers.get()[-4:].tolist())

pixels = np.arange(64 * 4, dtype=np.uint8).reshape(8, 8, 4)
image = cl.image_from_array(context, pixels, 4)
back = np.empty_like(pixels)
cl.enqueue_copy(queue, back, image, origin=(0, 0), region=(8, 8))
print("image", np.array_equal(back, pixels))
mapped, event = cl.enqueue_map_buffer(queue, target, cl.map_flags.READ, 0, (1000,), np.float32)
print("mapped", float(mapped[10]))
mapped.base.release(queue)
user = cl.UserEvent(context)
marker = cl.enqueue_marker(queue, wait_for=[user])
print("waiting", marker.command_execution_status != cl.command_execution_status.COMPLETE)
user.set_status(cl.command_execution_status.COMPLETE)
marker.wait()
try:
    cl.Program(context, "__kernel void broken(").build()
except cl.RuntimeError as error:
    print("broken program:", error.what() if hasattr(error, "what") and callable(error.what) else type(error).__name__)
queue.finish()
