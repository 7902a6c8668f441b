// SPDX-License-Identifier: Apache-2.0
// What a tracer gets wrong first. One case per run; prints the same in every run, and how many launches there were.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MUST(call)                                                                                           \
    do {                                                                                                     \
        const cl_int status_ = (call);                                                                       \
        if (status_ != CL_SUCCESS) {                                                                         \
            fprintf(stderr, "line %d: %d\n", __LINE__, status_);                                             \
            _exit(1);                                                                                        \
        }                                                                                                    \
    } while (0)

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_kernel kernel;
static cl_mem buffer;
static atomic_uint launches;

static void setup(cl_command_queue_properties properties) {
    static const char *source = "__kernel void advance(__global int *a) { a[get_global_id(0)] += 1; }";
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
    MUST(clGetPlatformIDs(1, &platform, NULL));
    MUST(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_int status;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    MUST(status);
    queue = clCreateCommandQueueWithProperties(context, device, list, &status);
    MUST(status);
    program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    MUST(status);
    MUST(clBuildProgram(program, 0, NULL, "", NULL, NULL));
    kernel = clCreateKernel(program, "advance", &status);
    MUST(status);
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 64, NULL, &status);
    MUST(status);
    MUST(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
}

static void launch(cl_uint count, const cl_event *waits, cl_event *event) {
    static const size_t size[] = {16};
    MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, size, size, count, waits, event));
    atomic_fetch_add(&launches, 1);
}

static void tear_down(void) {
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseProgram(program));
    MUST(clReleaseCommandQueue(queue));
    MUST(clReleaseContext(context));
}

static void finish(void) {
    MUST(clFinish(queue));
    printf("launches %u\n", atomic_load(&launches));
    fflush(stdout);
}

// Ten thousand commands in flight at once, held back by a user event.
static void blocked(void) {
    cl_int status;
    setup(0);
    cl_event gate = clCreateUserEvent(context, &status);
    MUST(status);
    launch(1, &gate, NULL);
    for (int i = 0; i < 10000; i++)
        launch(0, NULL, NULL);
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    MUST(clReleaseEvent(gate));
    finish();
    tear_down();
}

// The same with the events in the program's hands, in a queue without order.
static void blocked_events(void) {
    enum { COUNT = 2000 };
    static cl_event events[COUNT];
    cl_int status;
    setup(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_event gate = clCreateUserEvent(context, &status);
    MUST(status);
    for (int i = 0; i < COUNT; i++)
        launch(1, i ? &events[i - 1] : &gate, &events[i]);
    cl_uint references = 0;
    MUST(clGetEventInfo(events[COUNT / 2], CL_EVENT_REFERENCE_COUNT, sizeof references, &references, NULL));
    printf("references of a waiting event %u\n", references);
    MUST(clSetUserEventStatus(gate, CL_COMPLETE));
    MUST(clWaitForEvents(1, &events[COUNT - 1]));
    for (int i = 0; i < COUNT; i++)
        MUST(clReleaseEvent(events[i]));
    MUST(clReleaseEvent(gate));
    finish();
    tear_down();
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int links = 500;

// Every completion enqueues the next command, from the driver's own thread.
static void CL_CALLBACK next_link(cl_event event, cl_int state, void *unused) {
    (void)state;
    (void)unused;
    cl_event next = NULL;
    pthread_mutex_lock(&mutex);
    const int left = --links;
    pthread_mutex_unlock(&mutex);
    if (left > 0) {
        launch(0, NULL, &next);
        MUST(clSetEventCallback(next, CL_COMPLETE, next_link, NULL));
        MUST(clFlush(queue));
    }
    MUST(clReleaseEvent(event));
    if (left <= 0) {
        pthread_mutex_lock(&mutex);
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    }
}

static void chain(void) {
    cl_event first = NULL;
    setup(0);
    launch(0, NULL, &first);
    MUST(clSetEventCallback(first, CL_COMPLETE, next_link, NULL));
    MUST(clFlush(queue));
    pthread_mutex_lock(&mutex);
    while (links > 0)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    finish();
    tear_down();
}

static void CL_CALLBACK leave(cl_event event, cl_int state, void *unused) {
    (void)event;
    (void)state;
    (void)unused;
    printf("leaving from a callback\n");
    exit(3);
}

// exit() in the middle of the driver.
static void exit_in_callback(void) {
    cl_event event = NULL;
    setup(0);
    launch(0, NULL, &event);
    printf("launches 1\n");
    fflush(stdout);
    MUST(clSetEventCallback(event, CL_COMPLETE, leave, NULL));
    MUST(clFlush(queue));
    for (;;)
        pause();
}

static void finish_late(void) {
    for (int i = 0; i < 10; i++)
        launch(0, NULL, NULL);
    finish();
    tear_down();
}

// An exit handler older than the first OpenCL call: it runs after every other.
static void work_at_exit(void) {
    atexit(finish_late);
    setup(0);
    launch(0, NULL, NULL);
}

// Exit with a command that can never run.
static void exit_while_blocked(void) {
    cl_int status;
    setup(0);
    cl_event gate = clCreateUserEvent(context, &status);
    MUST(status);
    launch(1, &gate, NULL);
    printf("blocked for ever\n");
}

// No thread waits, and then the process is killed a while after everything is complete.
static void unwaited(void) {
    cl_event event = NULL;
    cl_int state = CL_QUEUED;
    setup(0);
    for (int i = 0; i < 99; i++)
        launch(0, NULL, NULL);
    launch(0, NULL, &event);
    MUST(clFlush(queue));
    while (state != CL_COMPLETE)
        MUST(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
    printf("launches %u\n", atomic_load(&launches));
    fflush(stdout);
    nanosleep(&(struct timespec){.tv_sec = 1},
              NULL); // there is nothing to wait for: no call reports that it checked
    raise(SIGKILL);
}

static atomic_int gone;
static void CL_CALLBACK context_gone(cl_context which, void *unused) {
    (void)which;
    (void)unused;
    atomic_store(&gone, 1);
}

// A context ends when its last reference does, and not a moment later because another holds events of it.
static void context_ends(void) {
    setup(0);
    MUST(clSetContextDestructorCallback(context, context_gone, NULL));
    for (int i = 0; i < 50; i++)
        launch(0, NULL, NULL);
    finish();
    cl_uint references = UINT_MAX;
    // The driver itself lets go of the last command a little after clFinish; PoCL keeps one for the buffer it wrote.
    const time_t until = time(NULL) + 20;
    while (references > 2 && time(NULL) < until) {
        MUST(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, NULL));
        sched_yield();
    }
    printf("references of the queue let go %d\n", references <= 2);
    tear_down();
    // Nor is the context gone at once when the driver's own threads still hold it.
    while (!atomic_load(&gone) && time(NULL) < until)
        sched_yield();
    printf("context gone %d\n", atomic_load(&gone));
}

static void *short_life(void *unused) {
    (void)unused;
    for (int i = 0; i < 5; i++)
        launch(0, NULL, NULL);
    MUST(clFinish(queue));
    return NULL;
}

// Threads that come and go.
static void short_threads(void) {
    setup(0);
    for (int i = 0; i < 100; i++) {
        pthread_t threads[2];
        for (int j = 0; j < 2; j++)
            if (pthread_create(&threads[j], NULL, short_life, NULL))
                exit(1);
        for (int j = 0; j < 2; j++)
            pthread_join(threads[j], NULL);
    }
    finish();
    tear_down();
}

// A child that is forked with commands in flight, and ends in all the usual ways.
static void fork_in_flight(void) {
    setup(0);
    for (int i = 0; i < 100; i++)
        launch(0, NULL, NULL);
    for (int how = 0; how < 3; how++) {
        const pid_t child = fork();
        if (child == 0 && how == 0)
            _exit(7);
        if (child == 0 && how == 1)
            execl("/bin/true", "true", (char *)NULL);
        if (child == 0)
            _exit(clGetPlatformInfo(platform, CL_PLATFORM_NAME, 0, NULL, NULL) == CL_INVALID_VALUE ? 9 : 8);
        int status = 0;
        waitpid(child, &status, 0);
        printf("child %d ended with %d\n", how, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
    finish();
    tear_down();
}

static void CL_CALLBACK built(cl_program which, void *flag) {
    (void)which;
    pthread_mutex_lock(&mutex);
    *(int *)flag = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

// Builds with a completion callback, more at once than usual.
static void notified_builds(void) {
    enum { COUNT = 100 };
    static const char *source = "__kernel void other(__global int *a) { a[0] = 1; }";
    static int flags[COUNT];
    cl_program programs[COUNT];
    setup(0);
    for (int i = 0; i < COUNT; i++) {
        cl_int status;
        programs[i] = clCreateProgramWithSource(context, 1, &source, NULL, &status);
        MUST(status);
        MUST(clBuildProgram(programs[i], 0, NULL, "-DCASE", built, &flags[i]));
    }
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < COUNT; i++)
        while (!flags[i])
            pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < COUNT; i++)
        MUST(clReleaseProgram(programs[i]));
    printf("built %d\n", COUNT);
    launch(0, NULL, NULL);
    finish();
    tear_down();
}

// A signal for the process, which only a thread that does not block it would take.
static void signals(void) {
    sigset_t set;
    int got = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    setup(0);
    launch(0, NULL, NULL);
    finish(); // the driver's threads and any others are there
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    printf("masked here, raised for the thread\n");
    pthread_kill(pthread_self(), SIGUSR1);
    sigwait(&set, &got);
    printf("signal %s\n", got == SIGUSR1 ? "USR1" : "other");
    tear_down();
}

// A queue that only its event keeps alive, and still is what the program made.
static void event_outlives_queue(void) {
    cl_event event = NULL;
    cl_command_queue kept = NULL;
    cl_command_queue_properties properties = 0;
    cl_queue_properties list[8];
    cl_ulong time = 0;
    size_t bytes = 0;
    setup(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    launch(0, NULL, &event);
    MUST(clWaitForEvents(1, &event));
    MUST(clReleaseCommandQueue(queue));
    printf("times %d\n", clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL));
    MUST(clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(cl_command_queue), &kept, NULL));
    MUST(clGetCommandQueueInfo(kept, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
    MUST(clGetCommandQueueInfo(kept, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &bytes));
    printf("properties %d, list of %zu: %d\n", (int)properties, bytes, (int)list[1]);
    printf("launches %u\n", atomic_load(&launches));
    MUST(clReleaseEvent(event));
    MUST(clReleaseMemObject(buffer));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseProgram(program));
    MUST(clReleaseContext(context));
}

// More queues than anybody keeps.
static void many_queues(void) {
    cl_int status;
    setup(0);
    for (int i = 0; i < 1000; i++) {
        cl_command_queue mine = clCreateCommandQueueWithProperties(context, device, NULL, &status);
        MUST(status);
        cl_command_queue before = queue;
        queue = mine;
        launch(0, NULL, NULL);
        MUST(clFinish(mine));
        queue = before;
        MUST(clReleaseCommandQueue(mine));
    }
    finish();
    tear_down();
}

// Builds that fail, with a callback.
static void failing_builds(void) {
    static const char *source = "__kernel void broken(";
    setup(0);
    for (int i = 0; i < 3; i++) {
        cl_int status;
        int flag = 0;
        cl_program broken = clCreateProgramWithSource(context, 1, &source, NULL, &status);
        MUST(status);
        printf("build %d\n", clBuildProgram(broken, 0, NULL, "-DFAILS", built, &flag));
        MUST(clReleaseProgram(broken));
    }
    launch(0, NULL, NULL);
    finish();
    tear_down();
}

// A recorded list of commands, through functions that no layer sees.
static void command_buffer(void) {
    static const size_t size[] = {16};
    cl_int status;
    cl_int values[16] = {0};
    setup(0);
#define FETCH(name) name##_fn name = (name##_fn)clGetExtensionFunctionAddressForPlatform(platform, #name)
    FETCH(clCreateCommandBufferKHR);
    FETCH(clCommandNDRangeKernelKHR);
    FETCH(clFinalizeCommandBufferKHR);
    FETCH(clEnqueueCommandBufferKHR);
    FETCH(clReleaseCommandBufferKHR);
    if (clEnqueueCommandBufferKHR) {
        MUST(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL));
        cl_command_buffer_khr list = clCreateCommandBufferKHR(1, &queue, NULL, &status);
        MUST(status);
        MUST(clCommandNDRangeKernelKHR(list, NULL, NULL, kernel, 1, NULL, size, size, 0, NULL, NULL, NULL));
        MUST(clFinalizeCommandBufferKHR(list));
        MUST(clEnqueueCommandBufferKHR(0, NULL, list, 0, NULL, NULL));
        MUST(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL));
        MUST(clReleaseCommandBufferKHR(list));
        printf("ran %d\n", values[3]);
    }
    printf("command buffers %d\n", clEnqueueCommandBufferKHR != NULL);
    finish();
    tear_down();
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"blocked", blocked},
    {"blocked_events", blocked_events},
    {"chain", chain},
    {"exit_in_callback", exit_in_callback},
    {"work_at_exit", work_at_exit},
    {"exit_while_blocked", exit_while_blocked},
    {"unwaited", unwaited},
    {"context_ends", context_ends},
    {"short_threads", short_threads},
    {"fork_in_flight", fork_in_flight},
    {"notified_builds", notified_builds},
    {"event_outlives_queue", event_outlives_queue},
    {"many_queues", many_queues},
    {"failing_builds", failing_builds},
    {"command_buffer", command_buffer},
    {"signals", signals},
};

int main(int argc, char **argv) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
        if (argc == 1)
            printf("%s\n", cases[i].name);
    }
    return argc == 1 ? 0 : 2;
}
