// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline: develops a sequence of raw night pictures on OpenCL devices, checks the result
// against the host, and prints its counts. A small but complete OpenCL program to profile:
//
//   tracesmith profile -- image_pipeline
//
// Its own counts (launches per kernel, transfers, bytes) are printed so that they can be compared with
// the trace. Files: scene.c makes the input, kernels.c is the device code, pipeline.c drives the
// devices, reference.c is the same in plain C.

#include "pipeline.h"
#include "reference.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_NO_DEVICE = 4 };

struct options {
    unsigned frames;
    struct size size;
    unsigned devices;
    unsigned verify_every; // 0: never
    const char *output;    // NULL: no picture
    bool json;
};

struct result {
    unsigned verified;
    uint64_t wrong_pixels;
    uint64_t checksum;
    double open_seconds;
    double frames_seconds;
};

static const char usage[] =
    "usage: image_pipeline [options]\n"
    "  -n, --frames N       develop N frames (default 96)\n"
    "  -s, --size WxH       of W by H pixels (default 1024x576)\n"
    "      --devices N      on at most N devices of the platform (default 2)\n"
    "      --verify N       check every Nth frame on the host, 0 for none (default 8)\n"
    "  -o, --output FILE    write the last picture as a PPM\n"
    "      --json           print the counts as JSON\n"
    "  -h, --help           print this\n";

// ---- options ----

static unsigned number(const char *option, const char *word, unsigned low, unsigned high) {
    char *end = NULL;
    errno = 0;
    const unsigned long value = strtoul(word, &end, 10);
    if (end == word || *end != '\0' || errno != 0 || word[0] == '-' || value < low || value > high) {
        fprintf(stderr, "image_pipeline: %s takes a number from %u to %u, not '%s'\n", option, low, high,
                word);
        exit(EXIT_USAGE);
    }
    return (unsigned)value;
}

static struct size parse_size(const char *word) {
    struct size size = {0, 0};
    char rest = 0;
    if (sscanf(word, "%5ux%5u%c", &size.width, &size.height, &rest) != 2 || size.width < 16 ||
        size.height < 16 || size.width > 8192 || size.height > 8192) {
        fprintf(stderr, "image_pipeline: --size takes WIDTHxHEIGHT, each from 16 to 8192, not '%s'\n", word);
        exit(EXIT_USAGE);
    }
    return size;
}

static struct options parse(int argc, char **argv) {
    static const struct option known[] = {
        {"frames", required_argument, NULL, 'n'},  {"size", required_argument, NULL, 's'},
        {"devices", required_argument, NULL, 'd'}, {"verify", required_argument, NULL, 'v'},
        {"output", required_argument, NULL, 'o'},  {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
    };
    struct options options = {.frames = 96, .size = {1024, 576}, .devices = 2, .verify_every = 8};
    for (int option; (option = getopt_long(argc, argv, "n:s:o:h", known, NULL)) != -1;) {
        switch (option) {
        case 'n':
            options.frames = number("--frames", optarg, 1, 1000000);
            break;
        case 's':
            options.size = parse_size(optarg);
            break;
        case 'd':
            options.devices = number("--devices", optarg, 1, DEVICES_MAX);
            break;
        case 'v':
            options.verify_every = number("--verify", optarg, 0, 1000000);
            break;
        case 'o':
            options.output = optarg;
            break;
        case 'j':
            options.json = true;
            break;
        case 'h':
            fputs(usage, stdout);
            exit(0);
        default:
            fputs(usage, stderr);
            exit(EXIT_USAGE);
        }
    }
    if (optind < argc) {
        fprintf(stderr, "image_pipeline: what is '%s'?\n%s", argv[optind], usage);
        exit(EXIT_USAGE);
    }
    return options;
}

// ---- the run ----

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// FNV-1a over 32-bit pixels: cheap, and any changed pixel of any frame changes it.
static uint64_t add_to_checksum(uint64_t checksum, const struct screen_pixel *picture, size_t pixels) {
    for (size_t i = 0; i < pixels; i++) {
        const struct screen_pixel p = picture[i];
        checksum ^=
            (uint64_t)p.red | (uint64_t)p.green << 8 | (uint64_t)p.blue << 16 | (uint64_t)p.alpha << 24;
        checksum *= 0x100000001b3u;
    }
    return checksum;
}

static void write_picture(const char *path, struct size size, const struct screen_pixel *picture) {
    FILE *file = fopen(path, "wb");
    bool written = file && fprintf(file, "P6\n%u %u\n255\n", size.width, size.height) > 0;
    for (size_t i = 0; written && i < size_pixels(size); i++) {
        const uint8_t rgb[3] = {picture[i].red, picture[i].green, picture[i].blue};
        written = fwrite(rgb, sizeof rgb, 1, file) == 1;
    }
    if (file && fclose(file) != 0)
        written = false;
    if (!written) {
        fprintf(stderr, "image_pipeline: cannot write %s: %s\n", path, strerror(errno));
        exit(EXIT_WRONG);
    }
}

// Looks at a finished picture.
static void judge(const struct options *options, struct reference *reference, const struct slot *slot,
                  struct result *result) {
    const size_t pixels = size_pixels(options->size);
    const bool last = slot->frame + 1 == options->frames;
    result->checksum = add_to_checksum(result->checksum, slot->host_picture, pixels);
    if (options->verify_every != 0 && (last || slot->frame % options->verify_every == 0)) {
        const struct screen_pixel *expected = reference_compute(reference, slot->host_raw);
        for (size_t i = 0; i < pixels; i++)
            if (memcmp(&expected[i], &slot->host_picture[i], sizeof expected[i]) != 0)
                result->wrong_pixels++;
        result->verified++;
    }
    if (last && options->output)
        write_picture(options->output, options->size, slot->host_picture);
}

static void develop_frames(struct pipeline *pipeline, const struct options *options,
                           const struct scene *scene, struct reference *reference, struct result *result) {
    const unsigned in_flight = pipeline->lane_count * SLOTS_PER_DEVICE;
    // The last turns enqueue nothing and only collect what is still in flight.
    for (unsigned turn = 0; turn < options->frames + in_flight; turn++) {
        struct slot *slot = pipeline_slot(pipeline, turn);
        if (pipeline_wait(slot))
            judge(options, reference, slot, result);
        if (turn < options->frames) {
            scene_draw(scene, turn, slot->host_raw);
            pipeline_enqueue(pipeline, slot, turn);
        }
    }
}

// ---- the report ----

static unsigned total_launches(const struct counts *counts) {
    unsigned total = 0;
    for (int i = 0; i < KERNELS; i++)
        total += counts->launches[i];
    return total;
}

static void print_json_string(const char *text) {
    putchar('"');
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if ((unsigned char)*text >= 0x20)
            putchar(*text);
    putchar('"');
}

static void print_json(const struct pipeline *pipeline, const struct options *options,
                       const struct result *result) {
    const struct counts *counts = &pipeline->counts;
    printf("{\"program\":\"image_pipeline\",\"frames\":%u,\"width\":%u,\"height\":%u,\"platform\":",
           options->frames, options->size.width, options->size.height);
    print_json_string(pipeline->platform_name);
    printf(",\"devices\":[");
    for (unsigned i = 0; i < pipeline->lane_count; i++) {
        printf("%s{\"name\":", i ? "," : "");
        print_json_string(pipeline->lanes[i].name);
        printf(",\"frames\":%u}", pipeline->lanes[i].frames);
    }
    printf("],\"contexts\":1,\"queues\":%u,\"launches\":%u,\"kernels\":{", 3 * pipeline->lane_count,
           total_launches(counts));
    for (int i = 0; i < KERNELS; i++)
        printf("%s\"%s\":%u", i ? "," : "", kernel_names[i], counts->launches[i]);
    printf("},\"writes\":{\"count\":%u,\"bytes\":%llu},\"reads\":{\"count\":%u,\"bytes\":%llu},"
           "\"fills\":{\"count\":%u,\"bytes\":%llu},",
           counts->writes, (unsigned long long)counts->bytes_written, counts->reads,
           (unsigned long long)counts->bytes_read, counts->fills, (unsigned long long)counts->bytes_filled);
    printf("\"checksum\":\"%016llx\",\"verified_frames\":%u,\"wrong_pixels\":%llu,\"open_ms\":%.1f,\"frames_"
           "ms\":%.1f}\n",
           (unsigned long long)result->checksum, result->verified, (unsigned long long)result->wrong_pixels,
           result->open_seconds * 1e3, result->frames_seconds * 1e3);
}

static void print_text(const struct pipeline *pipeline, const struct options *options,
                       const struct result *result) {
    const struct counts *counts = &pipeline->counts;
    printf("%u frames of %ux%u on %s\n", options->frames, options->size.width, options->size.height,
           pipeline->platform_name);
    for (unsigned i = 0; i < pipeline->lane_count; i++)
        printf("  device %u  %s: %u frames\n", i, pipeline->lanes[i].name, pipeline->lanes[i].frames);
    for (int i = 0; i < KERNELS; i++)
        printf("  kernel    %-20s %6u launches\n", kernel_names[i], counts->launches[i]);
    printf("  writes    %6u  %9.1f MB\n", counts->writes, (double)counts->bytes_written / 1e6);
    printf("  reads     %6u  %9.1f MB\n", counts->reads, (double)counts->bytes_read / 1e6);
    printf("  fills     %6u  %9.1f kB\n", counts->fills, (double)counts->bytes_filled / 1e3);
    printf("  opened in %.2f s, developed in %.2f s (%.1f frames/s)\n", result->open_seconds,
           result->frames_seconds, options->frames / result->frames_seconds);
    printf("  checksum  %016llx, %u frames checked on the host: %s\n", (unsigned long long)result->checksum,
           result->verified, result->wrong_pixels == 0 ? "every pixel equal" : "WRONG");
    if (result->wrong_pixels != 0)
        printf("  %llu pixels differ from the host's\n", (unsigned long long)result->wrong_pixels);
    if (options->output)
        printf("  picture   %s\n", options->output);
}

int main(int argc, char **argv) {
    const struct options options = parse(argc, argv);
    struct result result = {.checksum = 0xcbf29ce484222325u};
    static struct pipeline pipeline;
    const double start = seconds();
    struct scene *scene = scene_create(options.size);
    struct reference *reference = reference_create(options.size);
    if (!scene || !reference) {
        fprintf(stderr, "image_pipeline: out of memory; choose a smaller --size\n");
        return EXIT_WRONG;
    }
    if (!pipeline_open(&pipeline, options.size, options.devices)) {
        fprintf(
            stderr,
            "image_pipeline: no OpenCL device found. Without a GPU, install PoCL, which runs OpenCL on\n"
            "the processor (Debian, Ubuntu: apt install pocl-opencl-icd); with one, its vendor's driver.\n");
        return EXIT_NO_DEVICE;
    }
    const double opened = seconds();
    develop_frames(&pipeline, &options, scene, reference, &result);
    result.open_seconds = opened - start;
    result.frames_seconds = seconds() - opened;
    if (options.json)
        print_json(&pipeline, &options, &result);
    else
        print_text(&pipeline, &options, &result);
    pipeline_close(&pipeline);
    reference_destroy(reference);
    scene_destroy(scene);
    return result.wrong_pixels == 0 ? 0 : EXIT_WRONG;
}
