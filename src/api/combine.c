// SPDX-License-Identifier: Apache-2.0
// Makes one trace of the traces of several processes or hosts. `tracesmith merge` calls it.
//
// Invariants: the order of the inputs decides nothing, because they are sorted by what they contain. Entries of two inputs stay two
// entries, except devices of one machine that have one identity. Times are copied. What relates the trace clocks of two
// inputs is in the table of parts.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/plural.h"
#include "base/sized.h"
#include "base/status.h"
#include "event/merge.h"
#include "state/host_claims.h"
#include "tracesmith/merge.h"
#include "tracesmith/trace.h"

// Up to so many inputs are read side by side, in the order of time; of more, one after the other, so that memory does not grow
// with their number.
enum { SIDE_BY_SIDE = 32 };
// Comparisons of two trace clocks in the table: at the moments at which host_clocks.h computes them.
enum { CORRECTIONS = 256 };

struct input {
    const char *path;
    struct stat file;
    tsmith_trace *trace;
    const tsmith_dictionary *from;
    tsmith_sbt_summary summary;
    tsmith_rank rank;
    tsmith_string clock;       // names its trace clock; "": unknown
    bool has_wall;             // the clock was compared with the wall clock
    int64_t wall;              // wall clock minus trace clock at the first comparison
    struct host_claims claims; // of its trace clock
    uint32_t number;           // of its trace clock among those of all inputs
    struct merge *merge;
    tsmith_part part;
    uint32_t first_device;
    tsmith_source *source;
    size_t frame, frame_count; // the next frame that the source yields
    bool is_over;
};

struct combining {
    struct input *inputs;
    size_t count;
    tsmith_dictionary *into;
    tsmith_sink *sink;
    tsmith_batch *loss;
    struct host_clocks *clocks;
    tsmith_combine_result result;
};

static tsmith_status no_memory(tsmith_error *error) {
    return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while merging traces");
}

static const char *text_of(const struct input *input, uint32_t string) {
    return tsmith_dictionary_string(input->from, string).bytes;
}

// ---- inputs

static tsmith_status refuse_repeated(const struct combining *combining, const struct input *input,
                                     tsmith_error *error) {
    for (const struct input *other = combining->inputs; other < input; other++)
        if (strcmp(other->path, input->path) == 0 ||
            (S_ISREG(input->file.st_mode) && other->file.st_ino == input->file.st_ino &&
             other->file.st_dev == input->file.st_dev))
            return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "%s is given twice%s%s", other->path,
                              strcmp(other->path, input->path) ? ", also as " : "",
                              strcmp(other->path, input->path) ? input->path : "");
    return TSMITH_OK;
}

static void find_wall(struct input *input) {
    for (uint32_t id = 1; !input->has_wall && id < tsmith_dictionary_clock_pair_count(input->from); id++) {
        const tsmith_clock_pair *pair = tsmith_dictionary_clock_pair(input->from, id);
        const tsmith_clock *clock = tsmith_dictionary_clock(input->from, pair->clock);
        if (!clock || strcmp(text_of(input, clock->name), "CLOCK_REALTIME") != 0)
            continue;
        input->part.wall_clock = pair->clock;
        input->has_wall = !__builtin_sub_overflow(pair->clock_time, pair->trace_time, &input->wall);
    }
}

static tsmith_status open_input(struct combining *combining, struct input *input, const char *path,
                                tsmith_error *error) {
    input->path = path;
    if (stat(path, &input->file) != 0)
        input->file = (struct stat){0};
    tsmith_status status = refuse_repeated(combining, input, error);
    if (status == TSMITH_OK)
        status = tsmith_trace_open(path, NULL, &input->trace, error);
    if (status == TSMITH_OK)
        status = tsmith_sbt_dictionary(tsmith_trace_sbt(input->trace), &input->from, error);
    input->summary.size = sizeof input->summary;
    if (status == TSMITH_OK)
        status = tsmith_sbt_summarize(tsmith_trace_sbt(input->trace), &input->summary, error);
    if (status != TSMITH_OK)
        return status;
    if (tsmith_dictionary_part_count(input->from) > 1)
        return status_set(error, TSMITH_ERROR_UNSUPPORTED,
                          "%s is itself merged of several traces: merge those traces instead", path);
    input->rank = tsmith_dictionary_find_rank(input->from, 0);
    input->clock = tsmith_dictionary_find_attribute(input->from, TSMITH_CLOCK_ATTRIBUTE);
    input->clock = input->clock.bytes ? input->clock : (tsmith_string){"", 0};
    find_wall(input);
    if (!host_claims_read(&input->claims, input->from))
        return no_memory(error);
    input->frame_count = tsmith_sbt_event_frame_count(tsmith_trace_sbt(input->trace));
    return TSMITH_OK;
}

static int compare_u64(uint64_t a, uint64_t b) {
    return a < b ? -1 : a > b;
}

// By rank, those without one last; then by host, first process and name.
static int compare_inputs(const void *left, const void *right) {
    static const tsmith_process none;
    const struct input *a = left, *b = right;
    const tsmith_process *first = tsmith_dictionary_process(a->from, 1),
                         *second = tsmith_dictionary_process(b->from, 1);
    first = first ? first : &none;
    second = second ? second : &none;
    int order = compare_u64(a->rank.rank - UINT32_C(1), b->rank.rank - UINT32_C(1));
    order = order ? order : strcmp(text_of(a, first->host), text_of(b, second->host));
    order = order ? order : compare_u64(first->pid, second->pid);
    order = order ? order : compare_u64((uint64_t)first->start, (uint64_t)second->start);
    return order ? order : strcmp(a->path, b->path);
}

// ---- the dictionary

// Relates the trace clocks of all inputs by what they state of each other.
static bool compare_clocks(struct combining *combining) {
    const struct host_claims **claims = calloc(combining->count, sizeof *claims);
    uint32_t *numbers = calloc(combining->count, sizeof *numbers);
    for (size_t i = 0; claims && i < combining->count; i++)
        claims[i] = &combining->inputs[i].claims;
    if (claims && numbers)
        combining->clocks = host_claims_relate(claims, combining->count, numbers);
    for (size_t i = 0; combining->clocks && i < combining->count; i++)
        combining->inputs[i].number = numbers[i];
    free(claims);
    free(numbers);
    const tsmith_sbt_summary *first = &combining->inputs[0].summary;
    size_t contradictions = 0;
    const bool done =
        combining->clocks && host_clocks_solve(combining->clocks, first->first_start, first->last_end);
    if (done)
        host_clocks_contradictions(combining->clocks, &contradictions);
    combining->result.contradictions = contradictions;
    return done;
}

// The middle of an interval that may be long.
static int64_t middle_of(const struct host_offset *offset) {
    return offset->low / 2 + offset->high / 2;
}

// How the trace clock of the first input relates to this one's during the run: as comparisons of clocks, and as one offset for the
// whole run with an error that includes the drift.
static bool add_correction(struct combining *combining, const struct input *input, tsmith_part *part) {
    const tsmith_sbt_summary *run = &combining->inputs[0].summary;
    const double length = (double)run->last_end - (double)run->first_start;
    const struct host_offset half =
        host_clocks_offset(combining->clocks, input->number, run->first_start + (int64_t)(length / 2));
    const uint32_t clock = tsmith_dictionary_add_clock(
        combining->into,
        &(tsmith_clock){.name = tsmith_dictionary_intern_cstr(combining->into, TSMITH_CLOCK_PART),
                        .process = part->process_count ? part->first_process : 0});
    int64_t error = 0;
    for (int i = 0; i <= CORRECTIONS; i++) {
        const int64_t at = run->first_start + (int64_t)(length * i / CORRECTIONS);
        const struct host_offset offset = host_clocks_offset(combining->clocks, input->number, at);
        tsmith_clock_pair pair = {
            .clock = clock, .clock_time = at, .error = offset.high - middle_of(&offset) + 1};
        if (!offset.is_known || !half.is_known ||
            __builtin_add_overflow(at, middle_of(&offset), &pair.trace_time))
            return false;
        (void)tsmith_dictionary_add_clock_pair(combining->into, &pair);
        const int64_t above = offset.high - middle_of(&half), below = middle_of(&half) - offset.low;
        error = above > error ? above : error;
        error = below > error ? below : error;
    }
    part->offset = -middle_of(&half);
    part->error = error;
    return true;
}

// What is known of the input's trace clock and that of the first one.
static void relate_clocks(struct combining *combining, struct input *input) {
    const struct input *first = combining->inputs;
    tsmith_part *part = &input->part;
    part->error = -1;
    if (input == first || (input->clock.length && input->clock.length == first->clock.length &&
                           memcmp(input->clock.bytes, first->clock.bytes, first->clock.length) == 0)) {
        part->relation = TSMITH_RELATION_SAME_CLOCK;
        part->error = 0;
    } else if (host_clocks_is_measured(combining->clocks, input->number) &&
               add_correction(combining, input, part)) {
        part->relation = TSMITH_RELATION_COMPARED;
    } else if (input->has_wall && first->has_wall &&
               !__builtin_sub_overflow(input->wall, first->wall, &part->offset)) {
        part->relation = TSMITH_RELATION_WALL_CLOCK;
    }
}

static bool is_one_machine(const struct input *a, const struct input *b) {
    return a->clock.length && a->clock.length == b->clock.length &&
           memcmp(a->clock.bytes, b->clock.bytes, a->clock.length) == 0;
}

// Devices of earlier inputs that are on the same machine.
static bool share_devices(const struct combining *combining, const struct input *input) {
    bool done = true;
    for (const struct input *other = combining->inputs; done && other < input; other++)
        for (uint32_t id = other->first_device; is_one_machine(other, input) && id < other[1].first_device;
             id++)
            done = done && merge_share_device(input->merge, id);
    return done;
}

static void add_ranks(struct combining *combining, const struct input *input) {
    for (uint32_t id = 0; id < input->part.process_count; id++) {
        tsmith_rank rank = tsmith_dictionary_find_rank(input->from, id + 1);
        const tsmith_string launcher = tsmith_dictionary_string(input->from, rank.launcher),
                            job = tsmith_dictionary_string(input->from, rank.job);
        if (!rank.rank)
            continue;
        rank.process = input->part.first_process + id;
        rank.launcher = tsmith_dictionary_intern(combining->into, launcher.bytes, launcher.length);
        rank.job = tsmith_dictionary_intern(combining->into, job.bytes, job.length);
        (void)tsmith_dictionary_add_rank(combining->into, &rank); // a failure is noticed at the end
    }
}

static tsmith_status take_dictionary(struct combining *combining, struct input *input, tsmith_error *error) {
    tsmith_part *part = &input->part;
    const tsmith_string host = tsmith_dictionary_find_attribute(input->from, "host");
    part->first_process = tsmith_dictionary_process_count(combining->into);
    part->process_count = tsmith_dictionary_process_count(input->from) - 1;
    input->first_device = tsmith_dictionary_device_count(combining->into);
    // The clock's number there: those of this input follow those of the ones before.
    part->wall_clock += part->wall_clock ? tsmith_dictionary_clock_count(combining->into) - 1 : 0;
    input->merge = merge_create(combining->into, MERGE_PARTS);
    if (!input->merge || !share_devices(combining, input) ||
        merge_take(input->merge, input->from) != TSMITH_OK)
        return no_memory(error);
    relate_clocks(combining, input);
    part->name = tsmith_dictionary_intern_cstr(combining->into, input->path);
    part->host = host.bytes ? tsmith_dictionary_intern(combining->into, host.bytes, host.length) : 0;
    (void)tsmith_dictionary_add_part(combining->into, part);
    add_ranks(combining, input);
    return tsmith_dictionary_failed(combining->into) ? no_memory(error) : TSMITH_OK;
}

// ---- facts about the whole trace

static bool starts_with(tsmith_string text, const char *start) {
    return text.length >= strlen(start) && memcmp(text.bytes, start, strlen(start)) == 0;
}

static bool is_common(const struct combining *combining, const char *key, tsmith_string value) {
    for (size_t i = 0; i < combining->count; i++) {
        const tsmith_string other = tsmith_dictionary_find_attribute(combining->inputs[i].from, key);
        if (!other.bytes || other.length != value.length ||
            memcmp(other.bytes, value.bytes, value.length) != 0)
            return false;
    }
    return true;
}

static bool set_fact(struct combining *combining, const char *prefix, size_t number, const char *key,
                     const char *path, tsmith_string value) {
    char *name = NULL, *text = NULL;
    bool done = asprintf(&name, "%spart.%zu.%s", prefix, number, key) >= 0;
    if (done && path)
        done = asprintf(&text, "%s: %.*s", path, (int)value.length, value.bytes) >= 0;
    if (done) {
        const tsmith_attribute attribute = {
            tsmith_dictionary_intern_cstr(combining->into, name),
            text ? tsmith_dictionary_intern_cstr(combining->into, text)
                 : tsmith_dictionary_intern(combining->into, value.bytes, value.length)};
        done = tsmith_dictionary_add_attribute(combining->into, &attribute) != 0;
    }
    free(name);
    free(text);
    return done;
}

// One that all inputs have alike keeps its name; others get the number of the part before theirs.
static bool add_fact(struct combining *combining, size_t at, const char *key, tsmith_string value) {
    static const char NOTICE[] = "notice.";
    const struct input *input = &combining->inputs[at];
    const tsmith_string name = {key, strlen(key)};
    if (strcmp(key, "session.directory") == 0 || strcmp(key, "unrecorded.processes") == 0 ||
        (starts_with(name, "device.") && strstr(key, ".uuid")))
        return true; // gone; added up; event/merge.c has it
    if (starts_with(name, NOTICE))
        return set_fact(combining, NOTICE, at + 1, key + sizeof NOTICE - 1, input->path, value);
    if (!is_common(combining, key, value))
        return set_fact(combining, "", at + 1, key, NULL, value);
    if (at == 0)
        tsmith_dictionary_set_attribute(combining->into, key, value.bytes);
    return true;
}

static tsmith_status add_facts(struct combining *combining, tsmith_error *error) {
    uint64_t unrecorded = 0;
    bool done = true;
    for (size_t i = 0; i < combining->count; i++) {
        const tsmith_dictionary *from = combining->inputs[i].from;
        for (uint32_t id = 1; done && id < tsmith_dictionary_attribute_count(from); id++) {
            const tsmith_attribute *attribute = tsmith_dictionary_attribute(from, id);
            const tsmith_string value = tsmith_dictionary_string(from, attribute->value);
            const char *key = text_of(&combining->inputs[i], attribute->key);
            // Of several with one key the last holds.
            if (tsmith_dictionary_find_attribute(from, key).bytes == value.bytes)
                done = add_fact(combining, i, key, value);
        }
        const tsmith_string missing = tsmith_dictionary_find_attribute(from, "unrecorded.processes");
        unrecorded += missing.bytes ? strtoull(missing.bytes, NULL, 10) : 0;
    }
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)unrecorded);
    if (unrecorded)
        tsmith_dictionary_set_attribute(combining->into, "unrecorded.processes", text);
    return done && !tsmith_dictionary_failed(combining->into) ? TSMITH_OK : no_memory(error);
}

// ---- events

// Where the input goes on, as far as it is known on the clock of the first.
static int64_t next_start(struct input *input) {
    tsmith_sbt_event_frame frame = {.size = sizeof frame};
    int64_t start;
    while (input->frame < input->frame_count &&
           !tsmith_sbt_event_frame_at(tsmith_trace_sbt(input->trace), input->frame, &frame))
        input->frame++;
    if (input->frame == input->frame_count)
        return INT64_MAX;
    return __builtin_add_overflow(frame.first_start, input->part.offset, &start) ? frame.first_start : start;
}

static struct input *next_input(struct combining *combining) {
    struct input *found = NULL;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < combining->count; i++) {
        struct input *input = &combining->inputs[i];
        if (input->is_over)
            continue;
        const int64_t start = combining->count > SIDE_BY_SIDE ? INT64_MAX : next_start(input);
        if (!found || start < least) {
            found = input;
            least = start;
        }
    }
    return found;
}

// Damage that was found: an event of the ledger, over the time of the whole input, since that of lost events is unknown.
static tsmith_status write_loss(struct combining *combining, struct input *input, tsmith_error *error) {
    tsmith_sbt_summary *found = &input->summary;
    char text[256];
    tsmith_status status = tsmith_sbt_summarize(tsmith_trace_sbt(input->trace), found, error);
    if (status != TSMITH_OK || found->complete)
        return status;
    const tsmith_track track = {.kind = TSMITH_TRACK_LOSS,
                                .name = tsmith_dictionary_intern_cstr(combining->into, "merge"),
                                .process = input->part.process_count ? input->part.first_process : 0};
    snprintf(text, sizeof text, "the trace %.160s %s", input->path,
             found->damaged_frames ? "was damaged: only its undamaged parts were merged"
                                   : "ended early: only what was there was merged");
    tsmith_batch_reset(combining->loss, tsmith_dictionary_add_track(combining->into, &track));
    const bool made =
        tsmith_batch_append(combining->loss, TSMITH_KIND_LOSS, found->first_start) != UINT32_MAX &&
        tsmith_batch_set(combining->loss, TSMITH_FIELD_DURATION,
                         (uint64_t)found->last_end - (uint64_t)found->first_start) == TSMITH_OK &&
        tsmith_batch_set(combining->loss, TSMITH_FIELD_REASON, TSMITH_REASON_CORRUPT) == TSMITH_OK &&
        tsmith_batch_set(combining->loss, TSMITH_FIELD_TEXT,
                         tsmith_dictionary_intern_cstr(combining->into, text)) == TSMITH_OK &&
        tsmith_batch_finish(combining->loss) == TSMITH_OK && !tsmith_dictionary_failed(combining->into);
    return made ? tsmith_sink_write(combining->sink, combining->into, combining->loss, error)
                : no_memory(error);
}

static tsmith_status end_input(struct combining *combining, struct input *input, tsmith_error *error) {
    input->is_over = true;
    tsmith_source_destroy(input->source);
    input->source = NULL;
    const tsmith_status status = write_loss(combining, input, error);
    merge_destroy(input->merge);
    input->merge = NULL;
    return status;
}

static tsmith_status copy_batch(struct combining *combining, struct input *input, tsmith_error *error) {
    const tsmith_batch *batch, *moved;
    tsmith_status status = TSMITH_OK;
    if (!input->source)
        status = tsmith_sbt_scan(tsmith_trace_sbt(input->trace), NULL, &input->source, error);
    if (status == TSMITH_OK)
        status = tsmith_source_next(input->source, &batch, error);
    input->frame++;
    if (status == TSMITH_END || status == TSMITH_TRUNCATED)
        return end_input(combining, input, error);
    if (status != TSMITH_OK)
        return status == TSMITH_AGAIN ? TSMITH_OK : status;
    if (merge_batch(input->merge, batch, &moved) != TSMITH_OK)
        return no_memory(error);
    combining->result.events += tsmith_batch_count(moved);
    return tsmith_sink_write(combining->sink, combining->into, moved, error);
}

static tsmith_status write_all(struct combining *combining, const char *output,
                               const tsmith_sbt_write_options *options, tsmith_error *error) {
    tsmith_status status = TSMITH_OK;
    if (tsmith_dictionary_create(&combining->into) != TSMITH_OK ||
        tsmith_batch_create(&combining->loss) != TSMITH_OK || !compare_clocks(combining))
        return no_memory(error);
    for (size_t i = 0; status == TSMITH_OK && i < combining->count; i++)
        status = take_dictionary(combining, &combining->inputs[i], error);
    if (status == TSMITH_OK)
        status = add_facts(combining, error);
    if (status == TSMITH_OK)
        status = tsmith_sbt_writer_open(output, options, &combining->sink, error);
    for (struct input *input; status == TSMITH_OK && (input = next_input(combining)) != NULL;)
        status = copy_batch(combining, input, error);
    return status == TSMITH_OK ? tsmith_sink_finish(combining->sink, combining->into, error) : status;
}

// TRUNCATED, and why, when a trace is not whole.
static tsmith_status check_whole(struct combining *combining, tsmith_error *error) {
    tsmith_error why;
    const char *first = NULL;
    for (size_t i = 0; i < combining->count; i++) {
        const struct input *input = &combining->inputs[i];
        if (input->summary.complete && tsmith_trace_ended(input->trace, &why) == TSMITH_OK)
            continue;
        first = first ? first : input->path;
        combining->result.damaged++;
    }
    if (!first)
        return TSMITH_OK;
    return status_set(
        error, TSMITH_TRUNCATED,
        "%llu of %zu traces %s early or %s damaged: only the readable part was merged (the first is %s)",
        (unsigned long long)combining->result.damaged, combining->count,
        plural(combining->result.damaged, "ends", "end"), plural(combining->result.damaged, "is", "are"),
        first);
}

static void count_relations(struct combining *combining) {
    for (size_t i = 0; i < combining->count; i++) {
        combining->result.by_wall_clock += combining->inputs[i].part.relation == TSMITH_RELATION_WALL_CLOCK;
        combining->result.unrelated += combining->inputs[i].part.relation == TSMITH_RELATION_UNKNOWN;
        combining->result.compared += combining->inputs[i].part.relation == TSMITH_RELATION_COMPARED;
    }
}

tsmith_status tsmith_traces_combine(const char *const *paths, size_t count, const char *output,
                                    const tsmith_sbt_write_options *options, tsmith_combine_result *result,
                                    tsmith_error *error) {
    struct combining combining = {.inputs = calloc(count + 1, sizeof *combining.inputs)};
    tsmith_status status = combining.inputs ? TSMITH_OK : no_memory(error);
    combining.result.size = sizeof combining.result;
    if (status == TSMITH_OK && count < 2)
        status =
            status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "at least two traces are needed for a merge");
    for (; status == TSMITH_OK && combining.count < count; combining.count++)
        status = open_input(&combining, &combining.inputs[combining.count], paths[combining.count], error);
    if (status == TSMITH_OK) {
        qsort(combining.inputs, count, sizeof *combining.inputs, compare_inputs);
        status = write_all(&combining, output, options, error);
    }
    if (status == TSMITH_OK) {
        status = check_whole(&combining, error);
        count_relations(&combining);
    }
    if (status >= 0)
        sized_give(tsmith_combine_result, &combining.result, result);
    tsmith_sink_destroy(combining.sink);
    for (size_t i = 0; combining.inputs && i <= count; i++) {
        host_claims_finish(&combining.inputs[i].claims);
        tsmith_source_destroy(combining.inputs[i].source);
        merge_destroy(combining.inputs[i].merge);
        tsmith_trace_close(combining.inputs[i].trace);
    }
    free(combining.inputs);
    host_clocks_destroy(combining.clocks);
    tsmith_batch_destroy(combining.loss);
    tsmith_dictionary_destroy(combining.into);
    return status;
}
