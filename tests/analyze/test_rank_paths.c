// SPDX-License-Identifier: Apache-2.0
// Ranks with a device each, on machines of known links: the slowest link that their communicator cannot avoid, what it can transfer, and
// what the collectives reached, computed here from the times that were made.
#include "support/made_analysis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "tracesmith/ranks.h"
#include "tracesmith/topology.h"

enum { RANKS = 8, COLLECTIVES = 5 };
static const int64_t US = 1000;
static const uint64_t BYTES = 64 << 20;
static const double GB = 1e9;

// NVML has stated the links of the last four: LINK_DOWN and RATE_UNKNOWN are of boards with NVSwitches, PAIRS have links to one other GPU.
enum machine {
    NVSWITCHES,
    XGMI_MESH,
    SOCKETS,
    NVIDIA_SOCKETS,
    NO_TEXT,
    DAMAGED,
    LINK_DOWN,
    RATE_UNKNOWN,
    MESH,
    PAIRS
};
enum { GPU_DOWN = 3, LINKS_UP = 18 };
static const uint64_t LINK_RATE = 26562000000;

struct job {
    enum machine machine;
    uint32_t hosts, given; // hosts share the ranks evenly; traces that are given
    bool is_nameless,
        has_no_plugin; // the device has no identity; no event of the plugin has a kernel's times
    const char *collective;
    bool has_no_rate; // of one adapter
};

// ---- machines of eight GPUs and two adapters of 400 Gbit/s

static void write_gpu(FILE *file, enum machine machine, unsigned index) {
    const unsigned socket = index / 4, host_bridge = machine == XGMI_MESH ? index * 16 : socket * 128;
    fprintf(file, "gpu GPU%u 0000:%02x:00.0 %s %u 0 ", index, 3 + index * 16,
            machine == NVSWITCHES                               ? "10de 2330"
            : machine == NVIDIA_SOCKETS || machine >= LINK_DOWN ? "10de 20f1"
                                                                : "1002 74a1",
            socket);
    if (machine == NVSWITCHES || machine == NVIDIA_SOCKETS || machine >= LINK_DOWN)
        fprintf(file, "GPU-%u", index);
    else
        fprintf(file, "000000000000000%x", index);
    // An idle link: it is slower now than it can be.
    fprintf(file,
            " pci0000:%02x/0/0/0 0000:%02x:%02x.0/16/8000000000/31000000000 "
            "0000:%02x:00.0/16/4000000000/32000000000\n",
            host_bridge, host_bridge, 1 + index, 3 + index * 16);
}

static void write_nvlinks(FILE *file, enum machine machine, unsigned index) {
    if (machine == LINK_DOWN || machine == RATE_UNKNOWN) {
        const unsigned links = LINKS_UP - (machine == LINK_DOWN && index == GPU_DOWN ? 1U : 0U);
        const bool has_rate = machine == LINK_DOWN || index != GPU_DOWN;
        fprintf(file, "nvlinks %u %u %u\nnvlink %u 0000:07:00.0 switch %u 6 %llu %s\n", index, links,
                LINKS_UP - links, index, links, has_rate ? (unsigned long long)(links * LINK_RATE) : 0ULL,
                has_rate ? "link_speed" : "-");
        return;
    }
    fprintf(file, "nvlinks %u %u 0\n", index, machine == MESH ? 2U * (RANKS - 1U) : 4U);
    for (unsigned other = 0; other < RANKS; other++)
        if (machine == MESH ? other != index : other == (index ^ 1))
            fprintf(file, "nvlink %u 0000:%02x:00.0 gpu %u 4 %u common_speed\n", index, 3 + other * 16,
                    machine == MESH ? 2U : 4U, machine == MESH ? 2000000000U : 4000000000U);
}

static char *make_text(const struct job *job) {
    const enum machine machine = job->machine;
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    fputs(machine == DAMAGED ? "0\n" : "1\n", file);
    for (unsigned i = 0; i < RANKS; i++)
        write_gpu(file, machine, i);
    for (unsigned i = 0; i < 2; i++)
        fprintf(file, "nic mlx5_%u 0000:f%u:00.0 15b3 1021 %u %s -\n", i, i, i,
                i && job->has_no_rate ? "0" : "400000000000");
    for (unsigned i = 0; i < RANKS * RANKS && machine == XGMI_MESH; i++)
        if (i / RANKS != i % RANKS)
            fprintf(file, "xgmi %u %u 64000000000\n", i / RANKS, i % RANKS);
    for (unsigned i = 0; i < RANKS && machine >= LINK_DOWN; i++)
        write_nvlinks(file, machine, i);
    if (machine == NVSWITCHES)
        fputs("nvswitches 4\n", file);
    assert_int_equal(fclose(file), 0);
    return text;
}

// Every second device is named by its place.
static void name_device(const struct job *job, unsigned index, char text[64]) {
    if (job->is_nameless)
        text[0] = '\0';
    else if (index % 2)
        (void)snprintf(text, 64, "pci:0000:%02x:00.0", 3 + index * 16);
    else if (job->machine == NVSWITCHES || job->machine == NVIDIA_SOCKETS || job->machine >= LINK_DOWN)
        (void)snprintf(text, 64, "GPU-%u", index);
    else
        (void)snprintf(text, 64, "GPU-000000000000000%x", index);
}

// ---- traces

static int64_t transfer_time(uint64_t number) {
    return (int64_t)(300 + 10 * number) * US;
}

static void set_dynamic(tsmith_dictionary *dictionary, tsmith_batch *batch, const char *name,
                        uint64_t value) {
    const uint32_t field = tsmith_dictionary_field(dictionary, name, TSMITH_TYPE_U64, "");
    assert_int_equal(tsmith_batch_set_dynamic(batch, field, TSMITH_TYPE_U64, value), TSMITH_OK);
}

// Rank r arrives r * 7 us after the first one, the last is there for the transfer alone.
static void add_collective(const struct job *job, tsmith_dictionary *dictionary, tsmith_batch *batch,
                           unsigned rank, uint64_t number) {
    const int64_t start = ((int64_t)number + 1) * 10000 * US + rank * 7 * US,
                  end = ((int64_t)number + 1) * 10000 * US + (RANKS - 1) * 7 * US + transfer_time(number);
    assert_int_not_equal(tsmith_batch_append(batch, TSMITH_KIND_COLLECTIVE, start), UINT32_MAX);
    const struct {
        uint32_t field;
        uint64_t value;
    } values[] = {
        {TSMITH_FIELD_DURATION, (uint64_t)(end - start)},
        {TSMITH_FIELD_NAME, tsmith_dictionary_intern_cstr(dictionary, job->collective)},
        {TSMITH_FIELD_BYTES, BYTES},
        {TSMITH_FIELD_CERTAINTY, job->has_no_plugin ? TSMITH_CERTAINTY_MEASURED : TSMITH_CERTAINTY_BOUNDED}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_int_equal(tsmith_batch_set(batch, values[i].field, values[i].value), TSMITH_OK);
    set_dynamic(dictionary, batch, "comm", 77);
    set_dynamic(dictionary, batch, "sequence", number);
    set_dynamic(dictionary, batch, "ranks", RANKS);
}

struct rank_trace {
    tsmith_dictionary *dictionary;
    tsmith_batch *batches[2];
    size_t given;
};

static tsmith_status next_batch(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct rank_trace *trace = self;
    (void)error;
    if (trace->given == 2)
        return TSMITH_END;
    *out = trace->batches[trace->given++];
    return TSMITH_OK;
}

static const tsmith_dictionary *dictionary_of(void *self) {
    return ((struct rank_trace *)self)->dictionary;
}

static const tsmith_source_ops OPS = {.next = next_batch, .dictionary = dictionary_of};

static void describe(const struct job *job, tsmith_dictionary *dictionary, unsigned rank) {
    char clock[32];
    (void)snprintf(clock, sizeof clock, "raw:%u", rank * job->hosts / RANKS);
    tsmith_dictionary_set_attribute(dictionary, TSMITH_CLOCK_ATTRIBUTE, clock);
    (void)tsmith_dictionary_add_rank(dictionary, &(tsmith_rank){.rank = rank + 1, .world = RANKS});
    if (job->machine == NO_TEXT)
        return;
    char *text = make_text(job);
    tsmith_dictionary_set_attribute(dictionary, TSMITH_TOPOLOGY_ATTRIBUTE, text);
    free(text);
}

static void add_rank(const struct job *job, tsmith_ranks *ranks, unsigned rank) {
    struct rank_trace trace = {0};
    tsmith_source *source;
    char label[32], identity[64];
    (void)snprintf(label, sizeof label, "rank%u", rank);
    assert_int_equal(tsmith_dictionary_create(&trace.dictionary), TSMITH_OK);
    describe(job, trace.dictionary, rank);
    name_device(job, rank % (RANKS / job->hosts), identity);
    const uint32_t device = tsmith_dictionary_add_device(
        trace.dictionary,
        &(tsmith_device){.identity =
                             *identity ? tsmith_dictionary_intern_cstr(trace.dictionary, identity) : 0});
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tsmith_batch_create(&trace.batches[i]), TSMITH_OK);
        tsmith_batch_reset(
            trace.batches[i],
            tsmith_dictionary_add_track(trace.dictionary,
                                        &(tsmith_track){.kind = i ? TSMITH_TRACK_CUSTOM : TSMITH_TRACK_QUEUE,
                                                        .device = i ? 0 : device}));
    }
    assert_int_not_equal(tsmith_batch_append(trace.batches[0], TSMITH_KIND_KERNEL, 5), UINT32_MAX);
    assert_int_equal(tsmith_batch_set(trace.batches[0], TSMITH_FIELD_DURATION, 100), TSMITH_OK);
    for (uint64_t i = 0; i < COLLECTIVES; i++)
        add_collective(job, trace.dictionary, trace.batches[1], rank, i);
    for (int i = 0; i < 2; i++)
        assert_int_equal(tsmith_batch_finish(trace.batches[i]), TSMITH_OK);
    assert_int_equal(tsmith_source_create(&OPS, &trace, &source), TSMITH_OK);
    assert_int_equal(tsmith_ranks_add(ranks, label, source, NULL), TSMITH_OK);
    tsmith_source_destroy(source);
    for (int i = 0; i < 2; i++)
        tsmith_batch_destroy(trace.batches[i]);
    tsmith_dictionary_destroy(trace.dictionary);
}

// ---- the answer

struct answer {
    char link[64], note[256];
    double possible, achieved, fastest; // 0: unknown
    int64_t collectives, hosts, from, to;
    size_t notes;
};

static double number_of(const tsmith_report_table *table, const char *column) {
    const tsmith_cell *cell = made_cell(table, 0, column);
    return cell->known ? cell->value.number : 0;
}

static int64_t integer_of(const tsmith_report_table *table, const char *column) {
    const tsmith_cell *cell = made_cell(table, 0, column);
    return cell->known ? cell->value.integer : -1;
}

static struct answer read_answer(tsmith_ranks *ranks) {
    struct answer answer = {0};
    assert_int_equal(tsmith_ranks_finish(ranks, NULL), TSMITH_OK);
    const tsmith_report *report = tsmith_ranks_report(ranks);
    for (size_t i = 0; i < report->note_count; i++)
        if (strstr(report->notes[i], "that its slowest link")) {
            answer.notes++;
            (void)snprintf(answer.note, sizeof answer.note, "%s", report->notes[i]);
        }
    for (size_t i = 0; i < report->table_count; i++) {
        const tsmith_report_table *table = &report->tables[i];
        if (strcmp(table->name, "communicators") != 0)
            continue;
        answer.collectives = -1;
        if (!table->row_count)
            continue;
        assert_int_equal(table->row_count, 1);
        (void)snprintf(answer.link, sizeof answer.link, "%s", made_cell(table, 0, "link")->value.text);
        answer.possible = number_of(table, "possible");
        answer.achieved = number_of(table, "achieved");
        answer.fastest = number_of(table, "fastest");
        answer.collectives = integer_of(table, "collectives");
        answer.hosts = integer_of(table, "hosts");
        answer.from = integer_of(table, "from");
        answer.to = integer_of(table, "to");
        assert_int_equal(integer_of(table, "ranks"), RANKS);
    }
    tsmith_ranks_destroy(ranks);
    return answer;
}

static tsmith_status keep_bytes(void *context, const void *bytes, size_t size) {
    return fwrite(bytes, 1, size, context) == size ? TSMITH_OK : TSMITH_ERROR_IO;
}

// As traces, and through a partial: the same answer.
static struct answer ask(const struct job *job) {
    tsmith_ranks *ranks, *copy;
    char *bytes;
    size_t size;
    assert_int_equal(tsmith_ranks_create(&ranks, NULL), TSMITH_OK);
    assert_int_equal(tsmith_ranks_create(&copy, NULL), TSMITH_OK);
    for (unsigned i = 0; i < job->given; i++)
        add_rank(job, ranks, i);
    FILE *file = open_memstream(&bytes, &size);
    assert_non_null(file);
    assert_int_equal(
        tsmith_ranks_write_partial(ranks, &(tsmith_output){.write = keep_bytes, .context = file}, NULL),
        TSMITH_OK);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(tsmith_ranks_add_partial(copy, "partial", bytes, size, NULL), TSMITH_OK);
    free(bytes);
    const struct answer answer = read_answer(ranks), other = read_answer(copy);
    assert_memory_equal(&answer, &other, sizeof answer);
    return answer;
}

// Partials with right checksums and wrong contents are refused or answered.
static void wrong_partials_do_no_harm(void **unused) {
    (void)unused;
    enum { HEAD = 24, ENTRY = 8 };
    const struct job job = {XGMI_MESH, 2, 3, false, false, "AllReduce", false};
    tsmith_ranks *ranks;
    char *bytes;
    size_t size;
    assert_int_equal(tsmith_ranks_create(&ranks, NULL), TSMITH_OK);
    for (unsigned i = 0; i < job.given; i++)
        add_rank(&job, ranks, i);
    FILE *file = open_memstream(&bytes, &size);
    assert_non_null(file);
    assert_int_equal(
        tsmith_ranks_write_partial(ranks, &(tsmith_output){.write = keep_bytes, .context = file}, NULL),
        TSMITH_OK);
    assert_int_equal(fclose(file), 0);
    tsmith_ranks_destroy(ranks);
    struct random random = {5};
    for (int i = 0; i < 1000; i++) {
        uint8_t *copy = malloc(size), *entry = copy + HEAD;
        assert_non_null(copy);
        memcpy(copy, bytes, size);
        const uint32_t length = bytes_get_u32(entry);
        for (uint64_t k = 1 + random_below(&random, 3); k; k--)
            entry[ENTRY + random_below(&random, length)] = (uint8_t)random_next(&random);
        bytes_put_u32(entry + 4, crc32c(0, entry + ENTRY, length));
        assert_int_equal(tsmith_ranks_create(&ranks, NULL), TSMITH_OK);
        if (tsmith_ranks_add_partial(ranks, "partial", copy, size, NULL) == TSMITH_OK)
            assert_int_equal(tsmith_ranks_finish(ranks, NULL), TSMITH_OK);
        tsmith_ranks_destroy(ranks);
        free(copy);
    }
    free(bytes);
}

static double mean_rate(double share) {
    double time = 0;
    for (uint64_t i = 0; i < COLLECTIVES; i++)
        time += (double)transfer_time(i) * 1e-9;
    return share * (double)BYTES * COLLECTIVES / time;
}

static bool is_near(double value, double wanted) {
    return fabs(value - wanted) <= 1e-9 * wanted;
}

static void links_are_named_and_compared(void **unused) {
    (void)unused;
    const struct {
        struct job job;
        const char *link;
        double possible;
    } cases[] = {
        {{NVSWITCHES, 1, RANKS, false, false, "AllReduce", false}, "NVSWITCH", 450 * GB},
        {{XGMI_MESH, 1, RANKS, false, false, "AllReduce", false}, "XGMI", 7 * 64 * GB},
        {{SOCKETS, 1, RANKS, false, false, "AllReduce", false}, "SYS", 31 * GB},
        {{NVSWITCHES, 2, RANKS, false, false, "AllReduce", false}, "network", 2 * 50 * GB},
        {{LINK_DOWN, 1, RANKS, false, false, "AllReduce", false}, "NVSWITCH", 17 * 26.562 * GB},
        {{MESH, 1, RANKS, false, false, "AllReduce", false}, "NVLINK", 7 * 2 * GB},
        {{PAIRS, 1, RANKS, false, false, "AllReduce", false}, "SYS", 31 * GB},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct answer answer = ask(&cases[i].job);
        assert_string_equal(answer.link, cases[i].link);
        assert_true(is_near(answer.possible, cases[i].possible));
        assert_true(is_near(answer.achieved, mean_rate(2 * 7.0 / 8)));
        assert_true(is_near(answer.fastest, 2 * 7.0 / 8 * (double)BYTES / ((double)transfer_time(0) * 1e-9)));
        assert_int_equal(answer.collectives, COLLECTIVES);
        assert_int_equal(answer.hosts, cases[i].job.hosts);
        assert_int_equal(answer.notes, 1);
        assert_non_null(strstr(answer.note, cases[i].link));
        if (cases[i].job.machine == LINK_DOWN) // the GPU with the link that is down
            assert_true(answer.from == GPU_DOWN || answer.to == GPU_DOWN);
        if (strcmp(cases[i].link, "SYS") == 0 ||
            strcmp(cases[i].link, "network") == 0) // between the two halves
            assert_true((answer.from < RANKS / 2) != (answer.to < RANKS / 2));
    }
}

static void what_is_not_known_is_not_said(void **unused) {
    (void)unused;
    const struct {
        struct job job;
        const char *link;
        int64_t collectives;
    } cases[] = {
        {{NVIDIA_SOCKETS, 1, RANKS, false, false, "AllReduce", false}, "SYS or NVLink", COLLECTIVES},
        {{NO_TEXT, 1, RANKS, false, false, "AllReduce", false}, "unknown", COLLECTIVES},
        {{DAMAGED, 1, RANKS, false, false, "AllReduce", false}, "unknown", COLLECTIVES},
        {{NVSWITCHES, 1, RANKS, true, false, "AllReduce", false}, "unknown", COLLECTIVES},
        {{NVSWITCHES, 1, RANKS - 1, false, false, "AllReduce", false}, "unknown", 0},
        {{NVSWITCHES, 1, RANKS, false, true, "AllReduce", false}, "", -1},
        {{NVSWITCHES, 2, RANKS, false, false, "AllReduce", true}, "network", COLLECTIVES},
        {{RATE_UNKNOWN, 1, RANKS, false, false, "AllReduce", false}, "NVSWITCH", COLLECTIVES},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct answer answer = ask(&cases[i].job);
        assert_string_equal(answer.link, cases[i].link);
        assert_true(answer.possible == 0 && answer.notes == 0);
        assert_int_equal(answer.collectives, cases[i].collectives);
        assert_true(is_near(answer.achieved, cases[i].collectives > 0 ? mean_rate(2 * 7.0 / 8) : 0));
    }
}

// What nccl-tests call the bus bandwidth.
static void collectives_move_their_share(void **unused) {
    (void)unused;
    static const struct {
        const char *name;
        double share; // 0: unknown
    } kinds[] = {{"AllGather", 7}, {"ReduceScatter", 7}, {"Broadcast", 1}, {"Reduce", 1}, {"AlltoAll", 0}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct job job = {XGMI_MESH, 1, RANKS, false, false, kinds[i].name, false};
        const struct answer answer = ask(&job);
        assert_true(is_near(answer.achieved, mean_rate(kinds[i].share)));
        assert_int_equal(answer.notes, kinds[i].share > 0);
        assert_int_equal(answer.collectives, COLLECTIVES);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_are_named_and_compared),
        cmocka_unit_test(what_is_not_known_is_not_said),
        cmocka_unit_test(collectives_move_their_share),
        cmocka_unit_test(wrong_partials_do_no_harm),
    };
    return cmocka_run_group_tests_name("rank_paths", tests, NULL, NULL);
}
