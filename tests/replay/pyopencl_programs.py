#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small programs on pyopencl, as people write them: pyopencl_programs.py NAME... runs these, without a name lists all.

Each prints a line that says what it computed, and is deterministic, but for those in NOISY: floating-point sums whose
order is not fixed. A program ends with an exception when pyopencl computed something else than numpy.
"""
import sys
import threading

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

rng = np.random.default_rng(7)
PROGRAMS = {}
NOISY = {"float_atomics"}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def setup(properties=0):
    context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
    return context, cl.CommandQueue(context, properties=properties)


def check(got, want):
    assert np.array_equal(got, want), (got, want)
    return int(np.atleast_1d(got).view(np.uint8).astype(np.uint64).sum())


@program
def array_arithmetic():
    _, queue = setup()
    a, b = (rng.integers(0, 1000, 5000).astype(np.int32) for _ in range(2))
    x, y = cla.to_device(queue, a), cla.to_device(queue, b)
    return check((3 * x + y * y - 7).get(), 3 * a + b * b - 7)


@program
def array_slices():
    _, queue = setup()
    a = rng.integers(0, 1000, 4096).astype(np.int64)
    x = cla.to_device(queue, a)
    return check((x[1024:2048] + x[2048:3072]).get(), a[1024:2048] + a[2048:3072])


@program
def array_take():
    _, queue = setup()
    a, i = rng.integers(0, 9, 1000).astype(np.int32), rng.permutation(1000).astype(np.int32)
    return check(cla.take(cla.to_device(queue, a), cla.to_device(queue, i)).get(), a[i])


@program
def array_where():
    _, queue = setup()
    a = rng.standard_normal(3000).astype(np.float32)
    x = cla.to_device(queue, a)
    return check(cla.if_positive(x, x, cla.zeros_like(x)).get(), np.where(a > 0, a, np.float32(0)))


@program
def sum_of_integers():
    _, queue = setup()
    a = rng.integers(0, 1 << 20, 100000).astype(np.int64)
    return check(cla.sum(cla.to_device(queue, a)).get(), a.sum())


@program
def least_and_most():
    _, queue = setup()
    x = cla.to_device(queue, a := rng.standard_normal(50000).astype(np.float32))
    return check(cla.min(x).get(), a.min()) + check(cla.max(x).get(), a.max())


@program
def dot_product():
    _, queue = setup()
    a = rng.integers(0, 100, 30000).astype(np.int64)
    x = cla.to_device(queue, a)
    return check(cla.dot(x, x).get(), a @ a)


@program
def inclusive_scan():
    from pyopencl.scan import InclusiveScanKernel

    context, queue = setup()
    x = cla.to_device(queue, a := rng.integers(0, 100, 70000).astype(np.int32))
    InclusiveScanKernel(context, np.int32, "a+b", neutral="0")(x)
    return check(x.get(), np.cumsum(a, dtype=np.int32))


@program
def exclusive_scan():
    from pyopencl.scan import ExclusiveScanKernel

    context, queue = setup()
    x = cla.to_device(queue, a := rng.integers(0, 100, 20000).astype(np.int32))
    ExclusiveScanKernel(context, np.int32, "a+b", neutral="0")(x)
    return check(x.get(), np.concatenate([[0], np.cumsum(a)[:-1]]).astype(np.int32))


@program
def copy_if():
    from pyopencl.algorithm import copy_if as select

    _, queue = setup()
    x = cla.to_device(queue, a := rng.integers(0, 1000, 20000).astype(np.int32))
    out, count, event = select(x, "ary[i] > 500")
    event.wait()
    return check(out.get()[: int(count.get())], a[a > 500])


@program
def unique():
    from pyopencl.algorithm import unique as distinct

    _, queue = setup()
    a = np.sort(rng.integers(0, 500, 8000).astype(np.int32))
    out, count, event = distinct(cla.to_device(queue, a))
    event.wait()
    return check(out.get()[: int(count.get())], np.unique(a))


@program
def radix_sort():
    from pyopencl.algorithm import RadixSort

    context, queue = setup()
    x = cla.to_device(queue, a := rng.integers(0, 1 << 16, 6000).astype(np.uint32))
    (out,), _ = RadixSort(context, "unsigned *a", key_expr="a[i]", sort_arg_names=["a"])(x, key_bits=16)
    return check(out.get(), np.sort(a))


@program
def bitonic_sort():
    from pyopencl.bitonic_sort import BitonicSort

    context, queue = setup()
    x = cla.to_device(queue, a := rng.integers(0, 1 << 20, 4096).astype(np.int32))
    out, event = BitonicSort(context)(x)
    event.wait()
    return check(out.get(), np.sort(a))


@program
def list_builder():
    from pyopencl.algorithm import ListOfListsBuilder

    context, queue = setup()
    builder = ListOfListsBuilder(
        context, [("mylist", np.int32)],
        "void generate(LIST_ARG_DECL USER_ARG_DECL index_type i) { for (int j = 0; j < i % 4; j++) APPEND_mylist(i * j); }",
        arg_decls=[])
    result, event = builder(queue, 500)
    event.wait()
    want = [i * j for i in range(500) for j in range(i % 4)]
    return check(result["mylist"].lists.get(), np.array(want, np.int32))


@program
def random_numbers():
    import pyopencl.clrandom as clrandom

    context, queue = setup()
    x = clrandom.PhiloxGenerator(context, seed=5).uniform(queue, 10000, np.float32).get()
    assert 0.4 < x.mean() < 0.6
    return int(x.view(np.uint32).sum(dtype=np.uint64))


@program
def elementwise_by_value():
    from pyopencl.elementwise import ElementwiseKernel

    context, queue = setup()
    x = cla.to_device(queue, a := np.arange(1000, dtype=np.int32))
    out = cla.empty_like(x)
    ElementwiseKernel(context, "int k, int4 v, __global int *x, __global int *y", "y[i] = k * x[i] + v.z")(
        np.int32(5), cla.vec.make_int4(1, 2, 3, 4), x, out)
    return check(out.get(), 5 * a + 3)


@program
def struct_by_value():
    context, queue = setup()
    source = """typedef struct { int add; short scale; long far; } how;
        __kernel void run(__global long *out, how h) {
            out[get_global_id(0)] = get_global_id(0) * h.scale + h.add + h.far; }"""
    kernel = cl.Program(context, source).build().run
    how = np.array((3, 7, 1 << 40), np.dtype({"names": ["add", "scale", "far"], "formats": ["i4", "i2", "i8"],
                                              "offsets": [0, 4, 8], "itemsize": 16}))
    out = cla.empty(queue, 100, np.int64)
    kernel(queue, (100,), None, out.data, how)
    return check(out.get(), np.arange(100, dtype=np.int64) * 7 + 3 + (1 << 40))


@program
def local_memory():
    context, queue = setup()
    source = """__kernel void turn(__global const int *in, __global int *out, __local int *tile) {
        int i = get_local_id(0), n = get_local_size(0); tile[i] = in[get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE); out[get_global_id(0)] = tile[n - 1 - i]; }"""
    a = rng.integers(0, 99, 1024).astype(np.int32)
    x, out = cla.to_device(queue, a), cla.empty(queue, 1024, np.int32)
    cl.Program(context, source).build().turn(queue, (1024,), (64,), x.data, out.data, cl.LocalMemory(256))
    return check(out.get(), a.reshape(-1, 64)[:, ::-1].ravel())


@program
def matrix_product():
    context, queue = setup()
    source = """__kernel void mul(__global const int *a, __global const int *b, __global int *c, int n) {
        int x = get_global_id(0), y = get_global_id(1), s = 0;
        for (int k = 0; k < n; k++) s += a[y * n + k] * b[k * n + x]; c[y * n + x] = s; }"""
    a, b = (rng.integers(0, 99, (48, 48)).astype(np.int32) for _ in range(2))
    x, y, out = cla.to_device(queue, a), cla.to_device(queue, b), cla.empty(queue, (48, 48), np.int32)
    cl.Program(context, source).build().mul(queue, (48, 48), (8, 8), x.data, y.data, out.data, np.int32(48))
    return check(out.get(), a @ b)


IMAGE = """__constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
    __kernel void mirror(read_only image2d_t in, write_only image2d_t out) {
        int x = get_global_id(0), y = get_global_id(1);
        write_imageui(out, (int2)(x, y), read_imageui(in, s, (int2)(get_global_size(0) - 1 - x, y))); }"""


@program
def image_2d():
    context, queue = setup()
    a = rng.integers(0, 255, (37, 53, 4)).astype(np.uint8)
    form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNSIGNED_INT8)
    source = cl.Image(context, cl.mem_flags.READ_ONLY, form, shape=(53, 37))
    target = cl.Image(context, cl.mem_flags.WRITE_ONLY, form, shape=(53, 37))
    cl.enqueue_copy(queue, source, a, origin=(0, 0), region=(53, 37))
    cl.Program(context, IMAGE).build().mirror(queue, (53, 37), None, source, target)
    out = np.empty_like(a)
    cl.enqueue_copy(queue, out, target, origin=(0, 0), region=(53, 37))
    return check(out, a[:, ::-1])


@program
def image_with_sampler():
    context, queue = setup()
    source = """__kernel void shift(read_only image2d_t in, write_only image2d_t out, sampler_t s) {
        int2 p = (int2)(get_global_id(0), get_global_id(1));
        write_imagef(out, p, read_imagef(in, s, convert_float2(p) + 1.0f)); }"""
    a = rng.standard_normal((16, 24, 4)).astype(np.float32)
    form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT)
    image = cl.Image(context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, form, hostbuf=a, shape=(24, 16))
    target = cl.Image(context, cl.mem_flags.WRITE_ONLY, form, shape=(24, 16))
    sampler = cl.Sampler(context, False, cl.addressing_mode.CLAMP_TO_EDGE, cl.filter_mode.NEAREST)
    cl.Program(context, source).build().shift(queue, (24, 16), None, image, target, sampler)
    out = np.empty_like(a)
    cl.enqueue_copy(queue, out, target, origin=(0, 0), region=(24, 16))
    rows, columns = np.minimum(np.arange(16) + 1, 15), np.minimum(np.arange(24) + 1, 23)
    return check(out, a[rows][:, columns])


@program
def image_3d():
    context, queue = setup()
    a = rng.integers(0, 255, (5, 7, 9, 4)).astype(np.uint8)
    form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNSIGNED_INT8)
    image = cl.Image(context, cl.mem_flags.READ_WRITE, form, shape=(9, 7, 5))
    other = cl.Image(context, cl.mem_flags.READ_WRITE, form, shape=(9, 7, 5))
    cl.enqueue_copy(queue, image, a, origin=(0, 0, 0), region=(9, 7, 5))
    cl.enqueue_copy(queue, other, image, src_origin=(0, 0, 0), dest_origin=(0, 0, 0), region=(9, 7, 5))
    out = np.empty_like(a)
    cl.enqueue_copy(queue, out, other, origin=(0, 0, 0), region=(9, 7, 5))
    return check(out, a)


@program
def image_and_buffer():
    context, queue = setup()
    a = rng.integers(0, 255, (8, 16, 4)).astype(np.uint8)
    form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.UNSIGNED_INT8)
    image = cl.Image(context, cl.mem_flags.READ_WRITE, form, shape=(16, 8))
    x, out = cla.to_device(queue, a), cla.zeros(queue, a.shape, np.uint8)
    cl.enqueue_copy(queue, image, x.data, offset=0, origin=(0, 0), region=(16, 8))
    cl.enqueue_copy(queue, out.data, image, offset=0, origin=(0, 0), region=(16, 8))
    return check(out.get(), a)


@program
def image_mapped():
    context, queue = setup()
    form = cl.ImageFormat(cl.channel_order.R, cl.channel_type.UNSIGNED_INT32)
    image = cl.Image(context, cl.mem_flags.READ_WRITE, form, shape=(13, 11))
    a = np.arange(143, dtype=np.uint32).reshape(11, 13)
    cl.enqueue_copy(queue, image, a, origin=(0, 0), region=(13, 11))
    view, event, row, slice_ = cl.enqueue_map_image(
        queue, image, cl.map_flags.READ | cl.map_flags.WRITE, (0, 0), (13, 11), (11, 13), np.uint32, "C")
    view[3, 5] = 999
    view.base.release(queue)
    out = np.empty_like(a)
    cl.enqueue_copy(queue, out, image, origin=(0, 0), region=(13, 11))
    a[3, 5] = 999
    return check(out, a)


@program
def shared_memory():
    context, queue = setup()
    source = "__kernel void twice(__global int *x) { x[get_global_id(0)] *= 2; }"
    array = cl.csvm_empty(context, 500, np.int32)
    with cl.SVM(array).map_rw(queue) as mapped:
        mapped[:] = np.arange(500)
    cl.Program(context, source).build().twice(queue, (500,), None, cl.SVM(array))
    with cl.SVM(array).map_ro(queue) as mapped:
        return check(mapped.copy(), 2 * np.arange(500, dtype=np.int32))


@program
def shared_copies():
    context, queue = setup()
    a = rng.integers(0, 1000, 3000).astype(np.int32)
    one, two = cl.csvm_empty(context, 3000, np.int32), cl.csvm_empty(context, 3000, np.int32)
    cl.enqueue_copy(queue, cl.SVM(one), a)
    cl.enqueue_copy(queue, cl.SVM(two), cl.SVM(one))
    out = np.empty_like(a)
    cl.enqueue_copy(queue, out, cl.SVM(two))
    return check(out, a)


@program
def shared_list():
    """Addresses of shared memory in shared memory: it lies elsewhere in a replay."""
    context, queue = setup()
    source = """typedef struct node { __global struct node *next; ulong value; } node;
        __kernel void add_up(__global node *list, __global ulong *sum) {
            ulong all = 0; for (; list; list = list->next) { all += list->value; list->value++; } *sum = all; }"""
    nodes = cl.csvm_empty(context, (64,), np.dtype([("next", "u8"), ("value", "u8")]))
    total = cl.csvm_empty(context, (1,), np.uint64)
    with cl.SVM(nodes).map_rw(queue) as mapped:
        at = nodes.__array_interface__["data"][0]
        for i in range(64):
            mapped[i] = (at + 16 * (i + 1) if i < 63 else 0, i * i)
    cl.Program(context, source).build(options=["-cl-std=CL2.0"]).add_up(queue, (1,), None, cl.SVM(nodes), cl.SVM(total))
    with cl.SVM(total).map_ro(queue) as mapped:
        return check(mapped.copy(), np.array([sum(i * i for i in range(64))], np.uint64))


@program
def shared_fine_grained():
    """The host writes between kernels without saying so."""
    context, queue = setup()
    array = cl.fsvm_empty(context, (100,), np.int32)
    twice = cl.Program(context, "__kernel void twice(__global int *x) { x[get_global_id(0)] *= 2; }").build().twice
    array[:] = np.arange(100)
    twice(queue, (100,), None, cl.SVM(array))
    queue.finish()
    array[:] += 1
    twice(queue, (100,), None, cl.SVM(array))
    queue.finish()
    return check(array, (np.arange(100, dtype=np.int32) * 2 + 1) * 2)


@program
def sub_buffers():
    context, queue = setup()
    source = "__kernel void add(__global int *x, int k) { x[get_global_id(0)] += k; }"
    whole = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096 * 4)
    cl.enqueue_fill_buffer(queue, whole, np.int32(1), 0, 4096 * 4)
    add = cl.Program(context, source).build().add
    for i in range(4):
        part = whole.get_sub_region(i * 4096, 4096)
        add(queue, (1024,), None, part, np.int32(i))
    out = np.empty(4096, np.int32)
    cl.enqueue_copy(queue, out, whole)
    return check(out, np.repeat(np.arange(1, 5, dtype=np.int32), 1024))


@program
def mapped_buffer():
    context, queue = setup()
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR, 4000)
    view, _ = cl.enqueue_map_buffer(queue, buffer, cl.map_flags.WRITE, 0, (1000,), np.int32)
    view[:] = np.arange(1000)
    view.base.release(queue)
    cl.Program(context, "__kernel void neg(__global int *x) { x[get_global_id(0)] = -x[get_global_id(0)]; }"
               ).build().neg(queue, (1000,), None, buffer)
    view, _ = cl.enqueue_map_buffer(queue, buffer, cl.map_flags.READ, 0, (1000,), np.int32)
    return check(view.copy(), -np.arange(1000, dtype=np.int32))


@program
def boxes():
    context, queue = setup()
    a = rng.integers(0, 255, (64, 64)).astype(np.uint8)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 64 * 64)
    cl.enqueue_fill_buffer(queue, buffer, np.uint8(3), 0, 64 * 64)
    cl.enqueue_copy(queue, buffer, a, buffer_origin=(8, 4), host_origin=(16, 8), region=(32, 20),
                    buffer_pitches=(64,), host_pitches=(64,))
    out, want = np.empty_like(a), np.full_like(a, 3)
    cl.enqueue_copy(queue, out, buffer)
    want[4:24, 8:40] = a[8:28, 16:48]
    return check(out, want)


@program
def host_pointer():
    context, queue = setup()
    a = np.arange(2000, dtype=np.float64)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=a)
    cl.Program(context, "__kernel void halve(__global double *x) { x[get_global_id(0)] /= 2; }"
               ).build().halve(queue, (2000,), None, buffer)
    out = np.empty_like(a)
    cl.enqueue_copy(queue, out, buffer)
    return check(out, a / 2)


@program
def compiled_and_linked():
    context, queue = setup()
    header = cl.Program(context, "int square(int x);\n#define ADD 5\n")
    library = cl.Program(context, "int square(int x) { return x * x; }").compile()
    user = cl.Program(context, """#include "square.h"
        __kernel void run(__global int *x) { x[get_global_id(0)] = square(get_global_id(0)) + ADD; }"""
                      ).compile(headers=[("square.h", header)])
    linked = cl.link_program(context, [library, user])
    out = cla.empty(queue, 300, np.int32)
    linked.run(queue, (300,), None, out.data)
    return check(out.get(), np.arange(300, dtype=np.int32) ** 2 + 5)


@program
def from_binary():
    context, queue = setup()
    source = "__kernel void fill(__global int *x, int v) { x[get_global_id(0)] = v + get_global_id(0); }"
    binary = cl.Program(context, source).build().get_info(cl.program_info.BINARIES)[0]
    out = cla.empty(queue, 64, np.int32)
    cl.Program(context, context.devices, [binary]).build().fill(queue, (64,), None, out.data, np.int32(40))
    return check(out.get(), np.arange(64, dtype=np.int32) + 40)


@program
def out_of_order():
    context, queue = setup(cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    source = "__kernel void advance(__global int *x, int k) { x[get_global_id(0)] = x[get_global_id(0)] * 3 + k; }"
    step = cl.Program(context, source).build().advance
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4000)
    event = cl.enqueue_fill_buffer(queue, buffer, np.int32(1), 0, 4000)
    want = np.ones(1000, np.int32)
    for k in range(10):
        event = step(queue, (1000,), None, buffer, np.int32(k), wait_for=[event])
        want = want * 3 + k
    out = np.empty(1000, np.int32)
    cl.enqueue_copy(queue, out, buffer, wait_for=[event])
    return check(out, want)


@program
def two_queues():
    context, one = setup()
    two = cl.CommandQueue(context)
    source = "__kernel void add(__global int *x, int k) { x[get_global_id(0)] += k; }"
    add = cl.Program(context, source).build().add
    x = cla.zeros(one, 1000, np.int32)
    event = cl.enqueue_marker(one)
    for k in range(12):
        event = add(two if k % 2 else one, (1000,), None, x.data, np.int32(k), wait_for=[event])
    event.wait()
    return check(x.get(), np.full(1000, 66, np.int32))


@program
def user_events():
    context, queue = setup()
    gate = cl.UserEvent(context)
    x = cla.zeros(queue, 100, np.int32)
    queue.finish()
    add = cl.Program(context, "__kernel void one(__global int *x) { x[get_global_id(0)]++; }").build().one
    event = add(queue, (100,), None, x.data, wait_for=[gate])
    queue.flush()
    gate.set_status(cl.command_execution_status.COMPLETE)
    event.wait()
    return check(x.get(), np.ones(100, np.int32))


@program
def two_contexts():
    total = 0
    for k in range(2):
        context, queue = setup()
        x = cla.arange(queue, 1000, dtype=np.int32) * (k + 2)
        total += check(x.get(), np.arange(1000, dtype=np.int32) * (k + 2))
    return total


@program
def threads():
    context, _ = setup()
    source = "__kernel void mul(__global int *x, int k) { x[get_global_id(0)] *= k; }"
    built = cl.Program(context, source).build()
    results = [None] * 4

    def work(number):
        queue = cl.CommandQueue(context)
        kernel = cl.Kernel(built, "mul")
        x = cla.to_device(queue, np.arange(500, dtype=np.int32))
        for _ in range(5):
            kernel(queue, (500,), None, x.data, np.int32(number + 1))
        results[number] = x.get()

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(check(r, np.arange(500, dtype=np.int32) * (i + 1) ** 5) for i, r in enumerate(results))


@program
def released_and_reused():
    context, queue = setup()
    total = 0
    for k in range(30):
        x = cla.to_device(queue, np.full(256 + k, k, np.int32))
        total += check((x + k).get(), np.full(256 + k, 2 * k, np.int32))
        del x
    return total


@program
def migrated():
    context, queue = setup()
    x = cla.to_device(queue, a := np.arange(512, dtype=np.int32))
    cl.enqueue_migrate_mem_objects(queue, [x.data], 0)
    return check((x + 1).get(), a + 1)


@program
def complex_numbers():
    _, queue = setup()
    a = (rng.integers(-9, 9, 800) + 1j * rng.integers(-9, 9, 800)).astype(np.complex64)
    x = cla.to_device(queue, a)
    return check((x + x.conj()).get(), a + a.conj())


@program
def float_atomics():
    context, queue = setup()
    source = """__kernel void sum(__global const float *x, __global float *s) {
        union { float f; uint u; } old, now;
        do { old.f = *s; now.f = old.f + x[get_global_id(0)]; }
        while (atomic_cmpxchg((volatile __global uint *)s, old.u, now.u) != old.u); }"""
    a = rng.random(1000000).astype(np.float32)  # so long that no worker of the device is done before another has begun
    x, s = cla.to_device(queue, a), cla.zeros(queue, 1, np.float32)
    cl.Program(context, source).build().sum(queue, a.shape, None, x.data, s.data)
    assert abs(s.get()[0] / a.sum() - 1) < 1e-3
    return "about right"


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print("\n".join(f"{name} {'noisy' if name in NOISY else ''}".strip() for name in PROGRAMS))
    else:
        for name in sys.argv[1:]:
            print(name, PROGRAMS[name]())
