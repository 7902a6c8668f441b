// SPDX-License-Identifier: Apache-2.0
// A recorded process as a C program (`replay --emit-c`): what its files share.
//
//   emit.c          the public function
//   emit_walk.c     records -> steps: what the program does, in the recorded order
//   emit_commands.c a command: whether it can be in the program, and what it does
//   emit_source.c  what the source of a kernel says of its parameters
//   emit_memory.c   memory on the way through the records: what it holds, and why it may not hold what was recorded
//   emit_content.c  data.bin
//   emit_program.c  steps -> repro.c
//   emit_code.c     one step as C
//   emit_files.c    sources, Makefile, README
//   repro.template  the fixed part of repro.c
//
// Everything that comes out of a recording is untrusted. Names of files, identifiers and text in comments are made of the
// characters that emit_identifier and emit_comment let through; strings are escaped by emit_string.
#ifndef REPLAY_OPENCL_EMIT_H
#define REPLAY_OPENCL_EMIT_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>

#include "recording/chunk.h"
#include "replay/emit.h"

enum { EMIT_NAME = 80, EMIT_NONE = -1, EMIT_OMISSIONS = 200, EMIT_STRING = 1000 };

// What the program does, one after the other.
enum emit_kind {
    EMIT_MAKE,    // memory, with its initial content
    EMIT_COPY_IN, // memory gets a content that nothing recorded brought into it
    EMIT_COPY_OUT,
    EMIT_RELEASE,
    EMIT_ARGUMENT,
    EMIT_USES, // shared memory that a kernel reaches by pointers
    EMIT_COMMAND,
    EMIT_USER_EVENT,
    EMIT_USER_STATUS,
    EMIT_FINISH,
    EMIT_WAIT,
    EMIT_LEFT_OUT // a command that cannot be replayed: only a comment, with the reason
};

struct emit_step {
    enum emit_kind kind;
    enum recording_command command_kind;
    const struct recording_record *record;
    uint64_t command;                                                   // number of it
    int queue, kernel, memory, source, mapping, content, result, event; // indices; EMIT_NONE: none
    size_t waits, wait_count;                                           // in emit->lists: events
    size_t list, list_count; // in emit->lists: events, queues or memories
    size_t index;            // of an argument
    struct emit_argument *argument;
    bool as_marker; // left out, but others are ordered by it
    bool blocking;
    const char *why;
};

struct emit_argument {
    enum recording_argument_form form; // 0: not set
    size_t size;
    int target; // index of a memory or sampler; EMIT_NONE
    bool sampler;
    uint64_t offset;
    const uint8_t *data;
    const char *type;
    bool constant, changed;
    tsmith_element element;
};

struct emit_memory {
    uint64_t id, size, flags, origin, address;
    uint32_t type;
    int context, parent; // indices; EMIT_NONE
    uint64_t words[RECORDING_IMAGE_WORDS];
    int content;     // EMIT_NONE: zeros
    bool absent;     // it cannot be made
    bool made, used; // used: by a command, so a content comes too late to be its initial one
    bool released;
    const char *why, *doubt, *held;
    size_t maps;
    size_t writer; // record + 1
    uint64_t writer_command;
    tsmith_element element;
    int hold; // event of the last copy into or out of it; EMIT_NONE
    int *users;
    size_t user_count, user_capacity; // queues
};

struct emit_program {
    uint64_t id;
    size_t record, build; // build: record + 1 of the last
    int context;
    bool used;
    const char *why;
    char name[EMIT_NAME], file[EMIT_NAME + 48];
    char *options; // of its build or link; owned
};

// By the kernel's source.
struct emit_parameter {
    tsmith_element element;
    bool constant; // it is only read
};

struct emit_kernel {
    uint64_t id;
    int program;
    const char *name;
    char variable[EMIT_NAME];
    bool used;
    struct emit_argument *arguments;
    size_t argument_count, argument_capacity;
    struct emit_parameter *parameters; // NULL: not read yet
    size_t parameter_count;
    int *uses;
    size_t use_count;
};

struct emit_queue {
    uint64_t id, flags, device;
    int context;
    bool open; // has commands that were not waited for
    bool used;
};

struct emit_context {
    uint64_t id;
    size_t record;
    bool used;
};

struct emit_sampler {
    uint64_t id;
    int context;
    uint64_t words[3];
    bool used;
};

struct emit_mapping {
    uint64_t id;
    int memory;
    bool writes, open;
};

struct emit_result {
    char what[240];
    int content;
    tsmith_element element;
    bool shared;
    const char *doubt;
};

struct emit_content {
    int64_t offset; // -1: zeros
    size_t size;
};

struct emit_object {
    uint32_t type;
    int index;
};

struct emit {
    struct tsmith_recording *recording;
    const struct recorded_process *process;
    const struct emit_request *request;
    struct chunk_table by_id; // objects: index + 1
    struct chunk_table states;
    struct chunk_table
        marks; // ids of events that are waited for; ~number of a transfer whose memory the host changed
    struct emit_object *objects;
    size_t object_count, object_capacity;
    struct emit_context *contexts;
    size_t context_count, context_capacity;
    struct emit_queue *queues;
    size_t queue_count, queue_capacity;
    struct emit_memory *memories;
    size_t memory_count, memory_capacity;
    struct emit_program *programs;
    size_t program_count, program_capacity;
    struct emit_kernel *kernels;
    size_t kernel_count, kernel_capacity;
    struct emit_sampler *samplers;
    size_t sampler_count, sampler_capacity;
    struct emit_mapping *mappings;
    size_t mapping_count, mapping_capacity;
    size_t event_count;
    struct emit_step *steps;
    size_t step_count, step_capacity;
    int *lists;
    size_t list_count, list_capacity;
    struct emit_result *results;
    size_t result_count, result_capacity;
    struct chunk_table content_of; // by hash and size: index + 1
    struct emit_content *contents;
    size_t content_count, content_capacity;
    uint8_t *data;
    size_t data_size, data_capacity;
    uint8_t *live; // by record: commands that are in the program, also as markers
    char **omissions;
    size_t omission_count, omission_capacity;
    size_t at; // the record
    uint64_t command, commands, launches;
    bool *awaited; // by event: something waits for it
    bool failed;   // memory
    bool too_large;
};

// ---- emit_walk.c

// Fills the steps.
void emit_walk(struct emit *emit);
int emit_find(const struct emit *emit, uint64_t id, uint32_t type);
int emit_find_memory(const struct emit *emit, uint64_t id);
void emit_add_object(struct emit *emit, uint64_t id, uint32_t type, int index);
struct emit_step *emit_add_step(struct emit *emit, enum emit_kind kind);
size_t emit_add_list(struct emit *emit, int value); // its place
void emit_omit(struct emit *emit, const char *format, ...) TSMITH_PRINTF(2, 3);
void emit_finish(struct emit *emit);
bool emit_is_wanted(const struct emit *emit, size_t record);
bool emit_only_orders(const struct recording_record *record); // a marker, a barrier, a migration
uint64_t emit_list_at(const uint8_t *list, size_t index);
int emit_event(struct emit *emit, uint64_t id); // its index; EMIT_NONE
// Its index if anything waits for it, and nothing has this number; else EMIT_NONE.
int emit_add_event(struct emit *emit, uint64_t id);
// The events of a wait list that are there, at the end of the lists. Commands that cannot be replayed have none.
void emit_add_waits(struct emit *emit, const struct recording_record *record, size_t *first, size_t *count);

// ---- emit_commands.c

void emit_add_command(struct emit *emit, const struct recording_record *record);

// ---- emit_memory.c

void emit_make_buffer(struct emit *emit, const struct recording_record *record);
void emit_make_part(struct emit *emit, const struct recording_record *record);
void emit_make_image(struct emit *emit, const struct recording_record *record);
void emit_make_shared(struct emit *emit, const struct recording_record *record);
struct emit_memory *emit_root(struct emit *emit, int memory);
const char *emit_why(struct emit *emit, int memory);
const char *emit_doubt(struct emit *emit, int memory);
void emit_doubted(struct emit *emit, int memory, const char *doubt);
void emit_written(struct emit *emit, int memory, tsmith_element element, const char *why);
void emit_overwritten(struct emit *emit, int memory, uint64_t offset, uint64_t size);
// A command of this queue uses it: it is made, and the events that the command has to wait for are added to the lists.
void emit_use(struct emit *emit, int memory, int queue);
void emit_content(struct emit *emit, int memory, const struct recording_record *state, const char *why);
void emit_verify(struct emit *emit, const struct recording_record *record);
void emit_release(struct emit *emit, uint64_t id);
// A result of this record, if its recorded content is there; EMIT_NONE, and it is noted why.
int emit_add_result(struct emit *emit, int memory, const struct recording_record *content, const char *what,
                    const char *doubt);

// ---- emit_source.c

void emit_read_source(struct emit *emit, struct emit_kernel *kernel); // its parameters

// ---- emit_content.c

int emit_add_content(struct emit *emit, const uint8_t *bytes, size_t size); // EMIT_NONE: memory, or too large
int emit_add_payload(struct emit *emit, const struct recording_record *record); // EMIT_NONE: it is missing

// ---- emit_program.c, emit_code.c, emit_files.c

bool emit_name_programs(struct emit *emit); // file and options of those that are used; false: no memory
bool emit_write_program(struct emit *emit, FILE *out);
void emit_write_title(const struct emit *emit, const struct emit_step *step, FILE *out);
bool emit_is_empty_launch(const struct emit_step *step); // of no work-items
void emit_write_step(const struct emit *emit, const struct emit_step *step, FILE *out);
void emit_string(FILE *out, const char *text);  // as a literal of C, with its quotes
void emit_comment(FILE *out, const char *text); // as a part of a comment, or of plain text
void emit_identifier(const char *text, char *out, size_t room);
void emit_memory_name(const struct emit_memory *memory, char *out, size_t room);

#endif
