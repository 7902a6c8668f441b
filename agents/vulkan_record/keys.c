// SPDX-License-Identifier: Apache-2.0
// Key presses in windows of the program, for `profile --capture=key:F12`. Rules: recorder.h; with the lock held.
//
// The state of the keyboard is asked for at each present, on a connection of the recorder's own to the X server, so no event is taken from
// the program. libxcb is the program's: Vulkan's surfaces of X11 need it. Its replies are read by their offsets in X's protocol, so
// its headers are not needed. A server that does not answer, for example because another client has grabbed it, is waited for once: until
// its answer is there no key is pressed.
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "recorder.h"

enum {
    WINDOWS_MOST = 16,
    PARENTS_MOST = 32,
    PATIENCE_MS = 100, // for all answers at a present
    KEYSYM_F1 = 0xffbe,
    FOCUS_POINTER = 1, // the focus is where the pointer is
    MAPPING_NOTIFY = 34
};

struct cookie {
    unsigned sequence;
};

// X(function, return type, parameters)
#define XCB(X)                                                                                               \
    X(connect, void *, (const char *display, int *screen))                                                   \
    X(connection_has_error, int, (void *connection))                                                         \
    X(disconnect, void, (void *connection))                                                                  \
    X(get_setup, const uint8_t *, (void *connection))                                                        \
    X(flush, int, (void *connection))                                                                        \
    X(get_file_descriptor, int, (void *connection))                                                          \
    X(poll_for_reply, int, (void *connection, unsigned sequence, void **reply, void **error))                \
    X(discard_reply, void, (void *connection, unsigned sequence))                                            \
    X(poll_for_event, uint8_t *, (void *connection))                                                         \
    X(get_keyboard_mapping, struct cookie, (void *connection, uint8_t first, uint8_t count))                 \
    X(query_keymap, struct cookie, (void *connection))                                                       \
    X(get_input_focus, struct cookie, (void *connection))                                                    \
    X(query_tree, struct cookie, (void *connection, uint32_t window))                                        \
    X(query_pointer, struct cookie, (void *connection, uint32_t window))                                     \
    X(get_geometry, struct cookie, (void *connection, uint32_t window))

static struct {
#define POINTER(name, type, parameters) type(*name) parameters;
    XCB(POINTER)
#undef POINTER
} xcb;
static void *connection;
static bool tried, was_down;
static pid_t owner;          // of the connection: a forked child has the same socket
static bool is_late;         // an answer did not come in time
static unsigned late_answer; // to this request
static int64_t until;        // of the trace clock, ns
static bool keys_known;      // code is that of the keyboard
static uint32_t wanted;      // F1 is 1
static uint8_t code;         // of the key; 0: the keyboard does not have it
static uint32_t windows[WINDOWS_MOST];
static size_t window_count; // ever added: those beyond the limit replace the oldest

void keys_begin(uint32_t key) {
    wanted = key;
}

static size_t kept_windows(void) {
    return window_count < WINDOWS_MOST ? window_count : WINDOWS_MOST;
}

void keys_add_window(uint32_t window) {
    for (size_t i = 0; i < kept_windows(); i++)
        if (windows[i] == window)
            return;
    windows[window_count++ % WINDOWS_MOST] = window;
}

static uint32_t word_at(const uint8_t *reply, size_t offset) {
    uint32_t word;
    memcpy(&word, reply + offset, sizeof word);
    return word;
}

static uint16_t half_at(const uint8_t *reply, size_t offset) {
    uint16_t half;
    memcpy(&half, reply + offset, sizeof half);
    return half;
}

// ---- the connection

static bool load(void) {
    void *library = dlopen("libxcb.so.1", RTLD_LAZY | RTLD_NOLOAD);
    bool good = library != NULL;
#define LOAD(name, type, parameters)                                                                         \
    if (good)                                                                                                \
        *(void **)&xcb.name = dlsym(library, "xcb_" #name);                                                  \
    good = good && xcb.name;
    XCB(LOAD)
#undef LOAD
    return good;
}

// The answer to a request, free() it; NULL: an error, or it is late, as is everything after it.
static uint8_t *answer_to(struct cookie cookie) {
    void *reply = NULL, *error = NULL;
    if (is_late) {
        xcb.discard_reply(connection, cookie.sequence);
        return NULL;
    }
    xcb.flush(connection);
    while (!xcb.poll_for_reply(connection, cookie.sequence, &reply, &error)) {
        const int64_t left = (until - clock_trace_now() + 999999) / 1000000;
        struct pollfd wait = {.fd = xcb.get_file_descriptor(connection), .events = POLLIN};
        if (left <= 0) {
            is_late = true;
            late_answer = cookie.sequence;
            return NULL;
        }
        (void)poll(&wait, 1, (int)left); // a signal only asks again
    }
    free(error);
    return reply;
}

// Whether nothing is late any more; does not wait.
static bool has_caught_up(void) {
    void *reply = NULL, *error = NULL;
    if (is_late && xcb.poll_for_reply(connection, late_answer, &reply, &error)) {
        is_late = false;
        free(reply);
        free(error);
    }
    return !is_late;
}

// The first key with this symbol.
static void find_code(void) {
    enum { LENGTH = 4, LEAST = 34, MOST = 35, HEADER = 32 };
    const uint8_t *setup = xcb.get_setup(connection);
    const uint8_t least = setup[LEAST], most = setup[MOST];
    uint8_t *reply = answer_to(xcb.get_keyboard_mapping(connection, least, (uint8_t)(most - least + 1)));
    const uint32_t each = reply ? reply[1] : 0, words = reply ? word_at(reply, LENGTH) : 0;
    code = 0;
    keys_known = reply != NULL;
    for (uint32_t i = 0; each && i < words && !code; i++)
        if (word_at(reply, HEADER + 4 * (size_t)i) == KEYSYM_F1 + wanted - 1)
            code = (uint8_t)(least + i / each);
    free(reply);
}

static bool is_connected(void) {
    if (!tried) {
        tried = true;
        owner = getpid();
        connection = load() ? xcb.connect(NULL, NULL) : NULL;
    }
    return owner == getpid() && connection && !xcb.connection_has_error(connection);
}

// The server tells every client that the keyboard has other keys.
static void take_events(void) {
    uint8_t *event;
    while ((event = xcb.poll_for_event(connection)) != NULL) {
        keys_known &= (event[0] & 127) != MAPPING_NOTIFY;
        free(event);
    }
    if (!keys_known)
        find_code();
}

// ---- the focus

static bool is_within(uint32_t window, uint32_t other) {
    enum { PARENT = 12 };
    for (int i = 0; window && i < PARENTS_MOST; i++) {
        if (window == other)
            return true;
        uint8_t *reply = answer_to(xcb.query_tree(connection, window));
        window = reply ? word_at(reply, PARENT) : 0;
        free(reply);
    }
    return false;
}

static bool has_pointer(uint32_t window) {
    enum { X = 20, Y = 22, WIDTH = 16, HEIGHT = 18 };
    const struct cookie pointer = xcb.query_pointer(connection, window),
                        geometry = xcb.get_geometry(connection, window);
    uint8_t *at = answer_to(pointer), *size = answer_to(geometry);
    // Offsets from the window's corner; one that is negative is large.
    const bool inside = at && size && at[1] && half_at(at, X) < half_at(size, WIDTH) &&
                        half_at(at, Y) < half_at(size, HEIGHT);
    free(at);
    free(size);
    return inside;
}

// The window, or one that it is in, or one in it.
static bool has_focus(void) {
    enum { FOCUS = 8 };
    uint8_t *reply = answer_to(xcb.get_input_focus(connection));
    const uint32_t focus = reply ? word_at(reply, FOCUS) : 0;
    bool found = false;
    free(reply);
    for (size_t i = 0; focus && !found && !is_late && i < kept_windows(); i++)
        found = focus == FOCUS_POINTER ? has_pointer(windows[i])
                                       : is_within(windows[i], focus) || is_within(focus, windows[i]);
    return found;
}

bool keys_pressed(void) {
    enum { KEYS = 8 };
    if (!wanted || !window_count || !is_connected())
        return false;
    until = clock_trace_now() + (int64_t)PATIENCE_MS * 1000000;
    if (!has_caught_up())
        return false;
    take_events();
    uint8_t *reply = answer_to(xcb.query_keymap(connection));
    const bool down = reply && code && reply[KEYS + code / 8] >> code % 8 & 1, pressed = down && !was_down;
    was_down = reply ? down : was_down;
    free(reply);
    return pressed && has_focus();
}
