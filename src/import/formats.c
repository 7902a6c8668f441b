// SPDX-License-Identifier: Apache-2.0
// The table of formats, and what fits each importer into it.
#include "import/formats.h"

#include <stdlib.h>
#include <string.h>

#include "import/chakra/chakra.h"
#include "import/chrome/source.h"
#include "import/ctf/ctf.h"
#include "import/jax_memory/jax_memory.h"
#include "import/ncu/ncu.h"
#include "import/perfetto/perfetto.h"
#include "import/problems.h"
#include "import/rocprof/rocprof.h"
#include "import/seekable.h"
#include "import/sqlite_in.h"
#include "import/torch_et/torch_et.h"
#include "import/torch_memory/torch_memory.h"
#include "import/xctrace/xctrace.h"
#include "import/xplane/xplane.h"
#include "import/xray/xray.h"
#include "tracesmith/import.h"

// ---- databases: which tool wrote one follows from its tables, once it is open (sqlite_in_source)

static bool database_probe(struct import_job *job) {
    char head[16];
    return sqlite_in_is(head, seekable_peek(job->place, head, sizeof head));
}

static tsmith_status database_open(struct import_job *job, tsmith_source **out, tsmith_error *error) {
    struct seekable file;
    tsmith_status status = seekable_open(&file, job->place, error);
    return status == TSMITH_OK ? sqlite_in_source(&file, job->place->name, out, error) : status;
}

static bool packed_database_probe(struct import_job *job) {
    return sqlite_in_is(job->input.window + job->input.begin, job->input.end - job->input.begin);
}

static tsmith_status packed_database_open(struct import_job *job, tsmith_source **out, tsmith_error *error) {
    struct seekable file;
    tsmith_status status = seekable_take(&file, &job->input, job->name, error);
    if (status == TSMITH_OK && file.problem) {
        status = status_set(error, TSMITH_ERROR_FORMAT, "%s: the compressed data is damaged: %s", job->name,
                            file.problem);
        seekable_close(&file);
    }
    if (status == TSMITH_OK)
        status = sqlite_in_source(&file, job->name, out, error);
    free(job->name);
    return status;
}

// ---- the others

static bool xray_probe(struct import_job *job) {
    return xray_is(job->place);
}

static tsmith_status xray_open_job(struct import_job *job, tsmith_source **out, tsmith_error *error) {
    return xray_open(job->place, job->binary, NULL, out, error);
}

static bool perfetto_probe(struct import_job *job) {
    return pf_is(&job->input);
}

static tsmith_status perfetto_open_job(struct import_job *job, tsmith_source **out, tsmith_error *error) {
    return pf_open_input(&job->input, job->name, out, error);
}

static bool xplane_probe(struct import_job *job) {
    return xplane_is(&job->input);
}

static tsmith_status xplane_open_job(struct import_job *job, tsmith_source **out, tsmith_error *error) {
    return xplane_open(&job->input, job->name, out, error);
}

static bool xctrace_probe(struct import_job *job) {
    return xctrace_is(&job->input);
}

static tsmith_status xctrace_open_job(struct import_job *job, tsmith_source **out, tsmith_error *error) {
    return xctrace_open(&job->input, job->name, out, error);
}

static bool torch_memory_probe(struct import_job *job) {
    return torch_memory_is(&job->input);
}

static tsmith_status torch_memory_open_job(struct import_job *job, tsmith_source **out, tsmith_error *error) {
    return torch_memory_open(&job->input, job->name, out, error);
}

static bool jax_memory_probe(struct import_job *job) {
    return jax_memory_is(&job->input);
}

static tsmith_status jax_memory_open_job(struct import_job *job, tsmith_source **out, tsmith_error *error) {
    return jax_memory_open(&job->input, job->name, out, error);
}

static bool torch_et_probe(struct import_job *job) {
    return torch_et_is(&job->input);
}

static tsmith_status torch_et_open_job(struct import_job *job, tsmith_source **out, tsmith_error *error) {
    return torch_et_open(&job->input, job->name, out, error);
}

static bool chakra_probe(struct import_job *job) {
    return chakra_is(&job->input);
}

static tsmith_status chakra_open_job(struct import_job *job, tsmith_source **out, tsmith_error *error) {
    return chakra_import_open(&job->input, job->name, out, error);
}

static bool ctf1_probe(struct import_job *job) {
    return ctf_is(&job->input, 1);
}

static bool ctf2_probe(struct import_job *job) {
    return ctf_is(&job->input, 2);
}

static tsmith_status ctf_open_job(struct import_job *job, tsmith_source **out, tsmith_error *error) {
    return ctf_open(&job->input, job->name, out, error);
}

static bool ncu_probe(struct import_job *job) {
    return ncu_is(&job->input);
}

static tsmith_status ncu_open_job(struct import_job *job, tsmith_source **out, tsmith_error *error) {
    return ncu_open(&job->input, job->name, out, error);
}

static bool rocprof_probe(struct import_job *job) {
    return rocprof_is(&job->input);
}

// ---- the table

#define NSYS                                                                                                 \
    .name = "nsys-sqlite", .title = "an SQLite database", .extensions = ".sqlite",                           \
    .doc = "Database that nsys export --type sqlite wrote (Nsight Systems), of any version: every table",    \
    .fuzz = "nsys"
#define ROCPD                                                                                                \
    .name = "rocpd", .title = "an SQLite database", .extensions = ".db",                                     \
    .doc = "Database of rocprofv3 and rocprof-sys (ROCm): every process in the file", .fuzz = "rocpd"

// A database has two rows, as it is and compressed; the second is not listed (its name is that of the first).
static const struct import_format formats[] = {
    {NSYS, .stage = IMPORT_FILE, .probe = database_probe, .open = database_open},
    {ROCPD, .stage = IMPORT_FILE, .probe = database_probe, .open = database_open},
    {.name = "xray",
     .title = "a log of LLVM XRay",
     .extensions = ".log",
     .doc = "Log of LLVM XRay, basic or of the flight data recorder; --binary names its functions",
     .fuzz = "xray",
     .stage = IMPORT_FILE,
     .probe = xray_probe,
     .open = xray_open_job},
    {.name = "perfetto",
     .title = "a Perfetto trace",
     .extensions = ".pftrace .perfetto-trace",
     .doc = "Perfetto protobuf: track events, stacks, samples, GPU stages and counters; all else is counted",
     .fuzz = "perfetto",
     .stage = IMPORT_BYTES,
     .probe = perfetto_probe,
     .open = perfetto_open_job},
    {.name = "xplane",
     .title = "an XPlane trace",
     .extensions = ".xplane.pb",
     .doc = "XPlane of JAX, TensorFlow and PyTorch/XLA: every event of every plane",
     .fuzz = "xplane",
     .stage = IMPORT_BYTES,
     .probe = xplane_probe,
     .open = xplane_open_job},
    {.name = "xctrace-xml",
     .title = "an xctrace export",
     .extensions = ".xml",
     .doc = "XML that xctrace (Instruments) exported: every row with a time",
     .fuzz = "xctrace",
     .stage = IMPORT_BYTES,
     .probe = xctrace_probe,
     .open = xctrace_open_job},
    {.name = "torch-memory",
     .title = "a memory snapshot of PyTorch",
     .extensions = ".pickle .pkl",
     .doc = "Memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot): history, segments and stacks",
     .fuzz = "snapshot",
     .stage = IMPORT_BYTES,
     .probe = torch_memory_probe,
     .open = torch_memory_open_job},
    {.name = "jax-memory",
     .title = "a memory profile of JAX",
     .extensions = ".prof",
     .doc = "Memory profile of JAX (jax.profiler.save_device_memory_profile): what is alive, with stacks",
     .fuzz = "pprof",
     .stage = IMPORT_BYTES,
     .probe = jax_memory_probe,
     .open = jax_memory_open_job},
    {.name = "torch-et",
     .title = "an execution trace of PyTorch",
     .extensions = ".json",
     .doc =
         "Execution trace of PyTorch (ExecutionTraceObserver): every operator with its data, without times",
     .fuzz = "et",
     .stage = IMPORT_BYTES,
     .probe = torch_et_probe,
     .open = torch_et_open_job},
    {.name = "chakra",
     .title = "a Chakra execution trace",
     .extensions = ".et",
     .doc = "Chakra execution trace (MLCommons): every node with its times, dependencies and attributes",
     .fuzz = "chakra",
     .stage = IMPORT_BYTES,
     .probe = chakra_probe,
     .open = chakra_open_job},
    {.name = "ctf1",
     .title = "a CTF 1.8 trace",
     .extensions = ".ctf",
     .doc =
         "CTF 1.8 (LTTng, THAPI, babeltrace2, barectf), the folder or its file metadata: every event record",
     .fuzz = "ctf",
     .stage = IMPORT_BYTES,
     .probe = ctf1_probe,
     .open = ctf_open_job},
    {.name = "ctf2",
     .title = "a CTF 2 trace",
     .extensions = ".ctf",
     .doc = "CTF 2 (LTTng 2.14, babeltrace2 2.1), the folder or its file metadata: every event record",
     .fuzz = "ctf",
     .stage = IMPORT_BYTES,
     .probe = ctf2_probe,
     .open = ctf_open_job},
    {.name = "ncu-csv",
     .title = "CSV of Nsight Compute",
     .extensions = ".csv",
     .doc = "CSV of Nsight Compute (ncu --csv), pages raw and details: every metric of every launch, without "
            "times",
     .fuzz = "ncu",
     .stage = IMPORT_BYTES,
     .probe = ncu_probe,
     .open = ncu_open_job},
    {NSYS, .stage = IMPORT_BYTES, .probe = packed_database_probe, .open = packed_database_open},
    {ROCPD, .stage = IMPORT_BYTES, .probe = packed_database_probe, .open = packed_database_open},
    {.name = "rocprofv3-json",
     .title = "rocprofv3 JSON",
     .extensions = ".json",
     .doc = "JSON of rocprofv3 (ROCm): every record",
     .fuzz = "json",
     .stage = IMPORT_JSON,
     .probe = rocprof_probe,
     .open = rocprof_open},
    {.name = "chrome-json",
     .title = "a Chrome trace",
     .extensions = ".json",
     .doc = "Chrome trace JSON, as PyTorch (Kineto), TensorFlow, msprof, mcTracer and others write it: every "
            "event, argument and flow",
     .fuzz = "json",
     .stage = IMPORT_JSON,
     .open = chrome_source_open},
};

enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

const struct import_format *import_format_at(size_t index) {
    return index < FORMAT_COUNT ? &formats[index] : NULL;
}

// The row with this number among those that are listed.
static const struct import_format *listed(unsigned number) {
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        bool again = false;
        for (size_t j = 0; j < i; j++)
            again = again || strcmp(formats[j].name, formats[i].name) == 0;
        if (!again && number-- == 0)
            return &formats[i];
    }
    return NULL;
}

const char *tsmith_import_format_name(unsigned index) {
    const struct import_format *format = listed(index);
    return format ? format->name : NULL;
}

const char *tsmith_import_format_doc(unsigned index) {
    const struct import_format *format = listed(index);
    return format ? format->doc : NULL;
}

const char *tsmith_import_format_extensions(unsigned index) {
    const struct import_format *format = listed(index);
    return format ? format->extensions : NULL;
}

// A trace that was exported as Perfetto also has the counts of its first import.
const char *tsmith_import_problem_doc(const char *format, const char *attribute) {
    static const char prefix[] = "import.", perfetto[] = "perfetto";
    if (strncmp(attribute, prefix, sizeof prefix - 1) != 0)
        return NULL;
    const char *what = attribute + sizeof prefix - 1, *common = problems_doc(what),
               *of_perfetto = pf_problem_doc(what);
    const bool is_perfetto = strncmp(format, perfetto, sizeof perfetto - 1) == 0;
    return of_perfetto && (is_perfetto || !common) ? of_perfetto : common;
}
