// SPDX-License-Identifier: Apache-2.0
//
// Creates and releases every kind of memory object and keeps the account: how many bytes live after
// each step, and the most that ever did.
//
//   cl_memory [--leak]
//
// An object's bytes are its CL_MEM_SIZE; a sub-buffer has none of its own. An object dies when its destructor
// callback is called, which is not always the program's last release: a sub-buffer keeps its
// buffer alive. SVM lives from clSVMAlloc to clSVMFree. With --leak the last objects are not released, and
// are the live bytes at the end.

#include "program.h"

enum { STEPS_MAX = 256, MEBIBYTE = 1 << 20 };

struct step {
    const char *what; // create, alias, retain, release, svm_alloc, svm_free
    const char *kind;
    cl_mem_flags flags;
    size_t bytes;   // of the object the step is about
    uint64_t live;  // after the step
    unsigned count; // live objects that have bytes of their own, after the step
};

struct account {
    uint64_t live, high;
    uint64_t bytes_created;
    unsigned objects, objects_created, objects_destroyed;
    struct step steps[STEPS_MAX];
    unsigned step_count;
};

// The object a destructor callback is about; aliases have none of the bytes.
struct object {
    struct account *account;
    cl_mem memory;
    const char *kind;
    cl_mem_flags flags;
    size_t bytes;
    bool alias;
};

static void note(struct account *account, const char *what, const char *kind, cl_mem_flags flags,
                 size_t bytes) {
    EXPECT(account->step_count < STEPS_MAX);
    if (account->live > account->high)
        account->high = account->live;
    account->steps[account->step_count++] =
        (struct step){what, kind, flags, bytes, account->live, account->objects};
}

static void CL_CALLBACK destroyed(cl_mem memory, void *argument) {
    struct object *object = argument;
    (void)memory;
    object->account->objects_destroyed++;
    if (object->alias)
        return;
    object->account->live -= object->bytes;
    object->account->objects--;
}

// Takes a new object into the account.
static void adopt(struct account *account, struct object *object, cl_mem memory, const char *kind,
                  cl_mem_flags flags, bool alias) {
    *object =
        (struct object){.account = account, .memory = memory, .kind = kind, .flags = flags, .alias = alias};
    MUST(clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof object->bytes, &object->bytes, NULL));
    MUST(clSetMemObjectDestructorCallback(memory, destroyed, object));
    account->objects_created++;
    if (!alias) {
        account->live += object->bytes;
        account->bytes_created += object->bytes;
        account->objects++;
    }
    note(account, alias ? "alias" : "create", kind, flags, object->bytes);
}

static void release(struct object *object) {
    MUST(clReleaseMemObject(object->memory));
    note(object->account, "release", object->kind, object->flags, object->bytes);
}

static void retain(struct object *object) {
    MUST(clRetainMemObject(object->memory));
    note(object->account, "retain", object->kind, object->flags, object->bytes);
}

static void make_buffer(struct account *account, struct object *object, cl_context context,
                        cl_mem_flags flags, size_t bytes, void *host) {
    cl_int status = CL_SUCCESS;
    cl_mem memory = clCreateBuffer(context, flags, bytes, host, &status);
    MUST(status);
    adopt(account, object, memory, "buffer", flags, false);
}

static void buffers(struct account *account, cl_context context) {
    static unsigned char host[64 * 1024] __attribute__((aligned(4096)));
    static const struct {
        cl_mem_flags flags;
        size_t bytes;
        bool with_host;
    } plans[] = {
        {CL_MEM_READ_WRITE, 1, false},
        {CL_MEM_READ_ONLY, 4096, false},
        {CL_MEM_WRITE_ONLY, 3 * MEBIBYTE + 7, false},
        {CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, MEBIBYTE, false},
        {CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof host, true},
        {CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, sizeof host, true},
        {CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS, 12345, false},
        {0, 777, false}, // 0 means read-write
    };
    struct object objects[COUNT_OF(plans)];
    for (size_t i = 0; i < COUNT_OF(plans); i++)
        make_buffer(account, &objects[i], context, plans[i].flags, plans[i].bytes,
                    plans[i].with_host ? host : NULL);
    retain(&objects[2]);
    for (size_t i = 0; i < COUNT_OF(plans); i++) // frees all but the third
        release(&objects[i]);
    EXPECT(account->live == 3 * MEBIBYTE + 7 && account->objects == 1);
    release(&objects[2]);
    EXPECT(account->live == 0);
}

static void sub_buffers(struct account *account, cl_context context) {
    struct object whole;
    struct object parts[2];
    make_buffer(account, &whole, context, CL_MEM_READ_WRITE, 2 * MEBIBYTE, NULL);
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const cl_buffer_region region = {i * MEBIBYTE, MEBIBYTE};
        cl_int status = CL_SUCCESS;
        cl_mem part = clCreateSubBuffer(whole.memory, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                        &region, &status);
        MUST(status);
        adopt(account, &parts[i], part, "sub_buffer", CL_MEM_READ_WRITE, true);
    }
    release(&whole); // the parts keep it alive
    EXPECT(account->live == 2 * MEBIBYTE);
    release(&parts[0]);
    EXPECT(account->live == 2 * MEBIBYTE);
    release(&parts[1]);
    EXPECT(account->live == 0);
}

static void make_image(struct account *account, struct object *object, cl_context context, const char *kind,
                       const cl_image_desc *shape) {
    const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    cl_int status = CL_SUCCESS;
    cl_mem memory = clCreateImage(context, CL_MEM_READ_WRITE, &format, shape, NULL, &status);
    MUST(status);
    adopt(account, object, memory, kind, CL_MEM_READ_WRITE, false);
}

static void images(struct account *account, const struct program_setup *setup) {
    static const struct {
        const char *kind;
        cl_image_desc shape;
    } plans[] = {
        {"image1d", {.image_type = CL_MEM_OBJECT_IMAGE1D, .image_width = 1000}},
        {"image2d", {.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 640, .image_height = 480}},
        {"image3d",
         {.image_type = CL_MEM_OBJECT_IMAGE3D, .image_width = 64, .image_height = 32, .image_depth = 16}},
        {"image2d_array",
         {.image_type = CL_MEM_OBJECT_IMAGE2D_ARRAY,
          .image_width = 64,
          .image_height = 32,
          .image_array_size = 5}},
    };
    struct object objects[COUNT_OF(plans)];
    cl_bool supported = CL_FALSE;
    MUST(clGetDeviceInfo(setup->device, CL_DEVICE_IMAGE_SUPPORT, sizeof supported, &supported, NULL));
    if (!supported)
        return;
    for (size_t i = 0; i < COUNT_OF(plans); i++)
        make_image(account, &objects[i], setup->context, plans[i].kind, &plans[i].shape);
    for (size_t i = COUNT_OF(plans); i-- > 0;)
        release(&objects[i]);
    EXPECT(account->live == 0);
}

static void svm(struct account *account, const struct program_setup *setup) {
    cl_device_svm_capabilities can = 0;
    static const size_t sizes[] = {4096, 5 * MEBIBYTE, 100};
    void *pointers[COUNT_OF(sizes)];
    if (clGetDeviceInfo(setup->device, CL_DEVICE_SVM_CAPABILITIES, sizeof can, &can, NULL) != CL_SUCCESS ||
        !(can & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER))
        return;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        pointers[i] = clSVMAlloc(setup->context, CL_MEM_READ_WRITE, sizes[i], 0);
        EXPECT(pointers[i] != NULL);
        account->live += sizes[i];
        account->bytes_created += sizes[i];
        account->objects++;
        account->objects_created++;
        note(account, "svm_alloc", "svm", CL_MEM_READ_WRITE, sizes[i]);
    }
    clSVMFree(setup->context, NULL); // allowed, and does nothing
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        clSVMFree(setup->context, pointers[i]);
        account->live -= sizes[i];
        account->objects--;
        account->objects_destroyed++;
        note(account, "svm_free", "svm", CL_MEM_READ_WRITE, sizes[i]);
    }
}

static void print_truth(const struct account *account) {
    printf("{\"program\":\"cl_memory\",\"pid\":%ld,\"objects_created\":%u,\"objects_destroyed\":%u,"
           "\"bytes_created\":%llu,\"live_high_bytes\":%llu,\"live_end_bytes\":%llu,\"live_end_objects\":%u,"
           "\"steps\":[\n",
           (long)getpid(), account->objects_created, account->objects_destroyed,
           (unsigned long long)account->bytes_created, (unsigned long long)account->high,
           (unsigned long long)account->live, account->objects);
    for (unsigned i = 0; i < account->step_count; i++) {
        const struct step *step = &account->steps[i];
        printf("{\"what\":\"%s\",\"kind\":\"%s\",\"flags\":%llu,\"bytes\":%zu,\"live_bytes\":%llu,\"live_"
               "objects\":%u}%s\n",
               step->what, step->kind, (unsigned long long)step->flags, step->bytes,
               (unsigned long long)step->live, step->count, i + 1 < account->step_count ? "," : "");
    }
    printf("]}\n");
}

int main(int argc, char **argv) {
    static struct account account;
    const bool leak = argc == 2 && strcmp(argv[1], "--leak") == 0;
    struct program_setup setup = {0};
    struct object last[2];
    cl_int status = CL_SUCCESS;
    if (argc > 1 && !leak) {
        fprintf(stderr, "usage: %s [--leak]\n", argv[0]);
        return EXIT_USAGE;
    }
    program_devices(&setup.platform, &setup.device, 1);
    setup.context = clCreateContext(NULL, 1, &setup.device, NULL, NULL, &status);
    MUST(status);

    buffers(&account, setup.context);
    sub_buffers(&account, setup.context);
    images(&account, &setup);
    svm(&account, &setup);
    make_buffer(&account, &last[0], setup.context, CL_MEM_READ_WRITE, 1000, NULL);
    make_buffer(&account, &last[1], setup.context, CL_MEM_READ_WRITE, 2000, NULL);
    if (!leak) {
        release(&last[0]);
        release(&last[1]);
        EXPECT(account.live == 0 && account.objects == 0);
        EXPECT(account.objects_created == account.objects_destroyed);
    }
    print_truth(&account);
    if (!leak)
        MUST(clReleaseContext(setup.context));
    return 0;
}
