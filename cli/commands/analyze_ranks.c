// SPDX-License-Identifier: Apache-2.0
// `analyze --ranks`: the traces are the ranks of one run; who is late, and who waits. `--partial` writes what that comparison
// keeps of them, and reads it.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "analyze_parts.h"
#include "apart.h"
#include "cli/convert.h"
#include "cli/present/terminal.h"
#include "tracesmith/ranks.h"

// Only of a regular file: reading the beginning of a pipe would take it away.
bool analyze_is_partial(const char *path) {
    char head[8];
    struct stat status;
    const bool is_regular = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    FILE *file = strcmp(path, "-") == 0 || !is_regular ? NULL : fopen(path, "rbe");
    const bool is = file && tsmith_ranks_is_partial(head, fread(head, 1, sizeof head, file));
    if (file)
        (void)fclose(file);
    return is;
}

static tsmith_status add_partial(tsmith_ranks *ranks, const char *path, tsmith_error *error) {
    size_t size;
    char *bytes = convert_read_whole(path, &size);
    if (!bytes) {
        (void)snprintf(error->message, sizeof error->message, "%s cannot be read: %s", path, strerror(errno));
        return errno == ENOMEM ? TSMITH_ERROR_NO_MEMORY : TSMITH_ERROR_IO;
    }
    tsmith_status status = tsmith_ranks_add_partial(ranks, path, bytes, size, error);
    free(bytes);
    return status;
}

static tsmith_status add_trace(tsmith_ranks *ranks, const char *path, bool is_apart, tsmith_error *error) {
    struct convert convert;
    tsmith_source *source = NULL;
    convert_init(&convert, "reading");
    tsmith_ranks_set_needs(&convert.options);
    convert.options.one_thread = is_apart;
    tsmith_status status = tsmith_trace_stream(path, &convert.options, &source, &convert.error);
    if (status == TSMITH_OK)
        status = tsmith_ranks_add(ranks, path, source, &convert.error);
    progress_clear(&convert.progress);
    tsmith_source_destroy(source);
    *error = convert.error;
    convert_finish(&convert);
    return status;
}

// A trace that cannot be read is listed as missing in the answer. Only what every trace would meet ends the command.
static int add_file(tsmith_ranks *ranks, const char *path, bool is_apart) {
    tsmith_error error;
    tsmith_status status = analyze_is_partial(path) ? add_partial(ranks, path, &error)
                                                    : add_trace(ranks, path, is_apart, &error);
    if (status == TSMITH_OK)
        return EXIT_DONE;
    complain("%s", error.message);
    const int code = status == TSMITH_TRUNCATED ? EXIT_DAMAGED : exit_code_of_input(status);
    if (status == TSMITH_TRUNCATED || code == EXIT_LACKING)
        return code;
    status = tsmith_ranks_add_missing(ranks, path, error.message, &error);
    if (status != TSMITH_OK)
        complain("%s", error.message);
    return status == TSMITH_OK ? EXIT_DAMAGED : EXIT_LACKING;
}

// All of these; the exit code, and LACKING ends it. `is_apart`: other processes read others at the same time.
static int add_in_turn(tsmith_ranks *ranks, const char *const *paths, size_t count, bool is_apart) {
    int code = EXIT_DONE;
    for (size_t i = 0; i < count && code != EXIT_LACKING; i++) {
        const int one = add_file(ranks, paths[i], is_apart);
        code = one == EXIT_DONE ? code : one;
    }
    return code;
}

static int create_ranks(tsmith_ranks **ranks) {
    tsmith_error error;
    if (tsmith_ranks_create(ranks, &error) == TSMITH_OK)
        return EXIT_DONE;
    complain("%s", error.message);
    return EXIT_LACKING;
}

static tsmith_status write_bytes(void *context, const void *bytes, size_t size) {
    return fwrite(bytes, 1, size, context) == size ? TSMITH_OK : TSMITH_ERROR_IO;
}

static int put_partial(const tsmith_ranks *ranks, FILE *out) {
    tsmith_error error;
    const tsmith_output output = {.write = write_bytes, .context = out};
    if (tsmith_ranks_write_partial(ranks, &output, &error) == TSMITH_OK)
        return EXIT_DONE;
    complain("%s", error.message);
    return EXIT_LACKING;
}

// The files are read in groups, each by a process that writes a partial of them: a process costs 3 ms, as much as reading ten small
// files.
struct groups {
    const char *const *paths;
    size_t count, groups;
};

static size_t group_begin(const struct groups *groups, size_t index) {
    return groups->count * index / groups->groups;
}

// One file after the other needs as much memory: what one leaves is kept for the next, because new pages take time.
static void keep_memory(void) {
#if defined(__GLIBC__)
    enum { LARGEST_KEPT = 32 << 20, KEPT = 128 << 20 };
    (void)mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT);
#endif
}

static int run_group(const void *context, size_t index, FILE *out) {
    const struct groups *groups = context;
    const size_t begin = group_begin(groups, index), end = group_begin(groups, index + 1);
    tsmith_ranks *ranks = NULL;
    keep_memory();
    int code = create_ranks(&ranks);
    if (code == EXIT_DONE)
        code = add_in_turn(ranks, groups->paths + begin, end - begin, true);
    if (code != EXIT_LACKING && put_partial(ranks, out) != EXIT_DONE)
        code = EXIT_LACKING;
    tsmith_ranks_destroy(ranks);
    return code;
}

static int add_group(tsmith_ranks *ranks, struct apart *apart, const struct groups *groups, size_t index) {
    const size_t begin = group_begin(groups, index), end = group_begin(groups, index + 1);
    struct apart_answer answer;
    tsmith_error error;
    if (!apart || !apart_take(apart, index, &answer))
        return add_in_turn(ranks, groups->paths + begin, end - begin, false);
    int code = answer.code;
    // A partial that is refused has a trace that is: it is named when the traces are added here.
    const bool is_partial = !answer.signal && code != EXIT_LACKING;
    const bool is_added = is_partial && tsmith_ranks_add_partial(ranks, groups->paths[begin], answer.bytes,
                                                                 answer.size, &error) == TSMITH_OK;
    if (!is_partial || is_added)
        apart_put_messages(&answer);
    if (answer.signal)
        complain("the process that read %s and %zu more was ended by signal %d", groups->paths[begin],
                 end - begin - 1, answer.signal);
    else if (is_partial && !is_added)
        code = add_in_turn(ranks, groups->paths + begin, end - begin, false);
    apart_answer_finish(&answer);
    return code;
}

// Their results would be partials again: a process would save nothing.
static bool are_partials(const char *const *paths, size_t count) {
    size_t partials = 0;
    while (partials < count && analyze_is_partial(paths[partials]))
        partials++;
    return partials == count;
}

// All files; the exit code, and LACKING ends it.
static int add_files(const char *const *paths, size_t count, tsmith_ranks **ranks) {
    enum { GROUPS_OF_EACH = 4 }; // one group may take longer than another
    const size_t most = are_partials(paths, count) ? 1 : apart_at_once() * GROUPS_OF_EACH;
    const struct groups groups = {paths, count, count < most ? count : most};
    int code = create_ranks(ranks);
    if (code != EXIT_DONE)
        return code;
    struct apart *apart = apart_create(groups.groups, run_group, &groups);
    for (size_t i = 0; i < groups.groups && code != EXIT_LACKING; i++) {
        const int one = add_group(*ranks, apart, &groups, i);
        code = one == EXIT_DONE ? code : one;
    }
    apart_destroy(apart);
    return code;
}

int analyze_ranks(const char *const *paths, size_t count,
                  int (*put)(const void *context, const tsmith_report *report), const void *context) {
    tsmith_ranks *ranks = NULL;
    tsmith_error error;
    int code = add_files(paths, count, &ranks);
    if (code != EXIT_LACKING) {
        tsmith_status status = tsmith_ranks_finish(ranks, &error);
        int answered = EXIT_DONE;
        if (status == TSMITH_OK) {
            answered = put(context, tsmith_ranks_report(ranks));
        } else {
            complain("%s", error.message);
            answered = status == TSMITH_ERROR_STATE ? EXIT_USAGE : EXIT_LACKING;
        }
        code = answered == EXIT_DONE || (answered == EXIT_USAGE && code == EXIT_DAMAGED) ? code : answered;
    }
    tsmith_ranks_destroy(ranks);
    return code;
}

int analyze_partial(const char *const *paths, size_t count, FILE *out) {
    tsmith_ranks *ranks = NULL;
    int code = add_files(paths, count, &ranks);
    if (code != EXIT_LACKING && put_partial(ranks, out) != EXIT_DONE)
        code = EXIT_LACKING;
    tsmith_ranks_destroy(ranks);
    return code;
}
