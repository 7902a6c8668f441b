// SPDX-License-Identifier: Apache-2.0
// The source of CTF: reads the metadata, opens the streams next to it, and reads one after the other. formats.c opens it.
#include "import/ctf/ctf.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bytes.h"
#include "import/ctf/tsdl.h"

enum { LOOK_BYTES = 4096, PACKET_HEAD = 37, MAJOR_AT = 35, CONTENT_AT = 24, TOTAL_AT = 28, SCHEMES_AT = 32 };
static const uint32_t PACKET_MAGIC = 0x75d11d57; // of metadata in packets
static const char SIGNATURE[] = "/* CTF 1.";     // of metadata that are text

// Numbers of the packets are in the byte order of the trace, which the magic number shows.
static uint32_t number_at(const char *at, bool big) {
    return big ? __builtin_bswap32(bytes_get_u32(at)) : bytes_get_u32(at);
}

// The version in the packet that begins here; 0: none begins here.
static unsigned packet_version(const char *at, size_t length, bool *big) {
    if (length < PACKET_HEAD)
        return 0;
    *big = bytes_get_u32(at) == __builtin_bswap32(PACKET_MAGIC);
    return number_at(at, *big) == PACKET_MAGIC ? (unsigned char)at[MAJOR_AT] : 0;
}

// 0: it is no metadata of CTF.
static unsigned version_of(const char *at, const char *end) {
    struct json_value fragment, type;
    bool big;
    const unsigned version = packet_version(at, (size_t)(end - at), &big);
    if (version)
        return version;
    while (at < end && (*at == ' ' || (*at >= '\t' && *at <= '\r')))
        at++;
    if ((size_t)(end - at) >= sizeof SIGNATURE - 1 && memcmp(at, SIGNATURE, sizeof SIGNATURE - 1) == 0)
        return 1;
    if (at >= end || *at != '\x1e' || !json_value_read(at + 1, end, &fragment))
        return 0;
    return json_member(&fragment, "type", &type) && json_value_is(&type, "preamble") &&
                   json_member(&fragment, "version", &type) && json_value_is(&type, "2")
               ? 2
               : 0;
}

bool ctf_is(struct input *input, unsigned version) {
    while (input->end - input->begin < LOOK_BYTES && !input->ended && input_more(input, NULL) == TSMITH_OK)
        ;
    return version_of(input->window + input->begin, input->window + input->end) == version;
}

// ---- the metadata as text

static const char *unpack(struct ctf *ctf, const char *at, size_t length, size_t *used) {
    while (length) {
        bool big = false;
        const unsigned version = packet_version(at, length, &big);
        const uint32_t content = version ? number_at(at + CONTENT_AT, big) / 8 : 0,
                       total = version ? number_at(at + TOTAL_AT, big) / 8 : 0;
        if (version != ctf->version || content < PACKET_HEAD || content > total || total > length)
            return "the metadata end within a packet, or no packet begins here";
        if (at[SCHEMES_AT] || at[SCHEMES_AT + 1])
            return "the metadata are compressed or encrypted";
        memcpy(ctf->metadata + *used, at + PACKET_HEAD, content - PACKET_HEAD);
        *used += content - PACKET_HEAD;
        at += total;
        length -= total;
    }
    return NULL;
}

static const char *read_text(struct ctf *ctf) {
    struct input *input = &ctf->rows.input;
    tsmith_status status = TSMITH_OK;
    while (!input->ended && (status = input_more(input, NULL)) == TSMITH_OK)
        ;
    const char *at = input->window + input->begin;
    const size_t length = input->end - input->begin;
    size_t used = length;
    if (status == TSMITH_ERROR_LIMIT)
        return "the metadata are larger than 64 MiB";
    ctf->metadata = calloc(length + INPUT_PADDING, 1);
    ctf->rows.failed |= !ctf->metadata;
    if (!ctf->metadata)
        return "out of memory";
    const char *problem = NULL;
    bool big;
    ctf->version = version_of(at, at + length);
    if (packet_version(at, length, &big)) {
        used = 0;
        problem = unpack(ctf, at, length, &used);
    } else {
        memcpy(ctf->metadata, at, length);
    }
    input->begin = input->end;
    return problem ? problem : memchr(ctf->metadata, 0, used) ? "the metadata have a byte of zeros" : NULL;
}

// ---- the streams

static bool add_stream(struct ctf *ctf, const char *name, int fd) {
    struct ctf_stream *stream = ARRAY_PUSH(ctf->streams, ctf->stream_count, ctf->stream_capacity);
    if (stream)
        *stream = (struct ctf_stream){strdup(name), fd};
    if (!stream || !stream->name) {
        if (!stream)
            (void)close(fd);
        ctf->rows.failed = true;
    }
    return !ctf->rows.failed;
}

static int by_name(const void *left, const void *right) {
    return strcmp(((const struct ctf_stream *)left)->name, ((const struct ctf_stream *)right)->name);
}

// Regular files; a folder of indexes and hidden files are none.
static void add_file(struct ctf *ctf, int folder, const char *name) {
    struct stat stat;
    if (name[0] == '.' || strcmp(name, "metadata") == 0 || ctf->stream_count >= CTF_STREAMS_MAX)
        return;
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode)) {
        if (fd < 0)
            ctf_note_loss(ctf, 0, INT64_MIN, INT64_MAX);
        if (fd < 0)
            ledger_note(&ctf->rows.ledger, ctf->rows.dictionary, TSMITH_REASON_CORRUPT, 0, true,
                        "the data stream %.100s cannot be opened", name);
        else
            (void)close(fd);
        return;
    }
    (void)add_stream(ctf, name, fd);
}

static const char *open_streams(struct ctf *ctf) {
    const char *slash = strrchr(ctf->rows.name, '/'), *base = slash ? slash + 1 : ctf->rows.name;
    if (strcmp(base, "metadata") != 0)
        return "is the metadata of a CTF trace, whose streams are next to it: open its folder, or its file "
               "metadata";
    char *path = slash ? strndup(ctf->rows.name, (size_t)(slash + 1 - ctf->rows.name)) : strdup(".");
    DIR *folder = path ? opendir(path) : NULL;
    free(path);
    if (!folder)
        return "the folder of the metadata cannot be read";
    for (struct dirent *entry; (entry = readdir(folder));)
        add_file(ctf, dirfd(folder), entry->d_name);
    (void)closedir(folder);
    if (ctf->stream_count > 1 && !ctf->rows.failed)
        qsort(ctf->streams, ctf->stream_count, sizeof *ctf->streams, by_name);
    return NULL;
}

// ---- the source

static void prepare(struct ctf *ctf) {
    const char *at = NULL, *problem = read_text(ctf);
    if (!problem) {
        problem = ctf->version == 1 ? ctf_read_tsdl(ctf, &at) : ctf_read_metadata(ctf, &at);
        if (problem) {
            rows_source_reject(&ctf->rows, (uint64_t)(at - ctf->metadata), problem);
            return;
        }
    }
    if (!problem && !ctf->stream_count)
        problem = open_streams(ctf);
    if (problem)
        rows_source_reject(&ctf->rows, 0, problem);
}

static void run(struct rows_source *rows) {
    struct ctf *ctf = (struct ctf *)rows;
    if (!ctf->metadata)
        prepare(ctf);
    else
        ctf_read_some(ctf);
    rows->failed |= ctf->texts.failed;
}

static void release(struct rows_source *rows) {
    struct ctf *ctf = (struct ctf *)rows;
    for (size_t i = 0; ctf->streams_by_id.slots && i < ctf->streams_by_id.capacity; i++)
        if (ctf->streams_by_id.slots[i].key && ctf->streams_by_id.slots[i].value)
            table_finish(&((struct ctf_stream_class *)(uintptr_t)ctf->streams_by_id.slots[i].value)->records);
    if (ctf->streams_by_id.has_zero && ctf->streams_by_id.zero)
        table_finish(&((struct ctf_stream_class *)(uintptr_t)ctf->streams_by_id.zero)->records);
    for (size_t i = 0; i < ctf->stream_count; i++) {
        (void)close(ctf->streams[i].fd);
        free(ctf->streams[i].name);
    }
    struct table *const tables[] = {&ctf->aliases, &ctf->clocks,    &ctf->streams_by_id,
                                    &ctf->threads, &ctf->processes, &ctf->fields};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        table_finish(tables[i]);
    texts_finish(&ctf->texts);
    arena_finish(&ctf->arena);
    free(ctf->alias_values);
    free(ctf->metadata);
    free(ctf->slots);
    free(ctf->pending);
    free(ctf->sides);
    free(ctf->losses);
    free(ctf->streams);
    free(ctf->buffer);
    free(ctf->values);
    free(ctf->text);
    free(ctf);
}

tsmith_status ctf_open_stream(struct input *input, char *name, int stream, tsmith_source **out,
                              tsmith_error *error) {
    struct ctf *ctf = calloc(1, sizeof *ctf);
    if (!ctf) {
        if (stream >= 0)
            (void)close(stream);
        return rows_source_no_memory(input, name, error);
    }
    ctf->rows.run = run;
    ctf->rows.release = release;
    if (stream >= 0)
        (void)add_stream(ctf, "stream", stream);
    const char *format = ctf_is(input, 1) ? "ctf1" : "ctf2";
    const tsmith_status status = rows_source_open(&ctf->rows, input, name, format, out, error);
    if (status == TSMITH_OK)
        ctf->texts = (struct texts){.dictionary = ctf->rows.dictionary, .problems = &ctf->problems};
    return status;
}

tsmith_status ctf_open(struct input *input, char *name, tsmith_source **out, tsmith_error *error) {
    return ctf_open_stream(input, name, -1, out, error);
}
