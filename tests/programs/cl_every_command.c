// SPDX-License-Identifier: Apache-2.0
//
// Enqueues every kind of command the device supports, in every form: blocking and not, with and
// without an event of its own, with and without a wait list, on three queues (in order with
// profiling, in order without, out of order without).
//
//   cl_every_command [--no-svm] [--no-images]
//
// The truth is a journal with one line per enqueued command, in the order of the calls: which call,
// which queue, sizes, bytes, the commands it waited for (by their index in the journal) and, where the
// program may know them, the times the runtime gave. Every result is checked before it is printed.
//
// clEnqueueSVMFree is left out: PoCL 3.1 ends the process in it.

#include "journal.h"

enum {
    BUFFER_BYTES = 8192,
    IMAGE_WIDTH = 16,
    IMAGE_HEIGHT = 8,
    PIXEL_BYTES = 4,
    IMAGE_BYTES = IMAGE_WIDTH * IMAGE_HEIGHT * PIXEL_BYTES,
    RECT_BYTES = 16 * 4 * 2, // a box of 16 bytes, 4 rows and 2 slices
    ROW_PITCH = 64,
    SLICE_PITCH = ROW_PITCH * 8,
    CELLS_WIDE = 24,
    CELLS_HIGH = 12,
    CELLS_DEEP = 6,
    CELLS = CELLS_WIDE * CELLS_HIGH * CELLS_DEEP,
};

static const char source[] =
    "__kernel void mark_line(__global uint *cells)\n"
    "{ cells[get_global_id(0)] += 1; }\n"
    "__kernel void mark_plane(__global uint *cells)\n"
    "{ cells[get_global_id(0) + 24 * get_global_id(1)] += 1; }\n"
    "__kernel void mark_volume(__global uint *cells)\n"
    "{ cells[get_global_id(0) + 24 * (get_global_id(1) + 12 * get_global_id(2))] += 1; }\n"
    "__kernel void store_one(__global uint *cells, uint value)\n"
    "{ cells[0] = value; }\n";

struct run {
    cl_device_id device;
    cl_context context;
    cl_program program;
    cl_command_queue queue;
    struct journal journal;
    cl_mem a, b, image_a, image_b;
    unsigned char *svm_a, *svm_b;
    unsigned char in[BUFFER_BYTES], out[BUFFER_BYTES];
    unsigned seed;
    unsigned long finishes;
};

static const size_t no_origin[3] = {0, 0, 0};
static const size_t image_region[3] = {IMAGE_WIDTH, IMAGE_HEIGHT, 1};
static const size_t rect_origin[3] = {8, 2, 1};
static const size_t rect_region[3] = {16, 4, 2};

static void finish(struct run *run) {
    MUST(clFinish(run->queue));
    run->finishes++;
}

// ---- known contents ----

static void new_input(struct run *run) {
    run->seed = run->seed * 1664525u + 1013904223u;
    unsigned state = run->seed;
    for (size_t i = 0; i < sizeof run->in; i++) {
        state = state * 1664525u + 1013904223u;
        run->in[i] = (unsigned char)(state >> 24);
    }
    memset(run->out, 0, sizeof run->out);
}

// Writes the first `bytes` of the input to the buffer; a command like any other, so in the journal.
static void poke(struct run *run, cl_mem buffer, size_t bytes) {
    struct entry *entry = journal_add(&run->journal, "clEnqueueWriteBuffer", CL_COMMAND_WRITE_BUFFER);
    entry->has_bytes = entry->can_block = entry->blocking = true;
    entry->bytes = bytes;
    MUST(clEnqueueWriteBuffer(run->queue, buffer, CL_TRUE, 0, bytes, run->in, 0, NULL, NULL));
}

static void peek(struct run *run, cl_mem buffer, size_t bytes) {
    struct entry *entry = journal_add(&run->journal, "clEnqueueReadBuffer", CL_COMMAND_READ_BUFFER);
    entry->has_bytes = entry->can_block = entry->blocking = true;
    entry->bytes = bytes;
    MUST(clEnqueueReadBuffer(run->queue, buffer, CL_TRUE, 0, bytes, run->out, 0, NULL, NULL));
}

static void poke_image(struct run *run, cl_mem image) {
    struct entry *entry = journal_add(&run->journal, "clEnqueueWriteImage", CL_COMMAND_WRITE_IMAGE);
    entry->has_bytes = entry->can_block = entry->blocking = true;
    entry->bytes = IMAGE_BYTES;
    MUST(clEnqueueWriteImage(run->queue, image, CL_TRUE, no_origin, image_region, 0, 0, run->in, 0, NULL,
                             NULL));
}

static void peek_image(struct run *run, cl_mem image) {
    struct entry *entry = journal_add(&run->journal, "clEnqueueReadImage", CL_COMMAND_READ_IMAGE);
    entry->has_bytes = entry->can_block = entry->blocking = true;
    entry->bytes = IMAGE_BYTES;
    MUST(clEnqueueReadImage(run->queue, image, CL_TRUE, no_origin, image_region, 0, 0, run->out, 0, NULL,
                            NULL));
}

static void expect_output(const struct run *run, size_t bytes) {
    EXPECT(memcmp(run->in, run->out, bytes) == 0);
}

// Is every byte of the box in `there` the byte at the same place of the box in `here`?
static bool same_box(const unsigned char *here, const unsigned char *there) {
    for (size_t z = 0; z < rect_region[2]; z++)
        for (size_t y = 0; y < rect_region[1]; y++) {
            const size_t at =
                rect_origin[0] + (rect_origin[1] + y) * ROW_PITCH + (rect_origin[2] + z) * SLICE_PITCH;
            if (memcmp(here + at, there + at, rect_region[0]) != 0)
                return false;
        }
    return true;
}

// ---- kernels ----

static void mark(struct run *run, const char *name, cl_uint dims, const size_t *offset, const size_t *local) {
    static const size_t global[3] = {16, 8, 4};
    cl_kernel kernel = program_kernel(run->program, name);
    const cl_uint *cells = (const cl_uint *)(const void *)run->out;
    memset(run->in, 0, sizeof run->in);
    poke(run, run->a, CELLS * sizeof(cl_uint));
    MUST(clSetKernelArg(kernel, 0, sizeof run->a, &run->a));

    struct entry *entry = journal_begin(&run->journal, "clEnqueueNDRangeKernel", CL_COMMAND_NDRANGE_KERNEL);
    entry->kernel = name;
    entry->dims = dims;
    entry->offset = offset;
    entry->global = global;
    entry->local = local;
    MUST(clEnqueueNDRangeKernel(run->queue, kernel, dims, offset, global, local, TAIL(entry)));
    finish(run);
    peek(run, run->a, CELLS * sizeof(cl_uint));

    const size_t shift[3] = {offset ? offset[0] : 0, offset && dims > 1 ? offset[1] : 0,
                             offset && dims > 2 ? offset[2] : 0};
    for (size_t i = 0; i < CELLS; i++) {
        const size_t x = i % CELLS_WIDE - shift[0]; // wraps to huge below the offset
        const size_t y = i / CELLS_WIDE % CELLS_HIGH - shift[1];
        const size_t z = i / CELLS_WIDE / CELLS_HIGH - shift[2];
        const bool inside = x < global[0] && y < (dims > 1 ? global[1] : 1) && z < (dims > 2 ? global[2] : 1);
        EXPECT(cells[i] == (inside ? 1u : 0u));
    }
    MUST(clReleaseKernel(kernel));
}

static void ndrange(struct run *run) {
    static const char *const names[] = {"mark_line", "mark_plane", "mark_volume"};
    static const size_t offset[3] = {4, 3, 2};
    static const size_t local[3] = {4, 2, 2};
    for (cl_uint dims = 1; dims <= 3; dims++) {
        mark(run, names[dims - 1], dims, NULL, NULL);
        mark(run, names[dims - 1], dims, NULL, local);
        mark(run, names[dims - 1], dims, offset, NULL);
        mark(run, names[dims - 1], dims, offset, local);
    }
}

static void task(struct run *run) {
    cl_kernel kernel = program_kernel(run->program, "store_one");
    new_input(run);
    const cl_uint value = run->seed;
    MUST(clSetKernelArg(kernel, 0, sizeof run->a, &run->a));
    MUST(clSetKernelArg(kernel, 1, sizeof value, &value));
    struct entry *entry = journal_begin(&run->journal, "clEnqueueTask", CL_COMMAND_TASK);
    entry->kernel = "store_one";
    MUST(clEnqueueTask(run->queue, kernel, TAIL(entry)));
    finish(run);
    peek(run, run->a, sizeof value);
    EXPECT(memcmp(run->out, &value, sizeof value) == 0);
    MUST(clReleaseKernel(kernel));
}

struct native_arguments {
    void *buffer;
    unsigned value;
};

static void CL_CALLBACK store_native(void *arguments) {
    const struct native_arguments *given = arguments;
    memcpy(given->buffer, &given->value, sizeof given->value);
}

static void native(struct run *run) {
    cl_device_exec_capabilities can = 0;
    MUST(clGetDeviceInfo(run->device, CL_DEVICE_EXECUTION_CAPABILITIES, sizeof can, &can, NULL));
    if (!(can & CL_EXEC_NATIVE_KERNEL))
        return;
    new_input(run);
    struct native_arguments arguments = {NULL, run->seed};
    const void *places[] = {&arguments.buffer};
    struct entry *entry = journal_begin(&run->journal, "clEnqueueNativeKernel", CL_COMMAND_NATIVE_KERNEL);
    MUST(clEnqueueNativeKernel(run->queue, store_native, &arguments, sizeof arguments, 1, &run->a, places,
                               TAIL(entry)));
    finish(run);
    peek(run, run->a, sizeof arguments.value);
    EXPECT(memcmp(run->out, &arguments.value, sizeof arguments.value) == 0);
}

// ---- buffers ----

static void write_buffer(struct run *run) {
    new_input(run);
    struct entry *entry =
        journal_begin_blocking(&run->journal, "clEnqueueWriteBuffer", CL_COMMAND_WRITE_BUFFER, BUFFER_BYTES);
    MUST(clEnqueueWriteBuffer(run->queue, run->a, entry->blocking, 0, BUFFER_BYTES, run->in, TAIL(entry)));
    if (!run->journal.blocking)
        finish(run);
    peek(run, run->a, BUFFER_BYTES);
    expect_output(run, BUFFER_BYTES);
}

static void read_buffer(struct run *run) {
    new_input(run);
    poke(run, run->a, BUFFER_BYTES);
    struct entry *entry = journal_begin_blocking(&run->journal, "clEnqueueReadBuffer", CL_COMMAND_READ_BUFFER,
                                                 BUFFER_BYTES - 16);
    MUST(clEnqueueReadBuffer(run->queue, run->a, entry->blocking, 16, BUFFER_BYTES - 16, run->out + 16,
                             TAIL(entry)));
    if (!run->journal.blocking)
        finish(run);
    memcpy(run->out, run->in, 16);
    expect_output(run, BUFFER_BYTES);
}

static void copy_buffer(struct run *run) {
    new_input(run);
    poke(run, run->a, BUFFER_BYTES);
    struct entry *entry =
        journal_begin_bytes(&run->journal, "clEnqueueCopyBuffer", CL_COMMAND_COPY_BUFFER, BUFFER_BYTES);
    MUST(clEnqueueCopyBuffer(run->queue, run->a, run->b, 0, 0, BUFFER_BYTES, TAIL(entry)));
    finish(run);
    peek(run, run->b, BUFFER_BYTES);
    expect_output(run, BUFFER_BYTES);
}

static void fill_buffer(struct run *run) {
    for (size_t size = 1; size <= 128; size *= 2) {
        new_input(run);
        struct entry *entry =
            journal_begin_bytes(&run->journal, "clEnqueueFillBuffer", CL_COMMAND_FILL_BUFFER, BUFFER_BYTES);
        MUST(clEnqueueFillBuffer(run->queue, run->a, run->in, size, 0, BUFFER_BYTES, TAIL(entry)));
        finish(run);
        peek(run, run->a, BUFFER_BYTES);
        for (size_t i = 0; i < BUFFER_BYTES; i++)
            EXPECT(run->out[i] == run->in[i % size]);
    }
}

static void write_rect(struct run *run) {
    new_input(run);
    struct entry *entry = journal_begin_blocking(&run->journal, "clEnqueueWriteBufferRect",
                                                 CL_COMMAND_WRITE_BUFFER_RECT, RECT_BYTES);
    MUST(clEnqueueWriteBufferRect(run->queue, run->a, entry->blocking, rect_origin, rect_origin, rect_region,
                                  ROW_PITCH, SLICE_PITCH, ROW_PITCH, SLICE_PITCH, run->in, TAIL(entry)));
    if (!run->journal.blocking)
        finish(run);
    peek(run, run->a, BUFFER_BYTES);
    EXPECT(same_box(run->in, run->out));
}

static void read_rect(struct run *run) {
    new_input(run);
    poke(run, run->a, BUFFER_BYTES);
    struct entry *entry = journal_begin_blocking(&run->journal, "clEnqueueReadBufferRect",
                                                 CL_COMMAND_READ_BUFFER_RECT, RECT_BYTES);
    MUST(clEnqueueReadBufferRect(run->queue, run->a, entry->blocking, rect_origin, rect_origin, rect_region,
                                 ROW_PITCH, SLICE_PITCH, ROW_PITCH, SLICE_PITCH, run->out, TAIL(entry)));
    if (!run->journal.blocking)
        finish(run);
    EXPECT(same_box(run->in, run->out));
}

static void copy_rect(struct run *run) {
    new_input(run);
    poke(run, run->a, BUFFER_BYTES);
    struct entry *entry = journal_begin_bytes(&run->journal, "clEnqueueCopyBufferRect",
                                              CL_COMMAND_COPY_BUFFER_RECT, RECT_BYTES);
    MUST(clEnqueueCopyBufferRect(run->queue, run->a, run->b, rect_origin, rect_origin, rect_region, ROW_PITCH,
                                 SLICE_PITCH, ROW_PITCH, SLICE_PITCH, TAIL(entry)));
    finish(run);
    peek(run, run->b, BUFFER_BYTES);
    EXPECT(same_box(run->in, run->out));
}

static void unmap(struct run *run, cl_mem object, void *mapped) {
    struct entry *entry =
        journal_begin(&run->journal, "clEnqueueUnmapMemObject", CL_COMMAND_UNMAP_MEM_OBJECT);
    MUST(clEnqueueUnmapMemObject(run->queue, object, mapped, TAIL(entry)));
    finish(run);
}

static void map_buffer(struct run *run) {
    static const cl_map_flags ways[] = {CL_MAP_READ, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION};
    for (size_t way = 0; way < COUNT_OF(ways); way++) {
        cl_int status = CL_SUCCESS;
        new_input(run);
        poke(run, run->a, BUFFER_BYTES);
        struct entry *entry =
            journal_begin_blocking(&run->journal, "clEnqueueMapBuffer", CL_COMMAND_MAP_BUFFER, BUFFER_BYTES);
        unsigned char *mapped = clEnqueueMapBuffer(run->queue, run->a, entry->blocking, ways[way], 0,
                                                   BUFFER_BYTES, TAIL(entry), &status);
        MUST(status);
        if (!run->journal.blocking)
            finish(run);
        if (ways[way] == CL_MAP_READ) {
            EXPECT(memcmp(mapped, run->in, BUFFER_BYTES) == 0);
        } else {
            new_input(run);
            memcpy(mapped, run->in, BUFFER_BYTES);
        }
        unmap(run, run->a, mapped);
        peek(run, run->a, BUFFER_BYTES);
        expect_output(run, BUFFER_BYTES);
    }
}

static void migrate(struct run *run) {
    static const cl_mem_migration_flags ways[] = {0, CL_MIGRATE_MEM_OBJECT_HOST};
    for (size_t way = 0; way < COUNT_OF(ways); way++) {
        const cl_mem objects[] = {run->a, run->b};
        new_input(run);
        poke(run, run->a, BUFFER_BYTES);
        struct entry *entry =
            journal_begin(&run->journal, "clEnqueueMigrateMemObjects", CL_COMMAND_MIGRATE_MEM_OBJECTS);
        MUST(clEnqueueMigrateMemObjects(run->queue, 2, objects, ways[way], TAIL(entry)));
        finish(run);
        peek(run, run->a, BUFFER_BYTES);
        expect_output(run, BUFFER_BYTES);
    }
}

// ---- images ----

static void write_image(struct run *run) {
    new_input(run);
    struct entry *entry =
        journal_begin_blocking(&run->journal, "clEnqueueWriteImage", CL_COMMAND_WRITE_IMAGE, IMAGE_BYTES);
    MUST(clEnqueueWriteImage(run->queue, run->image_a, entry->blocking, no_origin, image_region, 0, 0,
                             run->in, TAIL(entry)));
    if (!run->journal.blocking)
        finish(run);
    peek_image(run, run->image_a);
    expect_output(run, IMAGE_BYTES);
}

static void read_image(struct run *run) {
    new_input(run);
    poke_image(run, run->image_a);
    struct entry *entry =
        journal_begin_blocking(&run->journal, "clEnqueueReadImage", CL_COMMAND_READ_IMAGE, IMAGE_BYTES);
    MUST(clEnqueueReadImage(run->queue, run->image_a, entry->blocking, no_origin, image_region, 0, 0,
                            run->out, TAIL(entry)));
    if (!run->journal.blocking)
        finish(run);
    expect_output(run, IMAGE_BYTES);
}

static void copy_image(struct run *run) {
    new_input(run);
    poke_image(run, run->image_a);
    struct entry *entry =
        journal_begin_bytes(&run->journal, "clEnqueueCopyImage", CL_COMMAND_COPY_IMAGE, IMAGE_BYTES);
    MUST(clEnqueueCopyImage(run->queue, run->image_a, run->image_b, no_origin, no_origin, image_region,
                            TAIL(entry)));
    finish(run);
    peek_image(run, run->image_b);
    expect_output(run, IMAGE_BYTES);
}

static void fill_image(struct run *run) {
    const cl_uint color[4] = {7, 77, 177, 255};
    new_input(run);
    struct entry *entry =
        journal_begin_bytes(&run->journal, "clEnqueueFillImage", CL_COMMAND_FILL_IMAGE, IMAGE_BYTES);
    MUST(clEnqueueFillImage(run->queue, run->image_a, color, no_origin, image_region, TAIL(entry)));
    finish(run);
    peek_image(run, run->image_a);
    for (size_t i = 0; i < IMAGE_BYTES; i++)
        EXPECT(run->out[i] == color[i % PIXEL_BYTES]);
}

static void image_to_buffer(struct run *run) {
    new_input(run);
    poke_image(run, run->image_a);
    struct entry *entry = journal_begin_bytes(&run->journal, "clEnqueueCopyImageToBuffer",
                                              CL_COMMAND_COPY_IMAGE_TO_BUFFER, IMAGE_BYTES);
    MUST(clEnqueueCopyImageToBuffer(run->queue, run->image_a, run->a, no_origin, image_region, 0,
                                    TAIL(entry)));
    finish(run);
    peek(run, run->a, IMAGE_BYTES);
    expect_output(run, IMAGE_BYTES);
}

static void buffer_to_image(struct run *run) {
    new_input(run);
    poke(run, run->a, IMAGE_BYTES);
    struct entry *entry = journal_begin_bytes(&run->journal, "clEnqueueCopyBufferToImage",
                                              CL_COMMAND_COPY_BUFFER_TO_IMAGE, IMAGE_BYTES);
    MUST(clEnqueueCopyBufferToImage(run->queue, run->a, run->image_a, 0, no_origin, image_region,
                                    TAIL(entry)));
    finish(run);
    peek_image(run, run->image_a);
    expect_output(run, IMAGE_BYTES);
}

static void map_image(struct run *run) {
    cl_int status = CL_SUCCESS;
    size_t pitch = 0;
    new_input(run);
    poke_image(run, run->image_a);
    struct entry *entry =
        journal_begin_blocking(&run->journal, "clEnqueueMapImage", CL_COMMAND_MAP_IMAGE, IMAGE_BYTES);
    unsigned char *mapped =
        clEnqueueMapImage(run->queue, run->image_a, entry->blocking, CL_MAP_READ | CL_MAP_WRITE, no_origin,
                          image_region, &pitch, NULL, TAIL(entry), &status);
    MUST(status);
    if (!run->journal.blocking)
        finish(run);
    for (size_t y = 0; y < IMAGE_HEIGHT; y++) {
        const size_t row = IMAGE_WIDTH * PIXEL_BYTES;
        EXPECT(memcmp(mapped + y * pitch, run->in + y * row, row) == 0);
    }
    unmap(run, run->image_a, mapped);
}

// ---- shared virtual memory ----

static void svm_unmap(struct run *run, void *pointer) {
    struct entry *entry = journal_begin(&run->journal, "clEnqueueSVMUnmap", CL_COMMAND_SVM_UNMAP);
    MUST(clEnqueueSVMUnmap(run->queue, pointer, TAIL(entry)));
    finish(run);
}

// Maps `pointer` in the current form, then copies between it and the host.
static void svm_access(struct run *run, unsigned char *pointer, cl_map_flags way) {
    struct entry *entry =
        journal_begin_blocking(&run->journal, "clEnqueueSVMMap", CL_COMMAND_SVM_MAP, BUFFER_BYTES);
    MUST(clEnqueueSVMMap(run->queue, entry->blocking, way, pointer, BUFFER_BYTES, TAIL(entry)));
    if (!run->journal.blocking)
        finish(run);
    if (way == CL_MAP_READ)
        memcpy(run->out, pointer, BUFFER_BYTES);
    else
        memcpy(pointer, run->in, BUFFER_BYTES);
    svm_unmap(run, pointer);
}

static void svm_memcpy(struct run *run) {
    new_input(run);
    svm_access(run, run->svm_a, CL_MAP_WRITE);
    struct entry *entry =
        journal_begin_blocking(&run->journal, "clEnqueueSVMMemcpy", CL_COMMAND_SVM_MEMCPY, BUFFER_BYTES);
    MUST(clEnqueueSVMMemcpy(run->queue, entry->blocking, run->svm_b, run->svm_a, BUFFER_BYTES, TAIL(entry)));
    if (!run->journal.blocking)
        finish(run);
    svm_access(run, run->svm_b, CL_MAP_READ);
    expect_output(run, BUFFER_BYTES);
}

static void svm_memfill(struct run *run) {
    new_input(run);
    struct entry *entry =
        journal_begin_bytes(&run->journal, "clEnqueueSVMMemFill", CL_COMMAND_SVM_MEMFILL, BUFFER_BYTES);
    MUST(clEnqueueSVMMemFill(run->queue, run->svm_a, run->in, 16, BUFFER_BYTES, TAIL(entry)));
    finish(run);
    svm_access(run, run->svm_a, CL_MAP_READ);
    for (size_t i = 0; i < BUFFER_BYTES; i++)
        EXPECT(run->out[i] == run->in[i % 16]);
}

static void svm_migrate(struct run *run) {
    const void *pointers[] = {run->svm_a, run->svm_b};
    const size_t sizes[] = {BUFFER_BYTES, 0}; // 0: the whole allocation
    struct entry *entry = journal_begin(&run->journal, "clEnqueueSVMMigrateMem", CL_COMMAND_SVM_MIGRATE_MEM);
    MUST(clEnqueueSVMMigrateMem(run->queue, 2, pointers, sizes, 0, TAIL(entry)));
    finish(run);
}

static void svm_kernel(struct run *run) {
    const size_t global = BUFFER_BYTES / sizeof(cl_uint);
    cl_kernel kernel = program_kernel(run->program, "mark_line");
    memset(run->in, 0, sizeof run->in);
    svm_access(run, run->svm_a, CL_MAP_WRITE);
    MUST(clSetKernelArgSVMPointer(kernel, 0, run->svm_a));
    struct entry *entry = journal_begin(&run->journal, "clEnqueueNDRangeKernel", CL_COMMAND_NDRANGE_KERNEL);
    static const size_t sizes[1] = {BUFFER_BYTES / sizeof(cl_uint)};
    entry->kernel = "mark_line";
    entry->dims = 1;
    entry->global = sizes;
    MUST(clEnqueueNDRangeKernel(run->queue, kernel, 1, NULL, &global, NULL, TAIL(entry)));
    finish(run);
    svm_access(run, run->svm_a, CL_MAP_READ);
    for (size_t i = 0; i < global; i++)
        EXPECT(((const cl_uint *)(const void *)run->out)[i] == 1);
    MUST(clReleaseKernel(kernel));
}

// ---- order ----

static void markers(struct run *run) {
    struct entry *entry = journal_begin(&run->journal, "clEnqueueMarkerWithWaitList", CL_COMMAND_MARKER);
    MUST(clEnqueueMarkerWithWaitList(run->queue, TAIL(entry)));
    entry = journal_begin(&run->journal, "clEnqueueBarrierWithWaitList", CL_COMMAND_BARRIER);
    MUST(clEnqueueBarrierWithWaitList(run->queue, TAIL(entry)));
    finish(run);
}

// The forms of OpenCL 1.0: no wait list, and the marker always has an event. (PoCL 3.1 ends the
// process in the third of them, clEnqueueWaitForEvents.)
static void old_markers(struct run *run) {
    struct entry *entry = journal_add(&run->journal, "clEnqueueMarker", CL_COMMAND_MARKER);
    entry->want_event = true;
    MUST(clEnqueueMarker(run->queue, &entry->event));
    entry = journal_add(&run->journal, "clEnqueueBarrier", CL_COMMAND_BARRIER);
    MUST(clEnqueueBarrier(run->queue));
    finish(run);
}

// ---- the run ----

enum needs { NEEDS_NOTHING, NEEDS_IMAGES, NEEDS_SVM };

static const struct {
    void (*enqueue)(struct run *);
    bool can_block;
    enum needs needs;
} commands[] = {
    {ndrange, false, NEEDS_NOTHING},        {task, false, NEEDS_NOTHING},
    {native, false, NEEDS_NOTHING},         {write_buffer, true, NEEDS_NOTHING},
    {read_buffer, true, NEEDS_NOTHING},     {copy_buffer, false, NEEDS_NOTHING},
    {fill_buffer, false, NEEDS_NOTHING},    {write_rect, true, NEEDS_NOTHING},
    {read_rect, true, NEEDS_NOTHING},       {copy_rect, false, NEEDS_NOTHING},
    {map_buffer, true, NEEDS_NOTHING},      {migrate, false, NEEDS_NOTHING},
    {write_image, true, NEEDS_IMAGES},      {read_image, true, NEEDS_IMAGES},
    {copy_image, false, NEEDS_IMAGES},      {fill_image, false, NEEDS_IMAGES},
    {image_to_buffer, false, NEEDS_IMAGES}, {buffer_to_image, false, NEEDS_IMAGES},
    {map_image, true, NEEDS_IMAGES},        {svm_memcpy, true, NEEDS_SVM},
    {svm_memfill, false, NEEDS_SVM},        {svm_migrate, false, NEEDS_SVM},
    {svm_kernel, false, NEEDS_SVM},         {markers, false, NEEDS_NOTHING},
    {old_markers, false, NEEDS_NOTHING},
};

static void run_queue(struct run *run, cl_command_queue_properties properties) {
    run->queue = program_queue(run->context, run->device, properties);
    run->journal.queue_first = run->journal.count;
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if ((commands[i].needs == NEEDS_IMAGES && !run->image_a) ||
            (commands[i].needs == NEEDS_SVM && !run->svm_a))
            continue;
        for (unsigned form = 0; form < (commands[i].can_block ? 8u : 4u); form++) {
            run->journal.want_event = form & 1;
            run->journal.want_waits = form & 2;
            run->journal.blocking = form & 4;
            commands[i].enqueue(run);
        }
    }
    finish(run);
}

static cl_mem make_image(const struct run *run) {
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc shape = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = IMAGE_WIDTH, .image_height = IMAGE_HEIGHT};
    cl_int status = CL_SUCCESS;
    cl_mem image = clCreateImage(run->context, CL_MEM_READ_WRITE, &format, &shape, NULL, &status);
    MUST(status);
    return image;
}

static void make_objects(struct run *run, bool images, bool svm) {
    cl_bool has_images = CL_FALSE;
    cl_device_svm_capabilities has_svm = 0;
    run->a = program_buffer(run->context, BUFFER_BYTES);
    run->b = program_buffer(run->context, BUFFER_BYTES);
    MUST(clGetDeviceInfo(run->device, CL_DEVICE_IMAGE_SUPPORT, sizeof has_images, &has_images, NULL));
    if (images && has_images) {
        run->image_a = make_image(run);
        run->image_b = make_image(run);
    }
    // An OpenCL 1.2 device does not know this question: then it has no SVM.
    if (clGetDeviceInfo(run->device, CL_DEVICE_SVM_CAPABILITIES, sizeof has_svm, &has_svm, NULL) !=
        CL_SUCCESS)
        has_svm = 0;
    if (svm && (has_svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) {
        run->svm_a = clSVMAlloc(run->context, CL_MEM_READ_WRITE, BUFFER_BYTES, 0);
        run->svm_b = clSVMAlloc(run->context, CL_MEM_READ_WRITE, BUFFER_BYTES, 0);
        EXPECT(run->svm_a && run->svm_b);
    }
}

static void release_objects(struct run *run) {
    const cl_mem objects[] = {run->a, run->b, run->image_a, run->image_b};
    for (size_t i = 0; i < COUNT_OF(objects); i++)
        if (objects[i])
            MUST(clReleaseMemObject(objects[i]));
    if (run->svm_a) {
        clSVMFree(run->context, run->svm_a);
        clSVMFree(run->context, run->svm_b);
    }
    for (unsigned i = 0; i < run->journal.count; i++)
        if (run->journal.entries[i].event)
            MUST(clReleaseEvent(run->journal.entries[i].event));
}

// ---- the truth ----

static void print_truth(const struct run *run) {
    printf("{\"program\":\"cl_every_command\",\n");
    printf("\"queues\":[{\"profiling\":true,\"out_of_order\":false},"
           "{\"profiling\":false,\"out_of_order\":false},"
           "{\"profiling\":false,\"out_of_order\":true}],\n");
    printf("\"images\":%s,\"svm\":%s,\"finishes\":%lu,\n", run->image_a ? "true" : "false",
           run->svm_a ? "true" : "false", run->finishes);
    printf("\"counts\":{\"commands\":%u},\n\"by_command\":{", run->journal.count);
    journal_print_counts(&run->journal);
    printf("},\n\"commands\":[\n");
    for (unsigned i = 0; i < run->journal.count; i++) {
        journal_print_entry(&run->journal.entries[i], i);
        printf("%s\n", i + 1 < run->journal.count ? "," : "");
    }
    printf("]}\n");
}

int main(int argc, char **argv) {
    static struct run run; // too large for the stack
    static const cl_command_queue_properties queues[] = {CL_QUEUE_PROFILING_ENABLE, 0,
                                                         CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE};
    bool images = true;
    bool svm = true;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--no-images") == 0)
            images = false;
        else if (strcmp(argv[i], "--no-svm") == 0)
            svm = false;
        else {
            fprintf(stderr, "usage: %s [--no-svm] [--no-images]\n", argv[0]);
            return EXIT_USAGE;
        }
    }
    struct program_setup setup = program_start(source);
    run.device = setup.device;
    run.context = setup.context;
    run.program = setup.program;
    make_objects(&run, images, svm);
    for (size_t i = 0; i < COUNT_OF(queues); i++) {
        run.journal.queue = (unsigned)i;
        run_queue(&run, queues[i]);
        MUST(clReleaseCommandQueue(run.queue));
    }
    print_truth(&run);
    release_objects(&run);
    program_finish(&setup);
    return 0;
}
