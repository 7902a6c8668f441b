// SPDX-License-Identifier: Apache-2.0
// Recording another program.
//
//     created --start--> program runs --it ends--> others run --they end, or stop, or only_program--> closing --> END
//
// When the program has ended, processes it started may still be running (a shell's background job, a daemon): the
// recording continues until they have ended too. Once it is closing, those that record and are on their way out get a
// moment (LINGER); what is still alive then is noted in the trace as still running.
#include "tracesmith/capture.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/attach.h"
#include "base/sized.h"
#include "base/status.h"
#include "collect/clock_probe.h"
#include "collect/collector.h"
#include "collect/duty.h"
#include "collect/gone.h"
#include "collect/live.h"
#include "collect/other_sources.h"
#include "collect/ptp_clock.h"
#include "collect/recorder_losses.h"
#include "collect/recovery.h"
#include "collect/session_directory.h"
#include "collect/session_processes.h"
#include "event/topology.h"
#include "launch/launch.h"
#include "launch/sampler.h"
#include "launch/topology.h"
#include "launch/topology_nvlink.h"
#include "tracesmith/frames.h"
#include "tracesmith/launcher.h"
#include "wire/process.h"

static const char PROBE_TOKEN[] = "TRACESMITH_PROBE_TOKEN";
static const int64_t PATIENCE = 50000000;          // ns that next() waits for news
static const int64_t LINGER = 100000000;           // ns
static const int64_t LINGER_ATTACHED = 2000000000; // ns: its commands in flight
static const int64_t AGGREGATE_LEAST = 10000000;   // ns
static const int64_t LOOK = 100000000;             // ns between looks whether others run
static const int64_t LOOK_AGAIN = 20000000; // ns, after a search that found no process and was not clear
enum { SURE = 5 };                          // such looks in a row
static const long FIRST_NAP =
    500000; // ns; doubles up to the longest, so that a busy ring never fills meanwhile
static const long LONGEST_NAP = 8000000;

enum { ENDINGS_MOST = 4 };

struct tsmith_capture {
    struct session_directory directory;
    struct collector *collector;
    tsmith_source *source;
    struct launch_signals signals;
    char **environment;
    tsmith_capture_options options;
    _Atomic pid_t program; // 0: not started, or reaped
    bool started;
    bool is_attached; // the program is not our child
    struct process_seen attached;
    uint64_t image; // of the attached process (process_image_of)
    struct attach_what late;
    tsmith_status late_status; // why no agent could be loaded into a program that runs
    tsmith_error late_error;
    bool ended;
    int wait_status;
    int64_t ended_at;              // the program, or the wait for others
    uint32_t looks_without;        // in a row that found no process
    int64_t looked;                // for others, last
    _Atomic uint32_t left_running; // others, at that look
    atomic_bool stop;
    uint32_t unrecorded; // processes, known at the end
    struct gone gone;    // the session directory
    struct duty duty;
    bool drained; // of what the programs recorded: only the other sources are left
    struct other_sources other_sources;
    struct live live;
    struct {
        void (*ended)(void *context, tsmith_capture *capture);
        void *context;
    } endings[ENDINGS_MOST];
    size_t ending_count;
    struct sampler sampler;
    tsmith_topology *topology; // of this machine
    struct nvlink_query nvlinks;
    char *probe_addresses; // of the options; NULL: no probes
    struct clock_probe *probe;
    struct ptp_clock ptp;
    char agent_directory[4096];
    char note[1024];
};

// ---- the source

// Another program is in the process now, without our agents.
static bool was_replaced(struct tsmith_capture *capture) {
    const uint64_t image = process_image_of(capture->attached.pid);
    if (!image || !capture->image || image == capture->image)
        return false;
    tsmith_dictionary_set_attribute(
        collector_dictionary(capture->collector), "notice.attach-exec",
        "the process was replaced by another program (exec), which is not recorded: attach to it again");
    return true;
}

// A program that runs without us continues after the recording.
static void look_after_attached(struct tsmith_capture *capture) {
    if (capture->ended ||
        (!atomic_load(&capture->stop) && process_is_alive(&capture->attached) && !was_replaced(capture)))
        return;
    session_directory_arm(&capture->directory, false); // the agents leave
    capture->ended = true;
    capture->ended_at = clock_trace_now();
}

static void reap_program(struct tsmith_capture *capture) {
    if (capture->is_attached) {
        look_after_attached(capture);
        return;
    }
    pid_t pid = atomic_load(&capture->program);
    int status;
    if (!capture->started || capture->ended || pid <= 0)
        return;
    pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR))
        return;
    atomic_store(&capture->program, 0);
    capture->ended = true;
    capture->ended_at = clock_trace_now();
    capture->wait_status = got == pid ? status : 0;
    collector_program_ended(capture->collector, capture->wait_status);
}

// Whether processes that the program started are still running. If a search finds none, that is final if the search
// was clear, otherwise after SURE such searches in a row.
static bool others_run(struct tsmith_capture *capture) {
    int64_t now = clock_trace_now();
    bool waiting = !capture->options.only_program && !capture->is_attached && !atomic_load(&capture->stop);
    if (capture->looked && (!waiting || capture->looks_without == SURE))
        return false;
    if (capture->looked && now - capture->looked < (capture->looks_without ? LOOK_AGAIN : LOOK))
        return true;
    uint32_t unclear;
    uint32_t running = session_processes_alive(capture->directory.path, &unclear);
    capture->looked = capture->ended_at = now;
    capture->looks_without = running ? 0 : unclear ? capture->looks_without + 1 : SURE;
    atomic_store(&capture->left_running, running);
    return waiting && capture->looks_without < SURE;
}

static bool time_to_close(struct tsmith_capture *capture) {
    if (!capture->ended || others_run(capture))
        return false;
    sampler_stop(&capture->sampler);
    return (collector_live_processes(capture->collector) == 0 ||
            clock_trace_now() - capture->ended_at > (capture->is_attached ? LINGER_ATTACHED : LINGER));
}

// ---- how the devices are connected

static void set_topology(tsmith_dictionary *dictionary, const tsmith_topology *topology) {
    tsmith_topology_node first = {.size = sizeof first};
    if (!tsmith_topology_node_get(topology, 0, &first) || first.kind != TSMITH_TOPOLOGY_GPU)
        return;
    char *text = topology_text(topology);
    if (text)
        tsmith_dictionary_set_attribute(dictionary, TSMITH_TOPOLOGY_ATTRIBUTE, text);
    free(text);
}

// How the GPUs of this machine are connected, if it has any: some reads of /sys in TraceSmith's own process. NVIDIA's driver is
// asked for NVLinks meanwhile: the program does not wait for it, and the answer is taken at the end.
static void describe_topology(struct tsmith_capture *capture) {
    nvlink_query_start(&capture->nvlinks, capture->agent_directory);
    if (topology_read(NULL, &capture->topology, NULL) != TSMITH_OK)
        capture->topology = calloc(1, sizeof *capture->topology);
    if (capture->topology)
        set_topology(collector_dictionary(capture->collector), capture->topology);
}

static void take_nvlinks(struct tsmith_capture *capture) {
    static const int64_t NVML_PATIENCE = 10000000000; // ns: most programs run longer than a driver takes
    if (!capture->nvlinks.pid)
        return;
    (void)nvlink_query_finish(&capture->nvlinks, NVML_PATIENCE, capture->topology); // or the reason why not
    if (capture->topology && !capture->topology->failed)
        set_topology(collector_dictionary(capture->collector), capture->topology);
}

static void forget_topology(struct tsmith_capture *capture) {
    (void)nvlink_query_finish(&capture->nvlinks, 0, NULL);
    tsmith_topology_close(capture->topology);
    capture->topology = NULL;
}

// ----

static void end_session(struct tsmith_capture *capture) {
    char text[32];
    take_nvlinks(capture);
    clock_probe_stop(capture->probe, collector_dictionary(capture->collector));
    capture->probe = NULL;
    ptp_clock_compare(&capture->ptp, collector_dictionary(capture->collector), true);
    ptp_clock_close(&capture->ptp);
    gone_look(&capture->gone, &capture->directory, true);
    duty_end(&capture->duty, collector_dictionary(capture->collector), clock_trace_now());
    session_directory_end(&capture->directory);
    capture->unrecorded = session_directory_unrecorded(&capture->directory);
    if (capture->unrecorded == 0)
        return;
    snprintf(text, sizeof text, "%u", capture->unrecorded);
    tsmith_dictionary_set_attribute(collector_dictionary(capture->collector), "unrecorded.processes", text);
}

// All that the programs recorded was delivered.
static tsmith_status end_with_others(struct tsmith_capture *capture, const tsmith_batch **out,
                                     tsmith_error *error) {
    end_session(capture);
    if (!capture->drained)
        for (size_t i = 0; i < capture->ending_count; i++)
            capture->endings[i].ended(capture->endings[i].context, capture);
    capture->drained = true;
    return other_sources_next(&capture->other_sources, collector_dictionary(capture->collector), out, error);
}

static tsmith_status next_batch(struct tsmith_capture *capture, const tsmith_batch **out,
                                tsmith_error *error) {
    int64_t begun = clock_trace_now();
    struct timespec nap = {.tv_nsec = FIRST_NAP};
    if (session_directory_is_of_parent(&capture->directory))
        return status_set(error, TSMITH_ERROR_STATE,
                          "the capture belongs to the process that created it, not to a forked child");
    for (;;) {
        if (capture->drained)
            return other_sources_next(&capture->other_sources, collector_dictionary(capture->collector), out,
                                      error);
        const bool rests =
            !capture->ended && !atomic_load(&capture->stop) && collector_can_rest(capture->collector);
        tsmith_status status = rests ? TSMITH_AGAIN : collector_next(capture->collector, out, error);
        if (status == TSMITH_END)
            return end_with_others(capture, out, error);
        if (status != TSMITH_AGAIN) {
            duty_look(&capture->duty, &capture->directory);
            return status;
        }
        reap_program(capture);
        duty_look(&capture->duty, &capture->directory);
        if (capture->probe)
            clock_probe_take(capture->probe, collector_dictionary(capture->collector));
        ptp_clock_compare(&capture->ptp, collector_dictionary(capture->collector), false);
        gone_look(&capture->gone, &capture->directory, false);
        if (time_to_close(capture)) {
            // Nothing new is recorded from here on, so that the drain comes to an end.
            duty_end(&capture->duty, collector_dictionary(capture->collector), capture->ended_at);
            session_directory_end(&capture->directory);
            collector_set_closing(capture->collector, true);
            continue;
        }
        if (clock_trace_now() - begun > PATIENCE)
            return TSMITH_AGAIN;
        nanosleep(&nap, NULL);
        nap.tv_nsec = nap.tv_nsec * 2 < LONGEST_NAP ? nap.tv_nsec * 2 : LONGEST_NAP;
    }
}

static uint32_t processes_of(const struct tsmith_capture *capture) {
    // The collector does not count the program that was started, but one that was attached to.
    return collector_live_processes(capture->collector) +
           (capture->started && !capture->ended && !capture->is_attached);
}

static tsmith_status live_next(void *self, const tsmith_batch **out, tsmith_error *error) {
    struct tsmith_capture *capture = self;
    const tsmith_status status = next_batch(capture, out, error);
    const tsmith_dictionary *dictionary = collector_dictionary(capture->collector);
    if (status == TSMITH_OK)
        live_take(&capture->live, dictionary, *out);
    if (status == TSMITH_END)
        live_end(&capture->live, &capture->directory, dictionary);
    else if (live_is_wanted(&capture->live, &capture->directory))
        live_publish(&capture->live, &capture->directory, dictionary, processes_of(capture));
    return status;
}

static const tsmith_dictionary *live_dictionary(void *self) {
    struct tsmith_capture *capture = self;
    return collector_dictionary(capture->collector);
}

static const tsmith_source_ops live_ops = {.next = live_next, .dictionary = live_dictionary};

// ---- life

// What they lead to is the caller's, and was used.
static void forget_pointers(tsmith_capture_options *options) {
    options->apis = NULL;
    options->agent_directory = NULL;
    options->session_root = NULL;
    options->output = NULL;
    options->recording = NULL;
    options->environment = NULL;
    options->cuda = NULL;
    options->agent_options = NULL;
    options->frames = NULL;
    options->clock_probe = NULL;
    options->ptp_clock = NULL; // it is open
}

static tsmith_status take_options(const tsmith_capture_options *given, tsmith_capture_options *out,
                                  tsmith_error *error) {
    const tsmith_status status = sized_take(tsmith_capture_options, given, out, error);
    // What can be captured of OpenCL ends with waits.
    if (status == TSMITH_OK && !out->frames && out->recording && strncmp(out->recording, "frame", 5) == 0)
        out->frames = "wait";
    if (status == TSMITH_OK && (out->duty_on || out->duty_period) &&
        (out->duty_on <= 0 || out->duty_on >= out->duty_period || out->armed || out->recording))
        return status_set(
            error, TSMITH_ERROR_INVALID_ARGUMENT,
            "recording for a part of the time needs a part that is shorter than its period, and "
            "cannot be combined with recording on demand or for replay");
    if (status == TSMITH_OK && out->aggregate &&
        (out->aggregate < AGGREGATE_LEAST || out->armed || out->duty_on || out->recording))
        return status_set(
            error, TSMITH_ERROR_INVALID_ARGUMENT,
            "sums in place of events need a period of 10 ms or more, and cannot be combined with recording "
            "on demand, for a part of the time or for replay");
    if (status == TSMITH_OK && out->clock_probe &&
        clock_probe_check(out->clock_probe, getenv(PROBE_TOKEN), error) != TSMITH_OK)
        return TSMITH_ERROR_INVALID_ARGUMENT;
    return status == TSMITH_OK && out->frames ? tsmith_frames_check(out->frames, error) : status;
}

// The clocks of other hosts: keeps the addresses of the probes, and opens the PTP clock.
static tsmith_status prepare_clocks(struct tsmith_capture *capture, tsmith_error *error) {
    const char *given = capture->options.clock_probe, *device = capture->options.ptp_clock;
    capture->probe_addresses = given ? strdup(given) : NULL;
    if (given && !capture->probe_addresses)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating a capture");
    return device ? ptp_clock_open(&capture->ptp, device, capture->options.ptp_error, error) : TSMITH_OK;
}

static void describe_session(struct tsmith_capture *capture) {
    session_directory_describe(&capture->directory, collector_dictionary(capture->collector));
    duty_describe(&capture->duty, collector_dictionary(capture->collector));
    if (capture->options.frames)
        tsmith_dictionary_set_attribute(collector_dictionary(capture->collector), TSMITH_FRAMES_ATTRIBUTE,
                                        capture->options.frames);
}

static tsmith_status add_loss_sources(struct tsmith_capture *capture, tsmith_error *error) {
    tsmith_source *losses;
    gone_look(&capture->gone, &capture->directory, true);
    if (gone_source_create(&capture->gone, &losses) || other_sources_add(&capture->other_sources, losses) ||
        duty_source_create(&capture->duty, &losses) || other_sources_add(&capture->other_sources, losses) ||
        (capture->options.recording && (recorder_losses_create(capture->directory.path, &losses) ||
                                        other_sources_add(&capture->other_sources, losses))))
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating a capture");
    return TSMITH_OK;
}

tsmith_status tsmith_capture_create(const tsmith_capture_options *options, tsmith_capture **out,
                                    tsmith_error *error) {
    *out = NULL;
    struct tsmith_capture *capture = calloc(1, sizeof *capture);
    if (!capture)
        return status_set(error, TSMITH_ERROR_NO_MEMORY, "out of memory while creating a capture");
    tsmith_status status = take_options(options, &capture->options, error);
    if (status != TSMITH_OK) {
        free(capture);
        return status;
    }
    capture->duty = (struct duty){.on = capture->options.duty_on, .period = capture->options.duty_period};
    launch_save_signals(&capture->signals);
    status = prepare_clocks(capture, error);
    if (status)
        goto fail;
    status = session_directory_create(&capture->directory, &capture->options, error);
    if (status)
        goto fail;
    if (capture->options.output)
        session_directory_set_output(&capture->directory, capture->options.output);
    status = collector_create(&capture->directory, COLLECT_SESSION, &capture->collector, error);
    if (status)
        goto fail_directory;
    describe_session(capture);
    status = tsmith_source_create(&live_ops, capture, &capture->source);
    if (status) {
        status_set(error, status, "out of memory while creating a capture");
        goto fail_directory;
    }
    // Kept as an array: what `options` points to is the caller's.
    status = launch_environment(&capture->options, capture->directory.path, &capture->environment, error);
    if (status)
        goto fail_directory;
    const char *missing = launch_missing(&capture->options);
    if (missing)
        tsmith_dictionary_set_attribute(collector_dictionary(capture->collector), "notice.missing", missing);
    status = launch_agent_directory(capture->options.agent_directory, capture->agent_directory,
                                    sizeof capture->agent_directory, error);
    if (status)
        goto fail_directory;
    describe_topology(capture);
    capture->late.agent_directory = capture->agent_directory;
    capture->late_status = attach_select(&capture->options, &capture->late, &capture->late_error);
    status = add_loss_sources(capture, error);
    if (status)
        goto fail_directory;
    live_begin(&capture->live, capture->options.live != 0);
    forget_pointers(&capture->options);
    *out = capture;
    return TSMITH_OK;
fail_directory:
    forget_topology(capture);
    other_sources_finish(&capture->other_sources);
    tsmith_source_destroy(capture->source);
    collector_destroy(capture->collector);
    session_directory_remove(&capture->directory);
fail:
    ptp_clock_close(&capture->ptp);
    free(capture->probe_addresses);
    free(capture);
    return status;
}

static void describe_command(struct tsmith_capture *capture, char *const *argv) {
    size_t bytes = 1;
    for (char *const *word = argv; *word; word++)
        bytes += strlen(*word) + 1;
    char *text = malloc(bytes), *at = text;
    for (char *const *word = argv; text && *word; word++) {
        size_t length = strlen(*word);
        memcpy(at, *word, length);
        at += length;
        *at++ = ' ';
    }
    if (text) {
        at[at > text ? -1 : 0] = '\0';
        tsmith_dictionary_set_attribute(collector_dictionary(capture->collector), "command", text);
        session_directory_set_command(&capture->directory, text);
    }
    free(text);
}

// Counters are something more: the program runs without them too.
static void start_counters(struct tsmith_capture *capture) {
    char why[768], text[sizeof why + 8];
    const uint32_t rate = capture->options.gpu_counter_rate;
    if (!rate)
        return;
    if (sampler_start(&capture->sampler, capture->agent_directory, capture->directory.path, rate, why,
                      sizeof why)) {
        snprintf(text, sizeof text, "%u", rate);
    } else {
        snprintf(text, sizeof text, "none: %s", why);
        snprintf(capture->note, sizeof capture->note, "GPU counters cannot be sampled: %s", why);
    }
    tsmith_dictionary_set_attribute(collector_dictionary(capture->collector), "gpu_counters.rate", text);
}

static tsmith_status add_used_agents(struct tsmith_capture *capture, char *const *argv, tsmith_error *error) {
    const char *notice;
    const tsmith_status status = launch_add_used(&capture->options, capture->agent_directory, argv,
                                                 &capture->environment, &notice, error);
    if (notice)
        tsmith_dictionary_set_attribute(collector_dictionary(capture->collector), "notice.mpi", notice);
    return status;
}

// Of the run, if a launcher started this process: a program that uses no API has no process in the trace. Returns the
// number among the ranks of this host, -1 if it is unknown.
static int64_t describe_rank(tsmith_dictionary *dictionary) {
    tsmith_launch launch = {.size = sizeof launch};
    if (!tsmith_launch_find(0, &launch))
        return -1;
    const tsmith_rank rank = {.rank = (uint32_t)(launch.rank + 1),
                              .world = launch.world < 0 ? 0 : (uint32_t)launch.world,
                              .local_rank = (uint32_t)(launch.local_rank + 1),
                              .local_world = launch.local_world < 0 ? 0 : (uint32_t)launch.local_world,
                              .node = (uint32_t)(launch.node + 1),
                              .launcher = tsmith_dictionary_intern_cstr(dictionary, launch.launcher),
                              .job = tsmith_dictionary_intern_cstr(dictionary, launch.job)};
    (void)tsmith_dictionary_add_rank(dictionary, &rank);
    return launch.local_rank;
}

// The ranks of a host have one clock, so one of them probes. The recording goes on without probes.
static void start_probes(struct tsmith_capture *capture, int64_t local_rank) {
    tsmith_dictionary *dictionary = collector_dictionary(capture->collector);
    const struct clock_probe_options options = {
        .addresses = capture->probe_addresses,
        .token = getenv(PROBE_TOKEN),
        .id = tsmith_dictionary_find_attribute(dictionary, TSMITH_CLOCK_ATTRIBUTE).bytes};
    tsmith_error error;
    if (!options.addresses || local_rank > 0)
        return;
    if (!options.id || !options.token)
        tsmith_dictionary_set_attribute(
            dictionary, "notice.clock-probe",
            options.id ? "clock probes were not started: TRACESMITH_PROBE_TOKEN is not set any more"
                       : "clock probes were not started: the machine does not state which boot it is");
    else if (clock_probe_start(&options, &capture->probe, &error) != TSMITH_OK)
        tsmith_dictionary_set_attribute(dictionary, "notice.clock-probe", error.message);
}

tsmith_status tsmith_capture_start(tsmith_capture *capture, char *const *argv, tsmith_error *error) {
    pid_t pid = 0;
    if (!argv || !argv[0])
        return status_set(error, TSMITH_ERROR_INVALID_ARGUMENT, "no program to run was given");
    if (capture->started)
        return status_set(error, TSMITH_ERROR_STATE, "a capture can start only one program");
    describe_command(capture, argv);
    const int64_t local_rank = describe_rank(collector_dictionary(capture->collector));
    start_counters(capture);
    tsmith_status status = add_used_agents(capture, argv, error);
    if (!status)
        status = launch_start(argv, capture->environment, &capture->signals, &pid, error);
    if (status)
        return status;
    atomic_store(&capture->program, pid);
    collector_program_started(capture->collector, (uint64_t)pid);
    capture->started = true;
    start_probes(capture, local_rank); // a thread, so after the fork
    return TSMITH_OK;
}

tsmith_status tsmith_capture_attach(tsmith_capture *capture, uint32_t pid, tsmith_attach_report *out,
                                    tsmith_error *error) {
    char text[64];
    if (capture->started)
        return status_set(error, TSMITH_ERROR_STATE, "a capture can start only one program");
    if (capture->late_status) {
        if (error)
            *error = capture->late_error;
        return capture->late_status;
    }
    snprintf(text, sizeof text, "process %u, attached", pid);
    tsmith_dictionary_set_attribute(collector_dictionary(capture->collector), "command", text);
    session_directory_set_command(&capture->directory, text);
    capture->late.pid = (pid_t)pid;
    capture->late.session_directory = capture->directory.path;
    capture->late.session = capture->directory.fd;
    capture->late.there = capture->directory.there[0] ? capture->directory.there : NULL;
    capture->late.agent_directory = capture->agent_directory;
    tsmith_attach_report report = {.size = sizeof report};
    capture->image = process_image_of(pid); // before: what replaces it from now on has no agent
    const tsmith_status status = attach_run(&capture->late, &report, error);
    sized_give(tsmith_attach_report, &report, out);
    if (status) {
        session_directory_end(&capture->directory);
        return status;
    }
    if (report.text[0])
        tsmith_dictionary_set_attribute(collector_dictionary(capture->collector), "notice.attach",
                                        report.text);
    capture->attached = (struct process_seen){.pid = pid, .start_time = process_start_time_of(pid)};
    capture->is_attached = capture->started = true;
    return TSMITH_OK;
}

const char *tsmith_capture_note(const tsmith_capture *capture) {
    return capture->note;
}

tsmith_source *tsmith_capture_source(tsmith_capture *capture) {
    return capture->source;
}

tsmith_status tsmith_capture_on_end(tsmith_capture *capture,
                                    void (*ended)(void *context, tsmith_capture *capture), void *context) {
    if (capture->ending_count == ENDINGS_MOST)
        return TSMITH_ERROR_LIMIT;
    capture->endings[capture->ending_count].ended = ended;
    capture->endings[capture->ending_count++].context = context;
    return TSMITH_OK;
}

tsmith_status tsmith_capture_add_source(tsmith_capture *capture, tsmith_source *taken) {
    return other_sources_add(&capture->other_sources, taken);
}

void tsmith_capture_stop(tsmith_capture *capture) {
    atomic_store(&capture->stop, true);
}

uint32_t tsmith_capture_unrecorded(const tsmith_capture *capture) {
    return capture->unrecorded;
}

int tsmith_capture_directory_removed(const tsmith_capture *capture) {
    return capture->gone.is_gone;
}

uint32_t tsmith_capture_left_running(const tsmith_capture *capture) {
    return atomic_load(&capture->left_running);
}

void tsmith_capture_signal(tsmith_capture *capture, int signal_number) {
    pid_t pid = atomic_load(&capture->program);
    if (pid > 0)
        kill(pid, signal_number);
}

void tsmith_capture_live(tsmith_capture *capture, tsmith_live_totals *out) {
    static const tsmith_live_totals none;
    const bool given =
        live_give(&capture->live, collector_dictionary(capture->collector), processes_of(capture));
    sized_give(tsmith_live_totals, given ? capture->live.published : &none, out);
}

void tsmith_capture_arm(tsmith_capture *capture, int on) {
    if (!session_directory_is_of_parent(&capture->directory) &&
        atomic_load(&capture->directory.control->state) == LAYOUT_SESSION_OPEN)
        session_directory_arm(&capture->directory, on != 0);
}

void tsmith_capture_trigger(tsmith_capture *capture) {
    session_directory_trigger(&capture->directory);
}

int tsmith_capture_wait_status(const tsmith_capture *capture) {
    return capture->wait_status;
}

int tsmith_capture_api_seen(const tsmith_capture *capture, size_t index, const char **name,
                            uint32_t *processes) {
    return collector_api(capture->collector, index, name, processes);
}

const char *tsmith_capture_directory(const tsmith_capture *capture) {
    return capture->directory.path;
}

void tsmith_capture_destroy(tsmith_capture *capture) {
    // A forked child has a copy; everything in it belongs to the parent.
    if (!capture || session_directory_is_of_parent(&capture->directory))
        return;
    sampler_stop(&capture->sampler);
    forget_topology(capture);
    clock_probe_stop(capture->probe, NULL);
    ptp_clock_close(&capture->ptp);
    live_finish(&capture->live);
    duty_finish(&capture->duty);
    session_directory_end(&capture->directory);
    bool keep = !collector_delivered(capture->collector) && capture->started;
    tsmith_source_destroy(capture->source);
    other_sources_finish(&capture->other_sources);
    collector_destroy(capture->collector);
    if (keep)
        session_directory_close(&capture->directory);
    else
        session_directory_remove(&capture->directory);
    launch_free_environment(capture->environment);
    free(capture->probe_addresses);
    free(capture);
}
