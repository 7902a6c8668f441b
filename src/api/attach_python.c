// SPDX-License-Identifier: Apache-2.0
// Writes a script into the session directory and asks the interpreter to run it (inject/remote_python.h). attach.c calls it. The script
// does what the borrowed thread does otherwise: it loads the library, or calls it if it is loaded already.
//
//     asked --taken--> runs --the order is taken--> reached
//       |                \--it writes why it failed, or nothing happens in time--> the other way
//       \--not taken in time: withdrawn--> the other way
//
// A script that runs late, when the other way has been taken, finds the order taken and changes nothing.
#include "api/attach_python.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "inject/loaded.h"
#include "inject/remote_python.h"
#include "inject/target.h"

#define SCRIPT "attach.py"
#define FAILURE "attach.why"
// Of the time that attach has, for the interpreter to take the request, and in all. It runs the script within some microseconds unless
// its main thread is in a long call of C.
enum { TAKEN_PART = 8, WHOLE_PART = 4 };

// The path in hexadecimal digits, whatever bytes it has.
static void add_hex(char *out, const char *path) {
    for (; *path; path++, out += 2)
        (void)snprintf(out, 3, "%02x", (unsigned char)*path);
}

// For the process with this number.
static int make_script(const struct attach_what *what, const char *session, uint64_t enter, uint64_t number) {
    char digits[2 * 4096 + 1] = "", load[256], text[sizeof digits + sizeof load + 1024];
    if (strlen(session) * 2 >= sizeof digits)
        return -1;
    add_hex(digits, session);
    if (enter)
        (void)snprintf(load, sizeof load,
                       "ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int)(0x%" PRIx64
                       ")(os.fsencode(at), 0)",
                       enter);
    else
        (void)snprintf(load, sizeof load, "ctypes.CDLL(at + \"/" ATTACH_LINK "\")");
    // A child that is forked while the request waits has it, too.
    const int length =
        snprintf(text, sizeof text,
                 "# Loads the agents of 'tracesmith attach'.\n"
                 "import os\n"
                 "if os.getpid() == %" PRIu64 ":\n"
                 "    at = os.fsdecode(bytes.fromhex(\"%s\"))\n"
                 "    try:\n"
                 "        import ctypes\n"
                 "        %s\n"
                 "    except Exception as problem:\n"
                 "        try:\n"
                 "            with open(at + \"/" FAILURE "\", \"x\") as file:\n"
                 "                file.write(\"%%s: %%s\" %% (type(problem).__name__, problem))\n"
                 "        except Exception:\n"
                 "            pass\n",
                 number, digits, load);
    const int fd =
        length > 0 && (size_t)length < sizeof text
            ? openat(what->session, SCRIPT, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)
            : -1;
    if (fd >= 0 && !file_write(fd, text, (size_t)length)) {
        close(fd);
        return -1;
    }
    return fd;
}

// What the script says of its failure. It is the program's text: only what can be printed is taken.
static bool read_failure(const struct attach_what *what, char why[ATTACH_PYTHON_WHY]) {
    char text[128] = "";
    const int fd = openat(what->session, FAILURE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    const ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    for (ssize_t i = 0; i < got; i++)
        if (text[i] < ' ' || text[i] > '~')
            text[i] = '?';
    if (got > 0)
        (void)snprintf(why, ATTACH_PYTHON_WHY, "its Python cannot load the agents: %s", text);
    return got > 0;
}

static bool is_taken_up(struct attach_order *order) {
    return atomic_load_explicit(&order->state, memory_order_acquire) != ATTACH_WAITING;
}

static bool wait_for_script(const struct attach_what *what, const struct inject_target *target,
                            const struct remote_python *request, struct attach_order *order,
                            char why[ATTACH_PYTHON_WHY]) {
    const struct timespec moment = {.tv_nsec = 500000};
    const int64_t begun = clock_trace_now();
    for (;;) {
        const int64_t waited = clock_trace_now() - begun;
        if (is_taken_up(order))
            return true;
        if (read_failure(what, why))
            return false;
        if (waited > what->patience / TAKEN_PART && !remote_python_is_taken(target, request)) {
            (void)snprintf(
                why, ATTACH_PYTHON_WHY,
                "its Python has not looked for requests within %lld ms (its main thread is in a long "
                "call of C, or waits)",
                (long long)(waited / 1000000));
            return false;
        }
        if (waited > what->patience / WHOLE_PART) {
            (void)snprintf(why, ATTACH_PYTHON_WHY,
                           "its Python has taken the request, and has not loaded the agents");
            return false;
        }
        nanosleep(&moment, NULL);
    }
}

bool attach_python(const struct attach_what *what, const struct inject_target *target, const char *loaded,
                   struct attach_order *order, char why[ATTACH_PYTHON_WHY]) {
    const char *session = what->there ? what->there : what->session_directory;
    char path[4096 + sizeof SCRIPT], reason[PYTHON_WHY_BYTES] = "";
    struct remote_python request;
    const uint64_t enter = loaded ? loaded_find(target, loaded, ATTACH_ENTER_SYMBOL) : 0;
    const int length = snprintf(path, sizeof path, "%s/" SCRIPT, session);
    why[0] = '\0';
    if (length < 0 || (size_t)length >= sizeof path || (loaded && !enter))
        return false;
    const int script = make_script(what, session, enter, target_own_number(target));
    if (script < 0) {
        (void)snprintf(why, ATTACH_PYTHON_WHY, "the session directory has no room for a script");
        return false;
    }
    bool reached = false;
    if (remote_python_ask(target, path, &request, reason)) {
        reached = wait_for_script(what, target, &request, order, why);
        if (!reached) {
            remote_python_withdraw(target, &request);
            // For an interpreter that has the path: an empty script. Where that fails it finds the order taken.
            if (ftruncate(script, 0) != 0)
                (void)0;
            reached = is_taken_up(order);
        }
    } else {
        (void)snprintf(why, ATTACH_PYTHON_WHY, "%s", reason);
    }
    close(script);
    if (reached)
        why[0] = '\0';
    return reached;
}
