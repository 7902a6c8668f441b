// SPDX-License-Identifier: Apache-2.0
// The reader of Chrome traces and the rows, each in a thread of its own where that pays. source.c calls it.
//
// The reader fills blocks (block.h), the thread that asks for batches takes them apart in the same order and puts the events into
// rows. Nothing else passes between the two, so the result does not depend on which of them is faster. The reader has a dictionary
// of its own, `words`; a string enters the dictionary of the trace when the first event with it is taken apart.
//
// A thread is started for a regular file that is longer than a few blocks, if the process may use two processors and the caller
// lets it. A pipe is read by the thread that asks: a thread that waits for a pipe could not be ended. Where there will be no thread,
// each event goes from the reader to the rows at once. The result is the same.
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/quiet_thread.h"
#include "import/chrome/block.h"
#include "import/chrome/reader.h"
#include "import/chrome/rows.h"
#include "import/chrome/source.h"
#include "tracesmith/processors.h"

enum { BLOCKS = 4, BLOCKS_ALONE = 4 };

struct pipeline {
    struct chrome lexer; // what the reader knows of the file; its dictionary is `words`
    uint32_t published;  // of the words
    struct block blocks[BLOCKS];
    struct unpacked unpacked;
    struct block *taken; // that is being taken apart; NULL: none
    unsigned alone;      // blocks that were filled without a thread
    bool direct;         // there will be no thread: events go to the rows without blocks

    // Per thread. `filled` and `emptied` count blocks; both, and `stop`, are guarded by the mutex.
    bool threaded;
    pid_t process; // that started it
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t more_filled, more_emptied;
    uint64_t filled, emptied;
    bool stop;
};

static void fill(struct pipeline *pipeline, struct block *block) {
    struct chrome *lexer = &pipeline->lexer;
    block_reset(block);
    lexer->reader->block = block;
    block->status = reader_run(lexer, &block->error);
    if (!block_add_words(block, lexer->dictionary, &pipeline->published))
        block->status = status_set(&block->error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", lexer->name);
}

// ---- the thread

static void *read_ahead(void *context) {
    struct pipeline *pipeline = context;
    bool over = false;
    (void)pthread_mutex_lock(&pipeline->mutex);
    while (!over) {
        while (pipeline->filled - pipeline->emptied == BLOCKS && !pipeline->stop)
            (void)pthread_cond_wait(&pipeline->more_emptied, &pipeline->mutex);
        if (pipeline->stop)
            break;
        struct block *block = &pipeline->blocks[pipeline->filled % BLOCKS];
        (void)pthread_mutex_unlock(&pipeline->mutex);
        fill(pipeline, block);
        over = block->status != TSMITH_OK;
        (void)pthread_mutex_lock(&pipeline->mutex);
        pipeline->filled++;
        (void)pthread_cond_signal(&pipeline->more_filled);
    }
    (void)pthread_mutex_unlock(&pipeline->mutex);
    return NULL;
}

static bool is_regular(int fd) {
    struct stat file;
    return fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
}

// On failure the caller continues alone.
static void start_thread(struct pipeline *pipeline) {
    pipeline->process = getpid();
    pipeline->threaded = quiet_thread_start(&pipeline->thread, read_ahead, pipeline) == 0;
}

// The next block; NULL in a child process, where the thread is not.
static struct block *take_block(struct pipeline *pipeline) {
    if (!pipeline->threaded && pipeline->alone == BLOCKS_ALONE)
        start_thread(pipeline);
    if (!pipeline->threaded) {
        pipeline->alone += pipeline->alone <= BLOCKS_ALONE;
        fill(pipeline, &pipeline->blocks[0]);
        return &pipeline->blocks[0];
    }
    if (pipeline->process != getpid())
        return NULL;
    (void)pthread_mutex_lock(&pipeline->mutex);
    while (pipeline->filled == pipeline->emptied)
        (void)pthread_cond_wait(&pipeline->more_filled, &pipeline->mutex);
    (void)pthread_mutex_unlock(&pipeline->mutex);
    return &pipeline->blocks[pipeline->emptied % BLOCKS];
}

static void give_back(struct pipeline *pipeline) {
    pipeline->taken = NULL;
    if (!pipeline->threaded)
        return;
    (void)pthread_mutex_lock(&pipeline->mutex);
    pipeline->emptied++;
    (void)pthread_cond_signal(&pipeline->more_emptied);
    (void)pthread_mutex_unlock(&pipeline->mutex);
}

// ---- the reader's side of a source

static void finish(void *state) {
    struct pipeline *pipeline = state;
    if (!pipeline)
        return;
    if (pipeline->threaded && pipeline->process == getpid()) {
        (void)pthread_mutex_lock(&pipeline->mutex);
        pipeline->stop = true;
        (void)pthread_cond_signal(&pipeline->more_emptied);
        (void)pthread_mutex_unlock(&pipeline->mutex);
        (void)pthread_join(pipeline->thread, NULL);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        block_finish(&pipeline->blocks[i]);
    unpacked_finish(&pipeline->unpacked);
    texts_finish(&pipeline->lexer.texts);
    input_close(&pipeline->lexer.input);
    tsmith_dictionary_destroy(pipeline->lexer.dictionary);
    free(pipeline);
}

static tsmith_status begin(struct chrome *chrome, void **state, tsmith_error *error) {
    struct pipeline *pipeline = calloc(1, sizeof *pipeline);
    *state = pipeline;
    if (!pipeline || tsmith_dictionary_create(&pipeline->lexer.dictionary) != TSMITH_OK)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", chrome->name);
    struct chrome *lexer = &pipeline->lexer;
    lexer->name = chrome->name;
    lexer->fd = chrome->fd;
    lexer->reader = chrome->reader;
    lexer->keys = chrome->keys;
    lexer->input = chrome->input;
    lexer->arguments = chrome->arguments;
    lexer->argument_count = chrome->argument_count;
    lexer->needs_event = chrome->needs_event;
    chrome->input = (struct input){0};
    pipeline->direct = chrome->one_thread || !is_regular(chrome->fd) || tsmith_processors() < 2;
    lexer->texts = (struct texts){.dictionary = lexer->dictionary, .problems = &lexer->problems};
    pthread_mutex_init(&pipeline->mutex, NULL);
    pthread_cond_init(&pipeline->more_filled, NULL);
    pthread_cond_init(&pipeline->more_emptied, NULL);
    return reader_begin(lexer, error);
}

// All events are in the rows.
static void end(const struct pipeline *pipeline, struct chrome *chrome) {
    for (size_t i = 0; i < PROBLEM_COUNT; i++)
        chrome->problems.counts[i] += pipeline->lexer.problems.counts[i];
    chrome->no_time_at = pipeline->lexer.no_time_at;
}

static bool failed(const struct chrome *chrome) {
    return chrome->texts.failed || tsmith_dictionary_failed(chrome->dictionary) || rows_failed(chrome->rows);
}

// Without blocks: until the rows are full.
static tsmith_status run_alone(struct chrome *chrome, struct pipeline *pipeline, tsmith_error *error) {
    struct reader *reader = pipeline->lexer.reader;
    reader->trace = chrome;
    reader->unpacked = &pipeline->unpacked;
    const tsmith_status status = reader_run(&pipeline->lexer, error);
    if (failed(chrome))
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", chrome->name);
    if (status != TSMITH_OK)
        end(pipeline, chrome);
    return status;
}

static tsmith_status run(struct chrome *chrome, void *state, tsmith_error *error) {
    struct pipeline *pipeline = state;
    if (pipeline->direct)
        return run_alone(chrome, pipeline, error);
    for (;;) {
        struct block *block = pipeline->taken ? pipeline->taken : take_block(pipeline);
        if (!block)
            return status_set(error, TSMITH_ERROR_STATE,
                              "%s: opened by another process, which this one was forked from", chrome->name);
        if (!pipeline->taken && !unpacked_learn(&pipeline->unpacked, block))
            chrome->texts.failed = true;
        pipeline->taken = block;
        bool room = true;
        while (block->at < block->used && room && !chrome->texts.failed)
            room = unpacked_next(&pipeline->unpacked, chrome, block);
        if (failed(chrome))
            return status_set(error, TSMITH_ERROR_NO_MEMORY, "%s: out of memory", chrome->name);
        if (!room)
            return TSMITH_OK;
        if (block->status != TSMITH_OK) {
            end(pipeline, chrome);
            *error = block->error;
            return block->status;
        }
        give_back(pipeline);
    }
}

tsmith_status chrome_source_open(struct import_job *job, tsmith_source **out, tsmith_error *error) {
    static const struct json_reader reader = {"chrome-json", begin, run, finish};
    return json_source_open(&reader, job, out, error);
}
