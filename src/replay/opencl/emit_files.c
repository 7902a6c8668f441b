// SPDX-License-Identifier: Apache-2.0
// The files of a program that is written: repro.c, the sources of its kernels and what they include, data.bin, Makefile and
// README.md. Their names are ours, but for those of included files, which the sources name. Called by src/replay/emit.c.
#if __has_include(<CL/cl.h>)

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/status.h"
#include "recording/build_options.h"
#include "replay/opencl/emit.h"

#define INCLUDE_ROOT "include"

static const char makefile[] = "# make builds ./repro, make run runs it. CC, CFLAGS, LDLIBS and DEVICE (a "
                               "number or a part of a name) can be set.\n"
                               "CC ?= cc\n"
                               "CFLAGS ?= -O1 -std=c99 -Wall -Wextra\n"
                               "LDLIBS ?= -lOpenCL\n"
                               "DEVICE ?=\n"
                               "\n"
                               "repro: repro.c\n"
                               "\t$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ repro.c $(LDLIBS)\n"
                               "\n"
                               "run: repro\n"
                               "\t./repro $(DEVICE)\n"
                               "\n"
                               "clean:\n"
                               "\trm -f repro\n"
                               "\n"
                               ".PHONY: run clean\n";

// ---- included files

// Absolute, and of plain words: it becomes the path of a file beneath the directory, and an option of a compiler.
static bool is_plain_path(const char *name) {
    char path[BUILD_PATH_MOST];
    if (!name || name[0] != '/' || !name[1] || !build_path(NULL, name, strlen(name), path) ||
        strcmp(path, name) != 0)
        return false;
    for (size_t i = 0; name[i]; i++) {
        const char c = name[i];
        const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!word && !strchr("/_.+-@", c))
            return false;
        if (c == '/' && (name[i + 1] == '-' || name[i + 1] == '.'))
            return false; // no option, no hidden file
    }
    return strlen(name) < BUILD_PATH_MOST / 2;
}

static bool includes_files(const struct emit *emit, uint64_t program) {
    for (size_t i = 0; i < emit->process->count; i++) {
        const struct recording_record *record = &emit->process->records[i];
        if (record->type == RECORDING_INCLUDED && recording_value(record, RECORDING_KEY_PROGRAM) == program)
            return true;
    }
    return false;
}

static bool hand_over(const struct emit_request *request, const char *name, const void *bytes, size_t size) {
    return request->take(request->context,
                         &(tsmith_emit_file){sizeof(tsmith_emit_file), name, bytes, size}) != 0;
}

static bool write_included(struct emit *emit, const struct emit_request *request) {
    struct chunk_table written = {0};
    bool good = true;
    for (size_t i = 0; good && i < emit->process->count; i++) {
        const struct recording_record *record = &emit->process->records[i];
        if (record->type != RECORDING_INCLUDED)
            continue;
        const int program =
            emit_find(emit, recording_value(record, RECORDING_KEY_PROGRAM), RECORDING_PROGRAM);
        const char *name = recording_text(emit->recording, record, RECORDING_KEY_NAME);
        if (program == EMIT_NONE || !emit->programs[program].used)
            continue;
        if (!is_plain_path(name)) {
            emit_omit(emit, "a file that %s includes has no plain path, and was left out",
                      emit->programs[program].name);
            continue;
        }
        const struct chunk_hash key = chunk_hash_of(name, strlen(name));
        if (chunk_table_find(&written, key))
            continue;
        char path[BUILD_PATH_MOST];
        size_t size;
        uint8_t *bytes = recording_payload(emit->recording, record, &size);
        snprintf(path, sizeof path, INCLUDE_ROOT "%s", name);
        if (!bytes)
            emit_omit(emit, "%s is missing from the recording", path);
        else
            good = chunk_table_add(&written, key, 1) && hand_over(request, path, bytes, size);
        free(bytes);
    }
    chunk_table_finish(&written);
    return good;
}

// ---- programs

static const char *first_kernel(const struct emit *emit, size_t program) {
    for (size_t i = 0; i < emit->kernel_count; i++)
        if (emit->kernels[i].used && emit->kernels[i].program == (int)program)
            return emit->kernels[i].name;
    return NULL;
}

bool emit_name_programs(struct emit *emit) {
    for (size_t i = 0; i < emit->program_count; i++) {
        struct emit_program *program = &emit->programs[i];
        const struct recording_record *record = &emit->process->records[program->record],
                                      *build = program->build ? &emit->process->records[program->build - 1]
                                               : record->type == RECORDING_LINK ? record
                                                                                : NULL;
        if (!program->used)
            continue;
        const uint64_t form = recording_value(record, RECORDING_KEY_FORM);
        const char *kernel = first_kernel(emit, i), *ending = form == RECORDING_PROGRAM_SOURCE   ? "cl"
                                                              : form == RECORDING_PROGRAM_BINARY ? "bin"
                                                                                                 : "spv";
        char word[40] = "";
        if (kernel)
            emit_identifier(kernel, word, sizeof word);
        snprintf(program->file, sizeof program->file, "%s%s%s.%s", program->name, kernel ? "_" : "", word,
                 ending);
        const char *options = build ? recording_text(emit->recording, build, RECORDING_KEY_TEXT) : NULL,
                   *folder = build ? recording_text(emit->recording, build, RECORDING_KEY_NAME) : NULL;
        options = options ? options : "";
        program->options = folder && is_plain_path(folder) && includes_files(emit, program->id)
                               ? build_options_move(options, folder, INCLUDE_ROOT)
                               : strdup(options);
        if (!program->options)
            return false;
    }
    return true;
}

static bool write_programs(struct emit *emit, const struct emit_request *request) {
    for (size_t i = 0; i < emit->program_count; i++) {
        const struct emit_program *program = &emit->programs[i];
        const struct recording_record *record = &emit->process->records[program->record];
        size_t size = 0;
        if (!program->used || record->type != RECORDING_PROGRAM)
            continue;
        uint8_t *bytes = recording_payload(emit->recording, record, &size);
        if (!bytes)
            emit_omit(emit, "%s is missing from the recording", program->file);
        const bool good =
            hand_over(request, program->file, bytes ? (const void *)bytes : "", bytes ? size : 0);
        free(bytes);
        if (!good)
            return false;
    }
    return true;
}

// ---- README.md

static void write_devices(const struct emit *emit, FILE *out) {
    for (size_t i = 0; i < emit->process->count; i++) {
        const struct recording_record *record = &emit->process->records[i];
        const char *name, *driver;
        if (record->type != RECORDING_DEVICE)
            continue;
        name = recording_text(emit->recording, record, RECORDING_KEY_NAME);
        driver = recording_text(emit->recording, record, RECORDING_KEY_DRIVER);
        fputs("- recorded on ", out);
        emit_comment(out, name ? name : "an unknown device");
        if (driver) {
            fputs(", driver ", out);
            emit_comment(out, driver);
        }
        fputc('\n', out);
    }
}

static void write_omissions(const struct emit *emit, FILE *out) {
    const struct tsmith_recording *recording = emit->recording;
    const size_t listed = emit->omission_count < EMIT_OMISSIONS ? emit->omission_count : EMIT_OMISSIONS;
    fputs("\n## Not covered\n\n", out);
    for (size_t i = 0; i < recording->refusal_count; i++) {
        fputs("- ", out);
        emit_comment(out, recording->refusals[i].function);
        fprintf(out, " (%" PRIu64 " %s) cannot be replayed: ", recording->refusals[i].count,
                recording->refusals[i].count == 1 ? "call" : "calls");
        emit_comment(out, recording->refusals[i].reason);
        fputc('\n', out);
    }
    for (size_t i = 0; i < listed; i++) {
        fputs("- ", out);
        emit_comment(out, emit->omissions[i]);
        fputc('\n', out);
    }
    if (listed < emit->omission_count)
        fprintf(out, "- and %zu more of these\n", emit->omission_count - listed);
    if (!recording->refusal_count && !emit->omission_count)
        fputs("Nothing of this part was left out.\n", out);
    fputs("\nThe code of the recorded program is not in it, and callbacks do not run. Kernels run as "
          "recorded, so build and\n"
          "run this only if you would run the recorded program.\n",
          out);
}

static void write_readme(const struct emit *emit, const struct emit_request *request, FILE *out) {
    fputs("# A recorded OpenCL step as a C program\n\n", out);
    fprintf(out,
            "`repro.c` runs %" PRIu64 " %s (%" PRIu64
            " %s) of a recorded program on an OpenCL device and compares\n"
            "%zu %s with what the recorded program got.\n\n"
            "    make\n    ./repro            the device with the recorded name, else the first\n"
            "    ./repro 1          device 1; ./repro NAME: the first whose name has NAME in it\n\n",
            emit->commands, emit->commands == 1 ? "command" : "commands", emit->launches,
            emit->launches == 1 ? "kernel launch" : "kernel launches", emit->result_count,
            emit->result_count == 1 ? "result" : "results");
    fputs("Its last line is the verdict: EXACT (every byte is the recorded one; exit status 0) or DIVERGED "
          "(exit status 1),\n"
          "with the first different element of each buffer above it. Exit status 2: a call failed, which is "
          "named, or\n"
          "nothing could be compared. It needs a C99 compiler, OpenCL's headers and its loader.\n\n"
          "| file | contents |\n|--|--|\n"
          "| repro.c | the program |\n"
          "| program_*.cl | sources of the kernels as the recorded program gave them to its driver (.spv: "
          "intermediate\n"
          "language, .bin: the binary of one driver) |\n"
          "| include/ | files that the sources include, if there are any |\n"
          "| data.bin | initial content of memory and the recorded results; each content is in it once |\n\n"
          "## Origin\n\n- written by `tracesmith replay --emit-c`\n",
          out);
    fprintf(out, "- recorded process %" PRIu64 "\n", emit->process->pid);
    write_devices(emit, out);
    if (request->origin) {
        fputs("- ", out);
        emit_comment(out, request->origin);
        fputc('\n', out);
    }
    write_omissions(emit, out);
}

// ---- all of them

static bool write_text(struct emit *emit, const struct emit_request *request, const char *name,
                       bool program) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool good = out != NULL;
    if (good && program)
        good = emit_write_program(emit, out);
    else if (good)
        write_readme(emit, request, out);
    if (out && fclose(out) != 0)
        good = false;
    emit->failed |= !good;
    good = good && hand_over(request, name, text, size);
    free(text);
    return good;
}

tsmith_status emit_opencl(struct tsmith_recording *recording, const struct recorded_process *process,
                          const struct emit_request *request, tsmith_emit_summary *out, tsmith_error *error) {
    struct emit emit = {.recording = recording, .process = process, .request = request};
    tsmith_status status = TSMITH_OK;
    emit_walk(&emit);
    if (emit.too_large)
        status = status_set(
            error, TSMITH_ERROR_LIMIT,
            "the data of the program would be larger than 2 GiB: choose a part (--range, --minimize)");
    else if (!emit.failed && !emit.commands)
        status = status_set(error, TSMITH_ERROR_NOT_FOUND,
                            "there is no OpenCL command in this part that could be written as a program");
    if (status == TSMITH_OK && !emit.failed) {
        const bool good = write_text(&emit, request, "repro.c", true) && write_programs(&emit, request) &&
                          write_included(&emit, request) &&
                          (!emit.data_size || hand_over(request, "data.bin", emit.data, emit.data_size)) &&
                          hand_over(request, "Makefile", makefile, sizeof makefile - 1) &&
                          write_text(&emit, request, "README.md", false);
        if (!good && !emit.failed)
            status = status_set(error, TSMITH_ERROR_IO, "the receiver of the files refused one");
    }
    if (emit.failed && status == TSMITH_OK)
        status = status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while writing the program");
    *out = (tsmith_emit_summary){.pid = process->pid,
                                 .commands = emit.commands,
                                 .launches = emit.launches,
                                 .results = emit.result_count,
                                 .data_bytes = emit.data_size,
                                 .omissions = emit.omission_count + recording->refusal_count};
    emit_finish(&emit);
    return status;
}

#else

#include "base/status.h"
#include "replay/emit.h"

tsmith_status emit_opencl(struct tsmith_recording *recording, const struct recorded_process *process,
                          const struct emit_request *request, tsmith_emit_summary *out, tsmith_error *error) {
    (void)recording;
    (void)process;
    (void)request;
    (void)out;
    return status_set(error, TSMITH_ERROR_MISSING, "this TraceSmith was built without the OpenCL headers");
}

#endif
