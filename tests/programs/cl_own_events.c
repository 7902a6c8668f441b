// SPDX-License-Identifier: Apache-2.0
//
// A program that already uses everything a tracer might touch: events, callbacks, user events,
// profiling, out-of-order queues, reference counts. It prints all that a program can see of them, with
// no address, time or process number in it: bare and under a tracer the text must be the same, byte for
// byte.
//
//   cl_own_events
//
// Reference counts are asked for only when nothing is in flight, where the specification leaves no
// doubt. Even then a runtime's own threads may take a moment to let go, so each count is asked for until it
// stays the same for a while.

#include "program.h"

#include <pthread.h>

static const char source[] =
    "__kernel void add_one(__global uint *c) { c[get_global_id(0)] += 1; }\n"
    "__kernel void scale(__global uint *c, uint by) { c[get_global_id(0)] *= by; }\n";

enum { CELLS = 64, BYTES = CELLS * sizeof(cl_uint) };

// ---- what is visible ----

static void say(const char *name, long long value) {
    printf("%-52s %lld\n", name, value);
}

typedef cl_uint ask(void *object);

static cl_uint event_references(void *event) {
    cl_uint count = 0;
    MUST(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof count, &count, NULL));
    return count;
}

static cl_uint queue_references(void *queue) {
    cl_uint count = 0;
    MUST(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof count, &count, NULL));
    return count;
}

static cl_uint context_references(void *context) {
    cl_uint count = 0;
    MUST(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL));
    return count;
}

static cl_uint memory_references(void *memory) {
    cl_uint count = 0;
    MUST(clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL));
    return count;
}

// What `ask` answers once it has answered the same ten times, a millisecond apart.
static cl_uint settled(ask *ask_count, void *object) {
    const struct timespec pause = {0, 1000000};
    cl_uint count = ask_count(object);
    for (int same = 0; same < 10; same++) {
        nanosleep(&pause, NULL);
        const cl_uint now = ask_count(object);
        if (now != count)
            same = 0;
        count = now;
    }
    return count;
}

static void say_queue(const char *title, cl_command_queue queue, cl_context context, cl_device_id device) {
    cl_command_queue_properties properties = 0;
    cl_queue_properties list[16] = {0};
    cl_context of_context = NULL;
    cl_device_id of_device = NULL;
    cl_uint references = 0;
    cl_uint size = 0;
    size_t bytes = 0;
    printf("queue: %s\n", title);
    say("  CL_QUEUE_PROPERTIES gives",
        clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, &bytes));
    say("  CL_QUEUE_PROPERTIES", (long long)properties);
    say("  CL_QUEUE_PROPERTIES bytes", (long long)bytes);
    bytes = 0;
    say("  CL_QUEUE_PROPERTIES_ARRAY gives",
        clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &bytes));
    say("  CL_QUEUE_PROPERTIES_ARRAY bytes", (long long)bytes);
    for (size_t i = 0; i < bytes / sizeof list[0] && i < COUNT_OF(list); i++)
        say("    entry", (long long)list[i]);
    say("  CL_QUEUE_REFERENCE_COUNT gives",
        clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, NULL));
    say("  CL_QUEUE_REFERENCE_COUNT", references);
    say("  CL_QUEUE_SIZE gives", clGetCommandQueueInfo(queue, CL_QUEUE_SIZE, sizeof size, &size, NULL));
    MUST(clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof of_context, &of_context, NULL));
    MUST(clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof of_device, &of_device, NULL));
    say("  its context is ours", of_context == context);
    say("  its device is ours", of_device == device);
}

static void say_event(const char *title, cl_event event, cl_command_queue queue, cl_context context) {
    cl_command_type type = 0;
    cl_int status = 99;
    cl_command_queue of_queue = NULL;
    cl_context of_context = NULL;
    printf("event: %s\n", title);
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof of_queue, &of_queue, NULL));
    MUST(clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof of_context, &of_context, NULL));
    say("  command type", type);
    say("  status", status);
    say("  references", settled(event_references, event));
    say("  its queue is ours", of_queue == queue);
    say("  its context is ours", of_context == context);
}

// The five times: what each question gives, and whether they are in order.
static void say_profile(cl_event event) {
    static const struct {
        cl_profiling_info which;
        const char *name;
    } questions[] = {
        {CL_PROFILING_COMMAND_QUEUED, "  CL_PROFILING_COMMAND_QUEUED gives"},
        {CL_PROFILING_COMMAND_SUBMIT, "  CL_PROFILING_COMMAND_SUBMIT gives"},
        {CL_PROFILING_COMMAND_START, "  CL_PROFILING_COMMAND_START gives"},
        {CL_PROFILING_COMMAND_END, "  CL_PROFILING_COMMAND_END gives"},
        {CL_PROFILING_COMMAND_COMPLETE, "  CL_PROFILING_COMMAND_COMPLETE gives"},
    };
    cl_ulong before = 0;
    bool ordered = true;
    bool given = true;
    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        cl_ulong time = 0;
        const cl_int status = clGetEventProfilingInfo(event, questions[i].which, sizeof time, &time, NULL);
        say(questions[i].name, status);
        given = given && status == CL_SUCCESS;
        ordered = ordered && before <= time;
        before = time;
    }
    if (given)
        say("  times in order", ordered);
}

static void say_references(const char *when, const struct program_setup *setup, cl_command_queue queue,
                           cl_kernel kernel, cl_mem memory) {
    cl_uint count = 0;
    printf("references: %s\n", when);
    say("  context", settled(context_references, setup->context));
    MUST(clGetProgramInfo(setup->program, CL_PROGRAM_REFERENCE_COUNT, sizeof count, &count, NULL));
    say("  program", count);
    if (queue) {
        say("  queue", settled(queue_references, queue));
    }
    if (kernel) {
        MUST(clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT, sizeof count, &count, NULL));
        say("  kernel", count);
    }
    if (memory) {
        say("  memory", settled(memory_references, memory));
        MUST(clGetMemObjectInfo(memory, CL_MEM_MAP_COUNT, sizeof count, &count, NULL));
        say("  memory maps", count);
    }
}

// ---- queues ----

static void queues(const struct program_setup *setup) {
    static const cl_queue_properties empty[] = {0};
    static const cl_queue_properties profiling[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    static const cl_queue_properties both[] = {
        CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    static const cl_queue_properties none[] = {CL_QUEUE_PROPERTIES, 0, 0};
    static const cl_queue_properties unknown[] = {0x7777, 1, 0};
    static const struct {
        const char *title;
        const cl_queue_properties *list;
    } lists[] = {
        {"no list", NULL},
        {"empty list", empty},
        {"list without flags", none},
        {"profiling", profiling},
        {"profiling, out of order", both},
        {"unknown property", unknown},
    };
    static const cl_command_queue_properties flags[] = {0, CL_QUEUE_PROFILING_ENABLE,
                                                        CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 1u << 20};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        cl_int status = CL_SUCCESS;
        cl_command_queue queue =
            clCreateCommandQueueWithProperties(setup->context, setup->device, lists[i].list, &status);
        say("clCreateCommandQueueWithProperties gives", status);
        if (!queue)
            continue;
        say_queue(lists[i].title, queue, setup->context, setup->device);
        MUST(clReleaseCommandQueue(queue));
    }
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        cl_int status = CL_SUCCESS;
        cl_command_queue queue = clCreateCommandQueue(setup->context, setup->device, flags[i], &status);
        say("clCreateCommandQueue gives", status);
        if (!queue)
            continue;
        say_queue("by flags", queue, setup->context, setup->device);
        MUST(clReleaseCommandQueue(queue));
    }
}

// ---- commands with and without events ----

static cl_event launch(cl_command_queue queue, cl_kernel kernel, cl_uint wait_count, const cl_event *waits) {
    const size_t global = CELLS;
    cl_event event = NULL;
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, NULL, wait_count, waits, &event));
    return event;
}

static void events_on(const struct program_setup *setup, const char *title,
                      cl_command_queue_properties properties) {
    cl_command_queue queue = program_queue(setup->context, setup->device, properties);
    cl_kernel kernel = program_kernel(setup->program, "add_one");
    cl_mem memory = program_buffer(setup->context, BYTES);
    cl_uint cells[CELLS] = {0};
    cl_event event = NULL;
    cl_int status = 99;
    printf("events on a queue: %s\n", title);
    MUST(clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, BYTES, cells, 0, NULL, &event));
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    say("status right after a blocking write", status);
    MUST(clFinish(queue));
    say_event("blocking write", event, queue, setup->context);
    say_profile(event);
    MUST(clReleaseEvent(event));

    MUST(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    event = launch(queue, kernel, 0, NULL);
    MUST(clWaitForEvents(1, &event));
    MUST(clFinish(queue));
    say_event("launch", event, queue, setup->context);
    say_profile(event);
    MUST(clRetainEvent(event));
    say_event("launch, retained", event, queue, setup->context);
    MUST(clReleaseEvent(event));
    say_references("after a launch", setup, queue, kernel, memory);

    void *mapped = clEnqueueMapBuffer(queue, memory, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, &status);
    MUST(status);
    say_references("while mapped", setup, queue, kernel, memory);
    say("first cell", ((const cl_uint *)mapped)[0]);
    MUST(clEnqueueUnmapMemObject(queue, memory, mapped, 0, NULL, NULL));
    MUST(clFinish(queue));
    say_references("after the unmap", setup, queue, kernel, memory);

    say_event("launch, before its release", event, queue, setup->context);
    MUST(clReleaseEvent(event));
    MUST(clReleaseMemObject(memory));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    say_references("after everything is released", setup, NULL, NULL, NULL);
}

// The event outlives the program's hold on its queue.
static void event_outlives_queue(const struct program_setup *setup) {
    cl_command_queue queue = program_queue(setup->context, setup->device, CL_QUEUE_PROFILING_ENABLE);
    cl_kernel kernel = program_kernel(setup->program, "add_one");
    cl_mem memory = program_buffer(setup->context, BYTES);
    cl_int status = 99;
    printf("an event that outlives its queue\n");
    MUST(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    cl_event event = launch(queue, kernel, 0, NULL);
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseMemObject(memory));
    MUST(clFlush(queue));
    MUST(clReleaseCommandQueue(queue));
    MUST(clWaitForEvents(1, &event));
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    say("  status", status);
    say_profile(event);
    MUST(clReleaseEvent(event));
}

// ---- callbacks ----

struct calls {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned submitted, running, complete, failed;
    cl_event event;
    bool same_event;
};

static void CL_CALLBACK event_changed(cl_event event, cl_int status, void *argument) {
    struct calls *calls = argument;
    pthread_mutex_lock(&calls->lock);
    if (status == CL_SUBMITTED)
        calls->submitted++;
    else if (status == CL_RUNNING)
        calls->running++;
    else if (status == CL_COMPLETE)
        calls->complete++;
    else
        calls->failed++;
    calls->same_event = calls->same_event && event == calls->event;
    pthread_cond_broadcast(&calls->changed);
    pthread_mutex_unlock(&calls->lock);
}

static void await_calls(struct calls *calls, unsigned count) {
    pthread_mutex_lock(&calls->lock);
    while (calls->submitted + calls->running + calls->complete + calls->failed < count)
        pthread_cond_wait(&calls->changed, &calls->lock);
    pthread_mutex_unlock(&calls->lock);
}

static void say_calls(const struct calls *calls) {
    say("  called for submitted", calls->submitted);
    say("  called for running", calls->running);
    say("  called for complete", calls->complete);
    say("  called for an error", calls->failed);
    say("  always with our event", calls->same_event);
}

// A launch held back by a user event, with callbacks for every state.
static void user_event(const struct program_setup *setup, cl_command_queue_properties properties) {
    cl_command_queue queue = program_queue(setup->context, setup->device, properties);
    cl_kernel kernel = program_kernel(setup->program, "add_one");
    cl_mem memory = program_buffer(setup->context, BYTES);
    struct calls calls = {
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .same_event = true};
    cl_uint cells[CELLS] = {0};
    cl_int status = 99;
    printf("a user event before a launch, queue flags %u\n", (unsigned)properties);
    MUST(clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, BYTES, cells, 0, NULL, NULL));
    MUST(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    cl_event gate = clCreateUserEvent(setup->context, &status);
    MUST(status);
    say_event("user event", gate, NULL, setup->context);
    calls.event = launch(queue, kernel, 1, &gate);
    say("  callback for submitted gives",
        clSetEventCallback(calls.event, CL_SUBMITTED, event_changed, &calls));
    say("  callback for running gives", clSetEventCallback(calls.event, CL_RUNNING, event_changed, &calls));
    say("  callback for complete gives", clSetEventCallback(calls.event, CL_COMPLETE, event_changed, &calls));
    say("  callback for nonsense gives", clSetEventCallback(calls.event, 17, event_changed, &calls));
    MUST(clFlush(queue));
    MUST(clGetEventInfo(calls.event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    say("  the launch waits", status > CL_RUNNING);
    cl_ulong time = 0;
    say("  times before it ran give",
        clGetEventProfilingInfo(calls.event, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL));
    say("  user event set gives", clSetUserEventStatus(gate, CL_COMPLETE));
    say("  set again gives", clSetUserEventStatus(gate, CL_COMPLETE));
    say("  set on a launch gives", clSetUserEventStatus(calls.event, CL_COMPLETE));
    MUST(clWaitForEvents(1, &calls.event));
    await_calls(&calls, 3);
    say_calls(&calls);
    MUST(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, BYTES, cells, 0, NULL, NULL));
    say("  first cell", cells[0]);
    MUST(clReleaseEvent(calls.event));
    MUST(clReleaseEvent(gate));
    MUST(clReleaseMemObject(memory));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
}

// Destructor callbacks come in the opposite order of their registration.
struct order {
    char text[8];
    size_t length;
};

struct letter {
    struct order *order;
    char name;
};

static void CL_CALLBACK memory_gone(cl_mem memory, void *argument) {
    const struct letter *letter = argument;
    (void)memory;
    if (letter->order->length + 1 < sizeof letter->order->text)
        letter->order->text[letter->order->length++] = letter->name;
}

static void memory_callbacks(const struct program_setup *setup) {
    struct order order = {"", 0};
    struct letter letters[3] = {{&order, 'a'}, {&order, 'b'}, {&order, 'c'}};
    cl_command_queue queue = program_queue(setup->context, setup->device, 0);
    cl_mem memory = program_buffer(setup->context, BYTES);
    cl_uint cells[CELLS] = {0};
    for (size_t i = 0; i < COUNT_OF(letters); i++)
        MUST(clSetMemObjectDestructorCallback(memory, memory_gone, &letters[i]));
    MUST(clEnqueueWriteBuffer(queue, memory, CL_TRUE, 0, BYTES, cells, 0, NULL, NULL));
    MUST(clFinish(queue));
    MUST(clRetainMemObject(memory));
    MUST(clReleaseMemObject(memory));
    printf("destructor callbacks with a reference left: '%s'\n", order.text);
    MUST(clReleaseMemObject(memory));
    printf("destructor callbacks after the last release: '%s'\n", order.text);
    MUST(clReleaseCommandQueue(queue));
}

// ---- order without a queue's help ----

static void out_of_order(const struct program_setup *setup) {
    cl_command_queue queue = program_queue(
        setup->context, setup->device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE);
    cl_kernel add = program_kernel(setup->program, "add_one");
    cl_kernel scale = program_kernel(setup->program, "scale");
    cl_mem memory = program_buffer(setup->context, BYTES);
    const cl_uint three = 3;
    cl_uint cells[CELLS] = {0};
    cl_event chain[12];
    cl_event barrier = NULL;
    cl_event marker = NULL;
    bool ordered = true;
    printf("a chain of events on an out-of-order queue\n");
    MUST(clSetKernelArg(add, 0, sizeof memory, &memory));
    MUST(clSetKernelArg(scale, 0, sizeof memory, &memory));
    MUST(clSetKernelArg(scale, 1, sizeof three, &three));
    MUST(clEnqueueWriteBuffer(queue, memory, CL_FALSE, 0, BYTES, cells, 0, NULL, &chain[0]));
    for (size_t i = 1; i < COUNT_OF(chain); i++)
        chain[i] = launch(queue, i % 2 ? add : scale, 1, &chain[i - 1]);
    MUST(clEnqueueMarkerWithWaitList(queue, 1, &chain[COUNT_OF(chain) - 1], &marker));
    MUST(clEnqueueBarrierWithWaitList(queue, 0, NULL, &barrier));
    MUST(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, BYTES, cells, 1, &barrier, NULL));
    MUST(clFinish(queue));
    for (size_t i = 1; i < COUNT_OF(chain); i++) {
        cl_ulong end = 0;
        cl_ulong start = 0;
        MUST(clGetEventProfilingInfo(chain[i - 1], CL_PROFILING_COMMAND_END, sizeof end, &end, NULL));
        MUST(clGetEventProfilingInfo(chain[i], CL_PROFILING_COMMAND_START, sizeof start, &start, NULL));
        ordered = ordered && end <= start;
    }
    say("  every link starts after the one before", ordered);
    say("  first cell", cells[0]);
    say("  last cell", cells[CELLS - 1]);
    say_event("marker", marker, queue, setup->context);
    say_event("barrier", barrier, queue, setup->context);
    for (size_t i = 0; i < COUNT_OF(chain); i++)
        MUST(clReleaseEvent(chain[i]));
    MUST(clReleaseEvent(marker));
    MUST(clReleaseEvent(barrier));
    MUST(clReleaseMemObject(memory));
    MUST(clReleaseKernel(add));
    MUST(clReleaseKernel(scale));
    MUST(clReleaseCommandQueue(queue));
}

// ---- questions asked wrongly ----

static void invalid_calls(const struct program_setup *setup) {
    cl_command_queue queue = program_queue(setup->context, setup->device, 0);
    cl_kernel kernel = program_kernel(setup->program, "add_one");
    cl_mem memory = program_buffer(setup->context, BYTES);
    char small[1];
    cl_ulong time = 0;
    size_t bytes = 0;
    printf("calls that fail\n");
    MUST(clSetKernelArg(kernel, 0, sizeof memory, &memory));
    cl_event event = launch(queue, kernel, 0, NULL);
    MUST(clFinish(queue));
    say("  event info into too little room", clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, 1, small, NULL));
    say("  unknown event info", clGetEventInfo(event, 0x1, sizeof small, small, NULL));
    say("  unknown profiling info", clGetEventProfilingInfo(event, 0x1, sizeof time, &time, NULL));
    say("  profiling info of no event",
        clGetEventProfilingInfo(NULL, CL_PROFILING_COMMAND_END, 8, &time, NULL));
    say("  queue info into too little room",
        clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, 1, small, NULL));
    say("  unknown queue info", clGetCommandQueueInfo(queue, 0x1, sizeof small, small, NULL));
    say("  kernel argument out of range", clSetKernelArg(kernel, 7, sizeof memory, &memory));
    say("  kernel argument of wrong size", clSetKernelArg(kernel, 0, 3, &memory));
    say("  unknown kernel info", clGetKernelInfo(kernel, 0x1, sizeof small, small, NULL));
    say("  kernel name size only", clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, 0, NULL, &bytes));
    say("  kernel name bytes", (long long)bytes);
    say("  event callback without a function", clSetEventCallback(event, CL_COMPLETE, NULL, NULL));
    say("  wait for no events", clWaitForEvents(0, &event));
    say("  device and host timer", clGetHostTimer(setup->device, NULL));
    MUST(clReleaseEvent(event));
    MUST(clReleaseMemObject(memory));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        fprintf(stderr, "usage: cl_own_events\n");
        return EXIT_USAGE;
    }
    struct program_setup setup = program_start(source);
    say_references("at the start", &setup, NULL, NULL, NULL);
    queues(&setup);
    events_on(&setup, "in order", 0);
    events_on(&setup, "in order, profiling", CL_QUEUE_PROFILING_ENABLE);
    events_on(&setup, "out of order", CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    event_outlives_queue(&setup);
    user_event(&setup, 0);
    user_event(&setup, CL_QUEUE_PROFILING_ENABLE);
    user_event(&setup, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    memory_callbacks(&setup);
    out_of_order(&setup);
    invalid_calls(&setup);
    say_references("at the end", &setup, NULL, NULL, NULL);
    program_finish(&setup);
    return 0;
}
