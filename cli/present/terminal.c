// SPDX-License-Identifier: Apache-2.0
// Writes answers to stdout and messages to stderr, and detects what the terminal supports. Every command calls it.
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_LEAST = 80, WIDTH_MOST = 200, BUFFER_SIZE = 1 << 16 };

static struct {
    bool color;
    bool error_color;
    bool is_output;
    bool unicode;
} terminal;

static struct {
    char buffer[BUFFER_SIZE];
    size_t used;
    int error;    // errno of the first write that failed
    bool guarded; // what comes may hold anything, and a terminal would obey it
    bool json;
} output;

// A reader that has gone and a file that may not grow are errors of write to us. They must not be ignored in a
// program we start, though: unlike an ignored signal, a handler does not survive exec.
static void do_nothing(int signal_number) {
    (void)signal_number;
}

static void ignore_signal(int signal_number) {
    const struct sigaction action = {.sa_handler = do_nothing};
    struct sigaction before;
    if (sigaction(signal_number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(signal_number, &action, NULL);
}

// A file that is opened would take the number of a standard one that is closed, and messages would be written into it. These fail as
// closed ones do, and a program that we start has them closed.
static void keep_closed(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

void terminal_init(void) {
    keep_closed();
    setlocale(LC_CTYPE, "");
    terminal.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    setlocale(LC_CTYPE, "C.UTF-8"); // for the widths of characters, independent of the user's charset

    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    bool wanted = !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
    terminal.is_output = isatty(STDOUT_FILENO);
    terminal.color = wanted && terminal.is_output;
    terminal.error_color = wanted && isatty(STDERR_FILENO);
    ignore_signal(SIGPIPE);
    ignore_signal(SIGXFSZ);
}

void terminal_no_color(void) {
    terminal.color = false;
    terminal.error_color = false;
}

bool terminal_color(void) {
    return terminal.color;
}

bool terminal_error_color(void) {
    return terminal.error_color;
}

bool terminal_is_output(void) {
    return terminal.is_output;
}

bool terminal_unicode(void) {
    return terminal.unicode;
}

size_t terminal_width(void) {
    size_t width = 0;
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    if (columns)
        width = strtoul(columns, NULL, 10);
    if (!width && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    return width < WIDTH_LEAST ? WIDTH_LEAST : width > WIDTH_MOST ? WIDTH_MOST : width;
}

static bool write_all(const char *bytes, size_t length) {
    while (length && !output.error) {
        ssize_t written = write(STDOUT_FILENO, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            output.error = errno;
            break;
        }
        bytes += written;
        length -= (size_t)written;
    }
    return !output.error;
}

bool output_flush(void) {
    size_t used = output.used;
    output.used = 0;
    return write_all(output.buffer, used);
}

void output_for_programs(bool json) {
    output.guarded = terminal.is_output;
    output.json = json;
}

static bool buffer(const char *bytes, size_t length) {
    if (length > BUFFER_SIZE - output.used && !output_flush())
        return false;
    if (length > BUFFER_SIZE)
        return write_all(bytes, length);
    memcpy(output.buffer + output.used, bytes, length);
    output.used += length;
    return true;
}

bool output_write(const char *bytes, size_t length) {
    struct text lines = {0};
    if (output.error)
        return false;
    if (!output.guarded)
        return buffer(bytes, length);
    text_add_lines(&lines, bytes, length, output.json);
    if (lines.failed)
        output.error = ENOMEM;
    const bool written = !lines.failed && buffer(text_cstr(&lines), lines.length);
    text_finish(&lines);
    return written;
}

bool output_text(struct text *text) {
    if (text->failed && !output.error)
        output.error = ENOMEM;
    bool written = output_write(text->bytes ? text->bytes : "", text->length);
    text_clear(text);
    return written;
}

bool output_cstr(const char *cstr) {
    return output_write(cstr, strlen(cstr));
}

void output_printf(const char *format, ...) {
    char *line = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&line, format, arguments);
    va_end(arguments);
    if (length < 0) {
        output.error = output.error ? output.error : ENOMEM;
        return;
    }
    output_write(line, (size_t)length);
    free(line);
}

int output_finish(int code) {
    output_flush();
    if (!output.error)
        return code;
    if (output.error == EPIPE)
        return EXIT_DONE;
    complain("cannot write the answer: %s", strerror(output.error));
    return EXIT_LACKING;
}

void complain(const char *format, ...) {
    char *message = NULL;
    struct text line = {0};
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&message, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    output_flush(); // so that messages and answers come in the order they were made
    text_add_cstr(&line, "tracesmith: ");
    text_add_safe(&line, text_string(message), 0);
    text_add_char(&line, '\n');
    // One write: a line of ours is not torn apart by the program's.
    if (write(STDERR_FILENO, line.bytes ? line.bytes : "", line.length) < 0)
        (void)0; // no output is left to report it to
    text_finish(&line);
    free(message);
}

void complain_command(const char *before, const char *path, const char *after) {
    struct text word = {0};
    text_add_shell(&word, path);
    complain("%s%s%s", before, text_cstr(&word), after);
    text_finish(&word);
}
