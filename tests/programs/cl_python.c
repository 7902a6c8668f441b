// SPDX-License-Identifier: Apache-2.0
//
// A simulated interpreter of CPython 3.14, as far as another process can ask it to run a script (PEP 768), that makes the steps of
// cl_steps: each launches 5 kernels of a global size that is the number of the step, from 1. Before each step it waits for a byte on
// stdin, and looks meanwhile at its eval breaker as an interpreter does between instructions. The table at the beginning of its section
// .PyRuntime is laid out as Include/internal/pycore_debug_offsets.h of CPython 3.14 does it. The scripts that it understands are those
// of `tracesmith attach`; whether they are Python is tested with a real one.
//
//   cl_python STEPS
//
// SIMULATED_PYTHON is "" (3.14), or "old" (3.13), "early" (3.14 before its release), "disabled" (-X disable_remote_debug), "damaged"
// (impossible offsets), "busy" (looks only before a step, and waits in one call of C), "broken" (its script fails to load anything), "forks" (a child,
// while a request waits).

#include "program.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { PATH_BYTES = 512, PLEASE_STOP = 1 << 5, GROUPS = 19 };

// What the offsets lead to; none of CPython's own sizes.
struct thread_state {
    void *previous, *next, *interpreter;
    uint64_t eval_breaker;
    char others[40];
    int32_t pending;
    char path[PATH_BYTES];
    uint64_t native_id;
};

struct interpreter_state {
    char others[72];
    int64_t id;
    void *next;
    struct thread_state *head, *main;
    int32_t remote_debug;
};

// The words of each group, in the order of the header: runtime, interpreter, thread, frame, code, object, type, tuple, list, set, dict,
// float, long, bytes, unicode, gc, generator, llist_node, debugger_support.
static const unsigned char group_words[GROUPS] = {3, 16, 9, 8, 11, 2, 4, 3, 3, 4, 3, 2, 3, 3, 4, 2, 4, 2, 6};

enum { RUNTIME, INTERPRETER, THREAD, DEBUGGER = GROUPS - 1, TABLE_WORDS = 95 };

static struct {
    uint64_t words[TABLE_WORDS];
    char others[128];
    struct interpreter_state *head;
} runtime __attribute__((section(".PyRuntime"), used, aligned(16))) = {{1}, "", NULL};

static struct interpreter_state main_interpreter, newer_interpreter;
static struct thread_state main_thread;
static const char *mode = "";
static int scripts;

static bool is(const char *name) {
    return strcmp(mode, name) == 0;
}

static uint64_t *group(int wanted) {
    size_t at = 3; // cookie, version, free_threaded
    for (int i = 0; i < wanted; i++)
        at += group_words[i];
    return &runtime.words[at];
}

static void start_interpreter(void) {
    uint64_t *of_runtime = group(RUNTIME), *of_interpreter = group(INTERPRETER), *of_thread = group(THREAD),
             *debugger = group(DEBUGGER);
    EXPECT(debugger + group_words[DEBUGGER] == runtime.words + TABLE_WORDS);
    memcpy(runtime.words, "xdebugpy", 8);
    runtime.words[1] = is("old") ? 0x030d01f0 : is("early") ? 0x030e00b2 : 0x030e00f0;
    of_runtime[0] = sizeof runtime;
    of_runtime[2] = offsetof(__typeof__(runtime), head);
    of_interpreter[0] = sizeof main_interpreter;
    of_interpreter[1] = offsetof(struct interpreter_state, id);
    of_interpreter[2] = offsetof(struct interpreter_state, next);
    of_interpreter[3] = offsetof(struct interpreter_state, head);
    of_interpreter[4] = offsetof(struct interpreter_state, main);
    of_thread[0] = sizeof main_thread;
    of_thread[1] = offsetof(struct thread_state, previous);
    of_thread[2] = offsetof(struct thread_state, next);
    of_thread[3] = offsetof(struct thread_state, interpreter);
    of_thread[6] = offsetof(struct thread_state, native_id);
    debugger[0] = offsetof(struct thread_state, eval_breaker);
    debugger[1] = offsetof(struct thread_state, pending);
    debugger[2] = offsetof(struct interpreter_state, remote_debug);
    debugger[3] = 0;
    debugger[4] = offsetof(struct thread_state, path) - offsetof(struct thread_state, pending);
    debugger[5] = is("damaged") ? 4096 : PATH_BYTES;
    main_thread.interpreter = &main_interpreter;
    main_thread.native_id = (uint64_t)getpid();
    main_interpreter.head = main_interpreter.main = &main_thread;
    main_interpreter.remote_debug = !is("disabled");
    newer_interpreter.id = 1; // the list has the newest first
    newer_interpreter.next = &main_interpreter;
    runtime.head = &newer_interpreter;
}

// ---- a script

static void load(const char *folder) {
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/attach.so", folder);
    EXPECT(dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL);
}

static void fail(const char *folder) {
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/attach.why", folder);
    FILE *file = fopen(path, "wx");
    EXPECT(file && fputs("ImportError: no module", file) >= 0 && fclose(file) == 0);
}

static void run_script(const char *path) {
    static char text[16384];
    char folder[PATH_BYTES] = "";
    struct stat status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    EXPECT(fd >= 0 && fstat(fd, &status) == 0 && (status.st_mode & 0777) == 0600);
    const ssize_t length = read(fd, text, sizeof text - 1);
    EXPECT(length > 0 && close(fd) == 0);
    const char *digits = strstr(text, "fromhex(\""), *call = strstr(text, "(0x");
    EXPECT(digits != NULL);
    digits += strlen("fromhex(\"");
    for (size_t i = 0; digits[2 * i] != '"' && i + 1 < sizeof folder; i++) {
        const char byte[3] = {digits[2 * i], digits[2 * i + 1], '\0'};
        folder[i] = (char)strtoul(byte, NULL, 16);
    }
    const char *number = strstr(text, "if os.getpid() == ");
    EXPECT(number != NULL);
    if (strtol(number + strlen("if os.getpid() == "), NULL, 10) != getpid())
        return;
    scripts++;
    if (is("broken"))
        fail(folder);
    else if (call)
        ((void (*)(const char *, int))(uintptr_t)strtoull(call + 1, NULL, 16))(folder, 0);
    else if (strstr(text, "ctypes.CDLL(at + \"/attach.so\")"))
        load(folder);
    else
        EXPECT(false); // a script that is not understood
}

static void look(void);

// A child that has the request, too, and looks first.
static void fork_child(void) {
    static int forked;
    int status = 1;
    if (forked++)
        return;
    const pid_t child = fork();
    if (child == 0) {
        __atomic_or_fetch(&main_thread.eval_breaker, PLEASE_STOP, __ATOMIC_ACQ_REL);
        look();
        _exit(scripts);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

// As _Py_HandlePending and _PyRunRemoteDebugger of CPython 3.14.
static void look(void) {
    char path[PATH_BYTES];
    if (!(__atomic_load_n(&main_thread.eval_breaker, __ATOMIC_ACQUIRE) & PLEASE_STOP))
        return;
    __atomic_and_fetch(&main_thread.eval_breaker, ~(uint64_t)PLEASE_STOP, __ATOMIC_ACQ_REL);
    if (is("forks"))
        fork_child();
    if (main_interpreter.remote_debug != 1 || __atomic_load_n(&main_thread.pending, __ATOMIC_ACQUIRE) != 1)
        return;
    __atomic_store_n(&main_thread.pending, 0, __ATOMIC_RELEASE);
    memcpy(path, main_thread.path, sizeof path);
    path[sizeof path - 1] = '\0';
    if (*path)
        run_script(path);
}

// ---- steps

static const char source[] = "__kernel void tick(__global uint *count)\n"
                             "{\n"
                             "    if (get_global_id(0) == 0)\n"
                             "        count[0] += 1;\n"
                             "}\n";

static void wait_for_byte(void) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    char byte;
    printf("\n");
    fflush(stdout);
    while (!is("busy") && poll(&input, 1, 1) == 0)
        look();
    EXPECT(read(0, &byte, 1) == 1);
    look();
}

int main(int argc, char **argv) {
    const char *simulated = getenv("SIMULATED_PYTHON");
    if (argc < 2) {
        fprintf(stderr, "usage: cl_python STEPS\n");
        return EXIT_USAGE;
    }
    mode = simulated ? simulated : "";
    start_interpreter();
    struct program_setup setup = program_start(source);
    cl_command_queue queue = program_queue(setup.context, setup.device, 0);
    cl_kernel kernel = program_kernel(setup.program, "tick");
    cl_mem count = program_buffer(setup.context, sizeof(cl_uint));
    MUST(clSetKernelArg(kernel, 0, sizeof count, &count));
    for (size_t i = 1, one = 1; i <= strtoul(argv[1], NULL, 10); i++) {
        wait_for_byte();
        for (int k = 0; k < 5; k++)
            MUST(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &i, &one, 0, NULL, NULL));
        MUST(clFinish(queue));
        printf("%zu\n", i);
    }
    fflush(stdout);
    EXPECT(!is("busy") || scripts == 0);
    MUST(clReleaseMemObject(count));
    MUST(clReleaseKernel(kernel));
    MUST(clReleaseCommandQueue(queue));
    program_finish(&setup);
    return 0;
}
