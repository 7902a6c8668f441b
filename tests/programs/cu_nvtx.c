// SPDX-License-Identifier: Apache-2.0
// Ranges around launches of a CUDA program of the driver API (see cu_work.c): 50 in the range "launches", a range "idles"
// around none, 7 after it. Exit status 4: there is no CUDA here.
//
//   cu_nvtx [kill | wait]
//
// With "kill" it is killed at the end. With "wait" it then opens NCCL's profiler plugin as NCCL does, says where the session
// is, and waits until it gets the request to end.
#include "../../agents/nccl/abi.h"
#include "nvtx_mini.h"

#include <signal.h>
#include <stdio.h>

typedef void *handle;

static const char ptx[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry first()\n{\n ret;\n}\n";

static void *library;

static void *find(const char *name) {
    void *at = library ? dlsym(library, name) : NULL;
    if (!at) {
        fprintf(stderr, "cu_nvtx: no CUDA: no %s\n", name);
        exit(4);
    }
    return at;
}

static void need(int result, const char *what) {
    if (result) {
        fprintf(stderr, "cu_nvtx: %s gave %d\n", what, result);
        exit(4);
    }
}

static void open_plugin(void) {
    const char *path = getenv("NCCL_PROFILER_PLUGIN");
    void *plugin = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL, *context;
    const struct nccl_profiler_v1 *profiler = plugin ? dlsym(plugin, "ncclProfiler_v1") : NULL;
    int mask = 0;
    need(profiler ? profiler->init(&context, &mask) : 1, "the plugin's init");
}

static void wait_to_end(void) {
    const char *session = getenv("TRACESMITH_SESSION");
    char line[64];
    printf("%s\n", session ? session : "");
    fflush(stdout);
    need(fgets(line, sizeof line, stdin) ? 0 : 1, "fgets");
}

int main(int argc, char **argv) {
    const char *then = argc > 1 ? argv[1] : "";
    int (*init)(unsigned), (*create)(handle *, unsigned, int), (*load)(handle *, const void *);
    int (*get)(handle *, handle, const char *), (*synchronize)(void);
    int (*launch)(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle,
                  void **, void **);
    handle context, module, kernel;
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    *(void **)&init = find("cuInit");
    *(void **)&create = find("cuCtxCreate_v2");
    *(void **)&load = find("cuModuleLoadData");
    *(void **)&get = find("cuModuleGetFunction");
    *(void **)&launch = find("cuLaunchKernel");
    *(void **)&synchronize = find("cuCtxSynchronize");
    need(init(0), "cuInit");
    need(create(&context, 0, 0), "cuCtxCreate");
    need(load(&module, ptx), "cuModuleLoadData");
    need(get(&kernel, module, "first"), "cuModuleGetFunction");
    nvtxRangePushA("launches");
    for (int i = 0; i < 50; i++)
        need(launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), "cuLaunchKernel");
    nvtxRangePop();
    nvtxRangePushA("idles");
    nvtxRangePop();
    for (int i = 0; i < 7; i++)
        need(launch(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), "cuLaunchKernel");
    need(synchronize(), "cuCtxSynchronize");
    if (strcmp(then, "kill") == 0)
        (void)raise(SIGKILL);
    if (strcmp(then, "wait") == 0) {
        open_plugin();
        wait_to_end();
    }
    return 0;
}
