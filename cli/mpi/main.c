// SPDX-License-Identifier: Apache-2.0
// tracesmith-mpi analyze FOLDER [--network NETWORK] [options of `tracesmith analyze`]
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/helper_program.h"
#include "cli/present/terminal.h"
#include "cli/present/text.h"
#include "mpi_program.h"
#include "tracesmith/version.h"

// Writes what one of the functions of help.c makes.
static void write_help(FILE *out, void (*add)(struct text *text)) {
    struct text text = {0};
    add(&text);
    (void)fputs(text_cstr(&text), out);
    text_finish(&text);
}

struct program {
    struct job job;
    struct files files; // of this rank
    struct place *places;
    const char *folder, *network;
    char **options; // for `tracesmith analyze`
    size_t option_count;
    char command[PATH_MAX]; // tracesmith
    char **texts;           // rank 0: by rank, its files, one a line
};

static bool read_words(struct program *program, int count, char **words) {
    if (count < 3 || strcmp(words[1], "analyze") != 0 || words[2][0] == '-') {
        write_help(stderr, help_add_text);
        return false;
    }
    program->folder = words[2];
    program->options = words + 3;
    for (int i = 3; i < count; i++) {
        if (strcmp(words[i], "--network") == 0 && i + 1 < count)
            program->network = words[++i];
        else if (strncmp(words[i], "--network=", 10) == 0)
            program->network = words[i] + 10;
        else
            program->options[program->option_count++] = words[i];
    }
    return true;
}

// The command that is installed next to this program.
static bool find_command(struct program *program) {
    char self[PATH_MAX];
    if (helper_own_path(self, sizeof self)) {
        *strrchr(self, '/') = '\0';
        const int length = snprintf(program->command, sizeof program->command, "%s/tracesmith", self);
        if (length > 0 && (size_t)length < sizeof program->command && access(program->command, X_OK) == 0)
            return true;
    }
    complain("the command tracesmith is not next to tracesmith-mpi");
    return false;
}

// Decides which files this rank reads: if all hosts see the same folder, the job shares it, otherwise the ranks of each host.
static bool share_files(struct program *program) {
    const struct place *mine = &program->places[program->job.rank];
    size_t first = 0, size = 0;
    bool same = true, several = false;
    for (int i = 0; i < program->job.size; i++) {
        same = same && program->places[i].digest == mine->digest;
        several = several || program->places[i].host != mine->host;
    }
    for (int i = 0; i < program->job.size; i++)
        if (same || program->places[i].host == mine->host) {
            first += i < program->job.rank;
            size++;
        }
    files_keep(&program->files, first, size);
    if (!several || program->network)
        return true;
    if (program->job.rank == 0)
        complain("the ranks are on several hosts or networks; name the one that they may use with --network "
                 "INTERFACE, or ADDRESS/BITS");
    return false;
}

static char *join_paths(const struct files *files) {
    size_t size = 1;
    for (size_t i = 0; i < files->count; i++)
        size += strlen(files->paths[i]) + 1;
    char *text = malloc(size), *end = text;
    for (size_t i = 0; text && i < files->count; i++) {
        const size_t length = strlen(files->paths[i]);
        memcpy(end, files->paths[i], length);
        end += length;
        *end++ = '\n';
    }
    if (text)
        *end = '\0';
    return text;
}

// Everything that the ranks tell each other through MPI. `listener` is set, -1 on one rank.
static bool exchange_places(struct program *program, int *listener) {
    const struct job *job = &program->job;
    struct place mine = {0};
    program->places = calloc((size_t)job->size, sizeof *program->places);
    if (!program->places || !place_learn(&mine))
        return false;
    // A rank that cannot read its folder takes part, so that no other waits for it.
    const bool listed = files_list(program->folder, &program->files);
    mine.digest = files_digest(&program->files);
    if (!job_gather_to_all(job, &mine, sizeof mine, program->places) || !share_files(program))
        return false;
    *listener = job->size > 1 ? place_listen(&mine, program->network) : -1;
    char *text = join_paths(&program->files);
    const bool met = text && job_gather_to_all(job, &mine, sizeof mine, program->places) &&
                     job_gather_texts(job, text, &program->texts);
    free(text);
    for (int i = 0; met && job->size > 1 && i < job->size; i++)
        if (!program->places[i].listens)
            return false; // that rank has said why
    return met && (listed || job->size > 1);
}

// The traces of ranks that are lost.
static bool add_lost(const struct tree *tree, const struct program *program, int *code) {
    char reason[160];
    tsmith_error error;
    for (int i = 0; i < tree->job->size; i++) {
        char *rest = NULL;
        if (tree->covered[i])
            continue;
        *code = EXIT_DAMAGED;
        (void)snprintf(reason, sizeof reason, "rank %d on host %s, which was to read it, is lost", i,
                       tree->places[i].name);
        for (char *path = strtok_r(program->texts[i], "\n", &rest); path; path = strtok_r(NULL, "\n", &rest))
            if (tsmith_ranks_add_missing(tree->ranks, path, reason, &error) != TSMITH_OK) {
                complain("%s", error.message);
                return false;
            }
    }
    return true;
}

static tsmith_status write_stream(void *context, const void *bytes, size_t size) {
    return fwrite(bytes, 1, size, context) == size ? TSMITH_OK : TSMITH_ERROR_IO;
}

static int answer(struct tree *tree, const void *context) {
    const struct program *program = context;
    char *bytes = NULL;
    size_t size = 0;
    tsmith_error error;
    int code = tree->map->code;
    FILE *memory = open_memstream(&bytes, &size);
    const tsmith_output output = {.write = write_stream, .context = memory};
    bool done = memory && add_lost(tree, program, &code);
    if (done && tsmith_ranks_write_partial(tree->ranks, &output, &error) != TSMITH_OK) {
        complain("%s", error.message);
        done = false;
    }
    if (memory)
        done = fclose(memory) == 0 && done;
    if (done) {
        const int answered =
            map_answer(program->command, bytes, size, program->options, program->option_count);
        code = answered > code || answered == EXIT_USAGE ? answered : code;
    }
    free(bytes);
    return done ? code : EXIT_LACKING;
}

// In the process of the work.
static int work(struct program *program, int listener) {
    int code = EXIT_LACKING;
    tsmith_ranks *ranks = NULL;
    tsmith_error error;
    uint8_t *covered = calloc((size_t)program->job.size, 1);
    if (!covered || tsmith_ranks_create(&ranks, &error) != TSMITH_OK) {
        complain("out of memory");
    } else {
        struct map map = {.command = program->command, .files = &program->files, .ranks = ranks};
        struct tree tree = {.job = &program->job,
                            .places = program->places,
                            .listener = listener,
                            .map = &map,
                            .ranks = ranks,
                            .covered = covered,
                            .answer = answer,
                            .context = program};
        code = tree_run(&tree);
    }
    tsmith_ranks_destroy(ranks);
    free(covered);
    return code;
}

static int work_apart(struct program *program, int listener) {
    int status = 0;
    const pid_t child = job_fork();
    if (child == 0)
        _exit(work(program, listener));
    if (listener >= 0)
        (void)close(listener); // so that the other ranks see the end of the child
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child > 0 && WIFEXITED(status))
        return WEXITSTATUS(status);
    if (child > 0)
        complain("rank %d: its process was killed by signal %d", program->job.rank, WTERMSIG(status));
    else
        complain("rank %d cannot start a process: %s", program->job.rank, strerror(errno));
    return program->job.rank ? EXIT_DONE : EXIT_LACKING; // rank 0 says that it is missing
}

static int run(struct program *program) {
    int listener = -1, code = EXIT_LACKING;
    if (!find_command(program) || !job_start(&program->job))
        return EXIT_LACKING;
    if (exchange_places(program, &listener)) // all ranks or none, unless memory is exhausted
        code = program->job.library ? work_apart(program, listener) : work(program, listener);
    job_end(&program->job, code);
    return code;
}

int main(int argc, char **argv) {
    struct program program = {0};
    terminal_init();
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        write_help(stdout, help_add_text);
        return EXIT_DONE;
    }
    if (argc == 2 && strcmp(argv[1], "--help=man") == 0) {
        write_help(stdout, help_add_page);
        return EXIT_DONE;
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        (void)printf("tracesmith-mpi %s\n", TSMITH_VERSION_STRING);
        return EXIT_DONE;
    }
    if (!read_words(&program, argc, argv))
        return EXIT_USAGE;
    const int code = run(&program);
    for (int i = 0; program.texts && i < program.job.size; i++)
        free(program.texts[i]);
    free(program.texts);
    files_finish(&program.files);
    free(program.places);
    return code;
}
